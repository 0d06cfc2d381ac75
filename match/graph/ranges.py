"""The values that tensors of a graph can have, for inputs of any value."""

from __future__ import annotations

from collections.abc import Iterable

from match.graph.operator import Known, Range, whole_range
from match.graph.value import Value


def ranges(values: Iterable[Value]) -> dict[Value, Range]:
    """The range of every tensor of 8 bits with a channel axis; values come after those that they are computed from."""
    found: dict[Value, Range] = {}
    for value in values:
        if value.dtype in ("int8", "uint8") and len(value.shape) > 1:
            known = None
            if value.operator is not None:
                inputs = [Known(source.tensor, found.get(source)) for source in value.inputs]
                known = value.operator.values(value.tensor, inputs)
            found[value] = known or whole_range(value.tensor)
    return found
