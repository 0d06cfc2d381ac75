"""The larger or the smaller of two tensors, element by element, as two additions that saturate.

The larger of a and b is b, and what a has more than b: ``b + max(a - b, 0)``. The smaller is ``a - max(a - b, 0)``. The
difference has 9 bits; saturation to 8 bits makes negative ones 0.
"""

from __future__ import annotations

from dataclasses import replace

from match.graph.integers import Elementwise
from match.graph.opaque import Constant
from match.graph.pairs import Addition
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed
from match.ir.dtypes import value_range

_NARROW = "int8", "uint8"


def with_added_extrema(graph: Graph) -> Graph:
    """The graph with additions that modules take for `maximum` and `minimum` of two 8-bit tensors of one shape.

    The second may be constant.
    """
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    function = value.operator.function if isinstance(value.operator, Elementwise) else ""
    if function not in ("maximum", "minimum") or value.dtype not in _NARROW:
        return value
    a, b = value.inputs
    if a.shape != value.shape or b.shape != value.shape or isinstance(a.operator, Constant):
        return value
    low, _ = clip = value_range(value.dtype)
    more = computed(_sum((1, -1), low, clip, value.dtype), a, b)
    if function == "maximum":
        return replace(value, operator=_sum((1, 1), -low, clip, value.dtype), inputs=(b, more))
    return replace(value, operator=_sum((1, -1), low, clip, value.dtype), inputs=(a, more))


def _sum(multipliers: tuple[int, int], bias: int, clip: tuple[int, int], dtype: str) -> Addition:
    return Addition(multipliers=multipliers, bias=bias, shift=0, clip=clip, dtype=dtype)
