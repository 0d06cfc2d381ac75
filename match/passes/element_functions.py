"""Operators of Relay that compute each element of the elements of their operands at the same place."""

from __future__ import annotations

from types import MappingProxyType

from match.arithmetic.element_functions import FUNCTIONS

_NAMES = MappingProxyType({"relu": "nn.relu", "leaky_relu": "nn.leaky_relu"})
"""Relay's names of functions that it calls otherwise."""

ELEMENTWISE = frozenset(_NAMES.get(name, name) for name in FUNCTIONS if name != "round_half_to_even")
"""Their names."""
