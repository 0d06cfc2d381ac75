"""Memories of PULP chips, and the C functions that serve them."""

from __future__ import annotations

from typing import NamedTuple

from match.mapping.schedule import Memory
from match.target.hardware import MemoryApi

CORES = 8
"""Workers of the cluster."""


class _Stacks(NamedTuple):
    """Bytes of the stack of each worker, and of the master."""

    worker: int = 1152
    master: int = 3072


L1_STACKS = _Stacks()
"""Of the cluster's cores, as its drivers set them up. Builds are held to what they need (`match size`)."""

L1_API = MemoryApi(
    allocate="match_pulp_l1_alloc",
    free="match_pulp_l1_free",
    transfer="match_pulp_dma_t",
    copy_in="match_pulp_dma_copy_in",
    copy_out="match_pulp_dma_copy_out",
)


def scratchpad(size: int) -> Memory:
    """L1 of `size` bytes, without the stacks of the cluster's cores, which lie in it."""
    return Memory("L1", size - CORES * L1_STACKS.worker - L1_STACKS.master)
