"""Even filters of stride 2 as odd ones on pixels of four: the same integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.graph.sums import Convolution
from match.ir.layer import Padding
from match.ir.requantization import Requantization
from match.relay import relay, tvm
from match.relay.readers import read_layer
from match.rewrites.odd_filters import with_odd_filters
from tests import layers_in_relay, relay_numpy
from tests.rewrites.through import rewritten

pytestmark = pytest.mark.tvm


def network(
    extents: tuple[int, int], window: tuple[int, int], pads: tuple[int, ...], strides: tuple[int, int], seed: int
) -> tvm.IRModule:
    rng = np.random.default_rng(seed)
    x = relay.var("x", shape=(1, *extents, 3), dtype="int8")
    ones = np.ones(5, np.int64)
    requantization = Requantization(ones, rng.integers(-900, 900, 5), 8 * ones, (-128, 127))
    weights = rng.integers(-128, 128, (*window, 3, 5)).astype(np.int8)
    body = layers_in_relay.conv2d(
        x, weights, requantization, "int8", x_dtype="int8", strides=strides, padding=Padding(*pads)
    )
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))


@settings(max_examples=25)
@given(
    st.tuples(st.integers(5, 12), st.integers(5, 12)),
    st.tuples(st.integers(1, 5), st.sampled_from([2, 4])),
    st.tuples(*[st.integers(0, 3)] * 4),
    st.booleans(),
    st.integers(0, 99),
)
def test_sums_are_the_same(
    extents: tuple[int, int], window: tuple[int, int], pads: tuple[int, ...], turned: bool, seed: int
) -> None:
    height, width = window
    before = network(extents, (width, height) if turned else window, pads, (2, 2), seed)
    after = rewritten(before, with_odd_filters)
    read = read_layer(after["main"].body)
    assert read is not None
    layer = read.operator
    assert isinstance(layer, Convolution)
    assert layer.strides == (1, 1)
    assert all(side % 2 for side in layer.weights.shape[:2])
    x = np.random.default_rng(seed).integers(-128, 128, (1, *extents, 3)).astype(np.int8)
    given, expected = (relay_numpy.outputs(module, {"x": x})[0] for module in (after, before))
    assert np.array_equal(given, expected)


@pytest.mark.parametrize(("window", "strides"), [((3, 3), (2, 2)), ((4, 4), (1, 1)), ((4, 4), (2, 1))])
def test_others_stay(window: tuple[int, int], strides: tuple[int, int]) -> None:
    before = network((9, 9), window, (1, 1, 1, 1), strides, 0)
    assert tvm.ir.structural_equal(rewritten(before, with_odd_filters), before)
