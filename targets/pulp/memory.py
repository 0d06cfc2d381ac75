"""Memories of PULP chips, and the C functions that serve them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from match.mapping.memory import Memory
from match.target.hardware import MemoryApi

CORES = 8
"""Workers of the cluster, if nothing else is said."""


@dataclass(frozen=True)
class ClusterSettings:
    """What can be set of a cluster: its workers, and the cycles of a layer beside its tiles (docs/cost-models.md)."""

    cores: int = CORES
    offload: int = 920

    def __post_init__(self) -> None:
        if self.cores < 1:
            raise ValueError("a cluster has at least one core")


class _Stacks(NamedTuple):
    """Bytes of the stack of each worker, and of the master."""

    worker: int = 1152
    master: int = 3072


L1_STACKS = _Stacks()
"""The stacks of the cluster's cores, as its drivers set them up. Builds are held to what they need (`match size`)."""

L1_API = MemoryApi(
    allocate="match_pulp_l1_alloc",
    free="match_pulp_l1_free",
    transfer="match_pulp_dma_t",
    copy_in="match_pulp_dma_copy_in",
    copy_out="match_pulp_dma_copy_out",
)


def scratchpad(size: int, cores: int = CORES) -> Memory:
    """L1 of `size` bytes, without the stacks of the cluster's cores, which lie in it."""
    return Memory("L1", size - cores * L1_STACKS.worker - L1_STACKS.master)
