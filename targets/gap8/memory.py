"""GAP8's memories, in bytes."""

from __future__ import annotations

from match.mapping.schedule import Memory
from match.targets.pulp.memory import scratchpad

L2 = Memory("L2", 512 * 1024)

L1 = scratchpad(64 * 1024)
