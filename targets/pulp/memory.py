"""Memories of PULP chips, and the C functions that serve them."""

from __future__ import annotations

from match.mapping.schedule import Memory
from match.target.hardware import MemoryApi

CORES = 8
"""Workers of the cluster."""

_WORKER_STACK = 1024
_MASTER_STACK = 4096

L1_API = MemoryApi(
    allocate="pulp_l1_alloc",
    free="pulp_l1_free",
    transfer="pulp_dma_t",
    copy_in="pulp_dma_copy_in",
    copy_out="pulp_dma_copy_out",
)


def scratchpad(size: int) -> Memory:
    """L1 of `size` bytes, without the stacks of the cluster's cores, which lie in it."""
    return Memory("L1", size - CORES * _WORKER_STACK - _MASTER_STACK)
