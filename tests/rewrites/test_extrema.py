"""The larger and the smaller of two tensors as layers, against NumPy, for all pairs of 8-bit values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from match.graph.evaluate import evaluate
from match.graph.integers import Elementwise
from match.graph.operator import Described, Known
from match.graph.pairs import Extremum
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.ir.layer import Op
from match.rewrites.extrema import with_extrema
from match.rewrites.unsigned import with_unsigned_activations

pytestmark = pytest.mark.unit

OPS = {"maximum": Op.MAXIMUM, "minimum": Op.MINIMUM}


def graph_of(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]], dtypes: Sequence[str]) -> Graph:
    """One operator on two tensors; types are theirs and the result's."""
    given = [
        Value(Tensor(shape, dtype), source=source)
        for source, shape, dtype in zip("ab", shapes, dtypes[:2], strict=True)
    ]
    result = computed(Elementwise(function=name, dtype=dtypes[2]), *given)
    return with_extrema(Graph(tuple(given), (result,)))


@pytest.mark.parametrize("unsigned", [False, True], ids=["kept", "unsigned"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", OPS)
def test_all_pairs(name: str, dtype: str, unsigned: bool) -> None:
    """Also where int8 is stored 128 higher; each of one tensor with a channel of the other, as layers have them."""
    limits = np.iinfo(dtype)
    levels = np.arange(limits.min, limits.max + 1).astype(dtype)
    a, b = levels.reshape(1, 256, 1, 1), levels.reshape(1, 1, 256)
    graph = graph_of(name, (a.shape, b.shape), (dtype,) * 3)
    if unsigned:
        graph = with_unsigned_activations(graph)
    (found,) = [value for value in graph.values if isinstance(value.operator, Extremum)]
    assert {x.dtype for x in (found, *found.inputs)} == {"uint8" if unsigned else dtype}
    assert np.array_equal(evaluate(graph, [a, b])[0], getattr(np, name)(a, b))


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("shapes", [((2, 3, 4), (2, 3, 4)), ((4,), (2, 3, 4)), ((2, 3, 4), (3, 1)), ((), (5,))])
def test_layers(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Of one shape, or one of both with a pixel or a channel."""
    (value,) = graph_of(name, shapes, ("int8",) * 3).outputs
    assert isinstance(value.operator, Extremum)
    described = value.operator.layer(value.tensor, [Known(x.tensor) for x in value.inputs])
    assert isinstance(described, Described) == (shapes[1] != (3, 1))
    assert not isinstance(described, Described) or described.layer.op is OPS[name]


def test_what_no_module_has_stays() -> None:
    """Other types, and two of them."""
    for dtypes in (("int32",) * 3, ("int8", "uint8", "int16"), ("int8", "uint8", "int8")):
        (value,) = graph_of("maximum", ((1, 4), (1, 4)), dtypes).outputs
        assert isinstance(value.operator, Elementwise)
