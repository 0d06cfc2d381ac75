"""GAP9's memories, in bytes."""

from __future__ import annotations

from match.mapping.memory import Memory
from match.targets.pulp.memory import scratchpad

L2 = Memory("L2", 1536 * 1024)

L1_BYTES = 128 * 1024
"""With the stacks of the cluster's cores."""

L1 = scratchpad(L1_BYTES)
"""Shared by the cluster and NE16."""
