"""GAP9's memories, in bytes."""

from __future__ import annotations

from match.schedule.mapping import Memory

L2 = Memory("L2", 1536 * 1024)

_WORKERS = 8
_WORKER_STACK = 1024
_MASTER_STACK = 4096

L1 = Memory("L1", 128 * 1024 - _WORKERS * _WORKER_STACK - _MASTER_STACK)
"""The scratchpad shared by the cluster and NE16, without the stacks of the cores, which lie in it."""
