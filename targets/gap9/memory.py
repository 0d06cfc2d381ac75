"""GAP9's memories, in bytes, and the C functions that serve them."""

from __future__ import annotations

from match.hardware import MemoryApi
from match.schedule.mapping import Memory

L2 = Memory("L2", 1536 * 1024)

_WORKERS = 8
_WORKER_STACK = 1024
_MASTER_STACK = 4096

L1 = Memory("L1", 128 * 1024 - _WORKERS * _WORKER_STACK - _MASTER_STACK)
"""The scratchpad shared by the cluster and NE16, without the stacks of the cores, which lie in it."""

L1_API = MemoryApi(
    allocate="gap9_l1_alloc",
    free="gap9_l1_free",
    transfer="gap9_dma_t",
    copy_in="gap9_dma_copy_in",
    copy_out="gap9_dma_copy_out",
)
