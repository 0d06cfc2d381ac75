"""GAP8's memories, in bytes."""

from __future__ import annotations

from match.mapping.memory import Memory
from match.targets.pulp.memory import scratchpad

L2 = Memory("L2", 512 * 1024)

L1_BYTES = 64 * 1024
"""With the stacks of the cluster's cores."""

L1 = scratchpad(L1_BYTES)
