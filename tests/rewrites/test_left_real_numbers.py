"""What is left in floating point says whether the control core computes just the reference's numbers."""

from __future__ import annotations

import pytest

from match.graph.text import parse, text
from match.rewrites.quantized_groups import with_other_groups

pytestmark = pytest.mark.unit

SUM = """v0: float32[1, 4] = input('x')
v1: float32[1, 4] = input('y')
v2: float32[()] = constant(array=float32(0.5))
v3: float32[1, 4] = real_function({}, function='add').of('sum'{})
return v3
"""


@pytest.mark.parametrize(
    ("operands", "known", "exact"),
    [
        ("v0, v2", True, True),  # rounded once
        ("v0, v2", False, False),  # whoever read it knows better
        ("v0, v1", True, False),
    ],
)
def test_a_sum_is_exact_where_it_was_and_is_rounded_once(operands: str, *, known: bool, exact: bool) -> None:
    graph = parse(SUM.format(operands, "" if known else ", exact=False"))
    (result,) = with_other_groups(graph, exact=True).outputs
    assert result.exact == exact
    assert "real_function" in text(graph)


def test_constants_that_integers_stand_for_are_constants() -> None:
    lines = SUM.format("v0, v2", "").replace(
        "constant(array=float32(0.5))", "levels(levels=int8(2), scales=float32([0.25]), zero_points=int64([0]))"
    )
    (result,) = with_other_groups(parse(lines), exact=True).outputs
    assert result.exact
