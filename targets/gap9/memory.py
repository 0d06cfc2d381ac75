"""GAP9's memories, in bytes."""

from __future__ import annotations

from match.mapping.schedule import Memory
from match.targets.pulp.memory import scratchpad

L2 = Memory("L2", 1536 * 1024)

L1 = scratchpad(128 * 1024)
"""Shared by the cluster and NE16."""
