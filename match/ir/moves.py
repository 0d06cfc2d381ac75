"""Operators that compute nothing, by their names in Relay."""

RESHAPES = ("reshape", "squeeze", "expand_dims", "nn.batch_flatten")
"""Those that leave all elements in their order."""

REARRANGEMENTS = (*RESHAPES, "transpose")
"""Those that keep all elements, each once."""
