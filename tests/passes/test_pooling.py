"""ONNX's pooling with every kind of padding, stride, dilation and ceil_mode: what onnxruntime makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from match.frontend import load
from match.ir.layer import Op
from match.partitioning.pattern.types import Match
from match.passes.pipeline import integer_network
from match.relay.plain import qnn_operators
from match.validation.exact_session import exact_session
from tests.layers_of import find
from tests.passes.one_operator import distances, integers, quantized, references
from tests.passes.running import executable, written

pytestmark = pytest.mark.tvm

SCALES = {"s": np.float32(0.03137), "z": np.uint8(120), "so": np.float32(0.02473), "zo": np.uint8(130)}


def operator_by_operator(model: onnx.ModelProto, x: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    """What onnxruntime makes of the model without its fusions.

    Its QLinearAveragePool divides by the whole window where ONNX's definition leaves out what is behind the padding.
    """
    return exact_session(model.SerializeToString(), fused=False).run(None, {"x": x})[0]


def compared(model: onnx.ModelProto, *, exact: bool) -> tuple[npt.NDArray[np.int64], Sequence[Match]]:
    """How far the integers are from onnxruntime's, and the layers."""
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(3).normal(0, 2, shape).astype(np.float32)
    module = integer_network(load(model), "uint8", exact=exact)
    assert not qnn_operators(written(module))
    (given_,), expected = executable(module)({"x": x}), operator_by_operator(model, x)
    assert given_.shape == expected.shape
    layers = [one for one in find(module) if isinstance(one, Match) and one.layer.op is not Op.QUANTIZE]
    return given_.astype(np.int64) - expected, layers


AXIS = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2))
"""Window, stride, padding before and behind."""


@settings(max_examples=12, deadline=None)
@given(
    extents=st.tuples(st.integers(3, 9), st.integers(3, 9)),
    rows=AXIS,
    columns=AXIS,
    ceil=st.booleans(),
    counted=st.booleans(),
)
def test_averages(extents: tuple[int, int], rows: Any, columns: Any, *, ceil: bool, counted: bool) -> None:
    """In integers, exact where that is proven, else within one step; or in float32, but for the last bit of a sum."""
    for extent, (window, _, before, behind) in zip(extents, (rows, columns), strict=True):
        assume(window <= extent + before + behind and before < window and behind < window)
    pads = [rows[2], columns[2], rows[3], columns[3]]
    sizes: dict[str, Any] = {"kernel_shape": [rows[0], columns[0]], "strides": [rows[1], columns[1]], "pads": pads}
    model = quantized(
        "AveragePool", (1, 3, *extents), SCALES, ceil_mode=int(ceil), count_include_pad=int(counted), **sizes
    )
    for exact in (True, False):
        off, layers = compared(model, exact=exact)
        assert np.abs(off).max() <= 1
        assert np.count_nonzero(off) <= 1 + off.size * (0.02 if exact else 0.1)
        proven = [layer.reference for layer in layers if layer.layer.op is Op.AVG_POOL2D]
        assert not exact or (ceil and counted) or all(proven)
        assert not (proven and all(proven) and off.any())


@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 1]])
def test_a_last_window_behind_counted_padding_is_on_modules(pads: list[int]) -> None:
    sizes: dict[str, Any] = {
        "kernel_shape": [3, 3],
        "strides": [2, 2],
        "pads": pads,
        "ceil_mode": 1,
        "count_include_pad": 1,
    }
    off, layers = compared(quantized("AveragePool", (1, 4, 8, 10), SCALES, **sizes), exact=False)
    assert np.abs(off).max() <= 1
    pools = [layer for layer in layers if layer.layer.op is Op.AVG_POOL2D]
    assert len(pools) in (1, 2, 4)


@settings(max_examples=25, deadline=None)
@given(
    extents=st.tuples(st.integers(5, 12), st.integers(5, 12)),
    rows=AXIS,
    columns=AXIS,
    holes=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    ceil=st.booleans(),
)
def test_the_largest(extents: tuple[int, int], rows: Any, columns: Any, holes: tuple[int, int], *, ceil: bool) -> None:
    """Exact in all of it; windows with holes are with the control core."""
    for extent, (window, _, before, behind), hole in zip(extents, (rows, columns), holes, strict=True):
        reach = (window - 1) * hole + 1
        assume(reach <= extent and before < window and behind < window)
    pads = [rows[2], columns[2], rows[3], columns[3]]
    sizes: dict[str, Any] = {"kernel_shape": [rows[0], columns[0]], "strides": [rows[1], columns[1]], "pads": pads}
    model = quantized("MaxPool", (1, 3, *extents), SCALES, ceil_mode=int(ceil), dilations=list(holes), **sizes)
    off, _ = compared(model, exact=True)
    assert not off.any()


def test_the_largest_of_a_map() -> None:
    off, layers = compared(quantized("GlobalMaxPool", (1, 5, 6, 7), SCALES), exact=True)
    assert not off.any()
    assert Op.MAX_POOL2D in {layer.layer.op for layer in layers}


@pytest.mark.parametrize("power", [1, 2, 3])
def test_norms_of_windows(power: int) -> None:
    """On the control core, in floating point: magnitudes, of odd powers too."""
    sizes: dict[str, Any] = {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [1, 0, 0, 1]}
    off, _ = compared(
        quantized("LpPool", (1, 3, 8, 9), SCALES | {"so": np.float32(0.1037), "zo": np.uint8(0)}, p=power, **sizes),
        exact=True,
    )
    assert np.abs(off).max() <= 1
    assert np.count_nonzero(off) <= 1


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(
    ("window", "same"),
    [((3, 3), True), ((1, 5), True), ((5, 5), True), ((7, 7), True), ((2, 2), False), ((2, 4), False)],
)
def test_windows_that_are_proven_exact(window: tuple[int, int], dtype: str, *, same: bool, fused: bool) -> None:
    """On the modules, whether onnxruntime fuses the operators or computes one after the other."""
    low, number = np.iinfo(dtype).min, np.dtype(dtype).type
    constants = {"s": np.float32(0.03137), "z": number(low + 120)}
    out = {"so": constants["s"], "zo": constants["z"]} if same else {"so": np.float32(0.0241), "zo": number(low + 99)}
    x = np.random.default_rng(2).normal(0, 2, (1, 8, 24, 24)).astype(np.float32)
    model = quantized("AveragePool", x.shape, constants | out, kernel_shape=window, strides=[1, 2])
    module = integer_network(load(model), "uint8")
    assert references(module, Op.AVG_POOL2D) == [True]
    (ours,) = executable(module)({"x": x})
    (expected,) = exact_session(model.SerializeToString(), signed=True, fused=fused).run(None, {"x": x})
    np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(
    ("window", "pads", "counted"),
    [((2, 2), (0, 0, 0, 0), 0), ((3, 3), (1, 1, 1, 1), 0), ((2, 4), (0, 1, 1, 2), 1), ((4, 2), (1, 0, 0, 1), 0)],
)
def test_halves_go_where_float32_takes_them(
    window: tuple[int, int], pads: tuple[int, ...], counted: int, dtype: str
) -> None:
    """Within one quantization every so many sums are halves; onnxruntime's fused operator is the reference."""
    low, number = np.iinfo(dtype).min, np.dtype(dtype).type
    for scale in (0.03137, 0.0123, 0.2501):
        own = {"s": np.float32(scale), "z": number(low + 120), "so": np.float32(scale), "zo": number(low + 120)}
        x = np.random.default_rng(2).normal(0, 60 * scale, (1, 8, 24, 24)).astype(np.float32)
        sizes: dict[str, Any] = {"kernel_shape": window, "pads": pads, "count_include_pad": counted}
        model = quantized("AveragePool", x.shape, own, strides=[2, 1], **sizes)
        module = integer_network(load(model), "uint8")
        assert references(module, Op.FLOAT_AVG_POOL2D) == [True]
        (ours,) = executable(module)({"x": x})
        (expected,) = exact_session(model.SerializeToString(), signed=True).run(None, {"x": x})
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("kind", ["AveragePool", "ReduceMean"])
@pytest.mark.parametrize("extent", [4, 5])
def test_a_whole_map_is_exact_where_that_is_proven(kind: str, extent: int) -> None:
    """A window that is the map is no GlobalAveragePool to onnxruntime, which would sum integers."""
    constants = {"s": np.float32(0.03137), "z": np.uint8(20), "so": np.float32(0.03137), "zo": np.uint8(20)}
    sizes: dict[str, Any] = {"kernel_shape": [extent] * 2} if kind == "AveragePool" else {"axes": [2, 3]}
    model = quantized(kind, (1, 200, extent, extent), constants, **sizes)
    x = np.random.default_rng(2).normal(1, 1, (1, 200, extent, extent)).astype(np.float32)
    module = integers(model)
    assert references(module, Op.AVG_POOL2D) == [bool(extent % 2)]
    assert distances(model, module, x).max() <= 1 - extent % 2
