"""What a function of two 8-bit tensors becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.graph.elements import Lookup
from match.graph.evaluate import evaluate
from match.graph.integers import Entries
from match.graph.pairs import Addition, LookupLine, LookupSum
from match.graph.value import Graph, Value
from match.ir.graph import Tensor
from match.quantized.functions_of_two import function_of_two

pytestmark = pytest.mark.unit

A, B, OUTPUT = (
    QuantizedType(np.float32(scale), zero, "uint8") for scale, zero in ((0.01343, 76), (0.03978, 169), (0.04522, 149))
)
"""onnxruntime rounds these on the way, so that no plane has the outputs of their sum."""

CLIP = (0, 255)


def built(outputs: Any, *, exact: bool, dtypes: tuple[str, str] = ("uint8", "uint8")) -> tuple[Value, Any]:
    """The function of all pairs, and what it computes."""
    x, y = (Value(Tensor((256, 256), dtype), source=name) for name, dtype in zip("xy", dtypes, strict=True))
    slopes = float(A.scale / OUTPUT.scale), float(B.scale / OUTPUT.scale)
    made = function_of_two(x, y, outputs, slopes, CLIP, "uint8", close=not exact)
    places = zip(np.indices((256, 256)), dtypes, strict=True)
    arrays = [(place + np.iinfo(dtype).min).astype(dtype) for place, dtype in places]
    return made, evaluate(Graph((x, y), (made,)), arrays)[0]


def test_an_addition_that_is_no_plane_is_a_sum_of_lookups() -> None:
    outputs = OnnxruntimeArithmetic().add(A, B, OUTPUT, CLIP, 1)
    body, found = built(outputs, exact=True)
    assert isinstance(body.operator, LookupSum)
    np.testing.assert_array_equal(found, outputs)


def test_or_the_next_plane_where_a_step_is_allowed() -> None:
    outputs = OnnxruntimeArithmetic().add(A, B, OUTPUT, CLIP, 1)
    body, found = built(outputs, exact=False)
    assert isinstance(body.operator, Addition)
    assert not body.exact
    assert np.count_nonzero(found != outputs) <= 256
    assert np.abs(found.astype(np.int64) - outputs).max() == 1


@pytest.mark.parametrize("dtypes", [("uint8", "uint8"), ("int8", "uint8"), ("uint8", "int8")])
@pytest.mark.parametrize("turned", [False, True])
def test_quotients_are_lines_of_the_dividend(turned: bool, dtypes: tuple[str, str]) -> None:
    """Whichever of the two operands it is."""
    dividends, divisors = np.arange(256) - 100, np.arange(256) + 0.7
    outputs = np.clip(np.rint(37.3 * dividends[:, None] / divisors + 80), *CLIP).astype(np.int64)
    outputs = outputs.T if turned else outputs
    body, found = built(outputs, exact=True, dtypes=dtypes)
    assert isinstance(body.operator, LookupLine)
    assert [x.source for x in body.inputs] == (["y", "x"] if turned else ["x", "y"])
    np.testing.assert_array_equal(found, outputs)


@pytest.mark.parametrize("exact", [False, True])
def test_what_is_no_sum_is_a_table_of_pairs(exact: bool) -> None:
    outputs = np.random.default_rng(0).integers(0, 256, (256, 256))
    body, found = built(outputs, exact=exact)
    assert isinstance(body.operator, Entries)
    np.testing.assert_array_equal(found, outputs)


COMPARISONS = {
    "equal": np.equal,
    "not equal": np.not_equal,
    "less": np.less,
    "less or equal": np.less_equal,
    "greater": np.greater,
    "greater or equal": np.greater_equal,
    "nearly equal": lambda a, b: np.abs(a - b) < 3,
}


@pytest.mark.parametrize("dtypes", [("uint8", "uint8"), ("int8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_tables_of_differences(name: str, dtypes: tuple[str, str]) -> None:
    outputs = np.where(COMPARISONS[name](*np.indices((256, 256))), 200, 7)
    body, found = built(outputs, exact=True, dtypes=dtypes)
    assert isinstance(body.operator, Lookup)
    assert isinstance(body.inputs[0].operator, Addition)
    np.testing.assert_array_equal(found, outputs)


def test_differences_that_are_far_apart_are_pairs() -> None:
    """What is clipped away of a difference tells the outputs."""
    first, second = np.indices((256, 256))
    outputs = np.where(first - second > 140, 200, 7)
    body, found = built(outputs, exact=True)
    assert not isinstance(body.operator, Lookup)
    np.testing.assert_array_equal(found, outputs)
