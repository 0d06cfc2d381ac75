"""DIANA's memories, in bytes, and the C functions that serve them."""

from __future__ import annotations

from match.mapping.memory import Memory
from match.target.hardware import Allocator, MemoryApi
from match.target.operands import WEIGHTS

L2 = Memory("L2", 512 * 1024)

L1 = Memory("L1", 256 * 1024, private=((WEIGHTS, 64 * 1024),))
"""The digital accelerator's activation memory, and the weight memory beside it."""

L1_API = MemoryApi(
    allocate="match_diana_l1_alloc",
    free="match_diana_l1_free",
    transfer="match_diana_dma_t",
    copy_in="match_diana_dma_copy_in",
    copy_out="match_diana_dma_copy_out",
    private=((WEIGHTS, Allocator("match_diana_weight_alloc", "match_diana_weight_free")),),
)
