"""Layers whose input is moved, with no quantize behind that, beside onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from match.frontend import load
from match.frontend.onnx_file import read_file
from match.frontend.onnx_network import network_of
from match.frontend.qdq import reals_of
from match.graph.integers import Clip
from match.graph.maximum import Maximum
from match.graph.moves import Concatenate, Move
from match.graph.operator import Operator
from match.graph.reals import RealClip
from match.partitioning.pattern import Match
from match.passes.pipeline import integer_network
from match.relay.integer_form import is_real_sums
from match.relay.objects import expressions, main_function
from match.relay.plain import qnn_operators
from match.relay.rewrite import is_call
from match.rewrites.quantized_groups.moves import with_moves_of_integers
from match.validation.exact_session import exact_session
from tests.integer_relay import integer_relay
from tests.layers_of import find
from tests.passes.running import executable
from tests.passes.test_trained_quantized import compared, ended
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm


def concatenated(model: TrainedModel) -> None:
    """Two convolutions of one scale, side by side, pooled."""
    source, channels, parts = model.current, model.channels, []
    for _ in range(2):
        model.current, model.channels = source, channels
        model.conv(5, pads=[1, 1, 1, 1])
        parts.append(model.quantize(0.2, "uint8", 99))
    model.current, model.channels = model.apply("Concat", *parts, axis=1), 10
    model.add("MaxPool", kernel_shape=[2, 2], strides=[1, 1])


def depth_to_space(model: TrainedModel) -> None:
    model.add("DepthToSpace", blocksize=2)
    model.channels //= 4


def space_to_depth(model: TrainedModel) -> None:
    model.add("SpaceToDepth", blocksize=2)
    model.channels *= 4


def tiled(model: TrainedModel) -> None:
    model.add("Tile", model.constant(np.array([1, 1, 2, 1])))


def upsampled(model: TrainedModel) -> None:
    scales = model.constant(np.array([1, 1, 2, 3], np.float32))
    attributes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    model.add("Resize", "", scales, mode="nearest", **attributes)


def padded(model: TrainedModel) -> None:
    model.add("Pad", model.constant(np.array([0, 0, 2, 1, 0, 0, 0, 1])))


def reflected(model: TrainedModel) -> None:
    model.add("Pad", model.constant(np.array([0, 0, 2, 1, 0, 0, 0, 1])), mode="reflect")


def turned(model: TrainedModel) -> None:
    model.add("Transpose", perm=[0, 1, 3, 2])


def split(model: TrainedModel) -> None:
    """A part, pooled, of a tensor that is turned first."""
    turned(model)
    model.split(5, 3)
    model.add("MaxPool", kernel_shape=[2, 2], strides=[1, 1])


def sliced(model: TrainedModel) -> None:
    model.add("Slice", *(model.constant(np.array([number])) for number in (0, 5, 1)))
    model.channels = 5


REAL = concatenated, depth_to_space, space_to_depth, tiled, upsampled, reflected, split
INTEGER = padded, turned, sliced


def moved(move: Callable[[TrainedModel], None]) -> TrainedModel:
    model = TrainedModel((1, 8, 14, 12))
    model.quantize(0.03, "uint8", 117)
    move(model)
    model.conv(7)
    return model


@pytest.mark.parametrize("move", REAL + INTEGER, ids=lambda move: move.__name__)
def test_beside_onnxruntime(move: Callable[[TrainedModel], None], tmp_path: Path) -> None:
    """Where onnxruntime computes the layer in floating point, which the network says, few outputs are a step off."""
    ours, reference = compared(ended(moved(move), 0.4, "uint8", 120), tmp_path, real=move in REAL)
    assert len(np.unique(reference)) > 50
    assert np.abs(ours - reference).max() <= (move in REAL)
    assert np.mean(ours != reference) < 0.002


def rows(model: TrainedModel, first: str, second: str) -> None:
    """A dense layer on the last axis of a part."""
    model.add("MatMul", model.weights((12, 9), axis=1))


def products(model: TrainedModel, first: str, second: str) -> None:
    model.current = model.apply("MatMul", first, model.apply("Transpose", second, perm=[0, 1, 3, 2]))


@pytest.mark.parametrize("layer", [rows, products], ids=lambda layer: layer.__name__)
def test_products_of_parts(layer: Callable[[TrainedModel, str, str], None], tmp_path: Path) -> None:
    """The runtime multiplies parts of a split in floating point, which the network says."""
    model = TrainedModel((1, 8, 14, 12))
    model.quantize(0.03, "uint8", 117)
    layer(model, *model.split(4, 4))
    onnx.save(ended(model, 0.2, "uint8", 120), tmp_path / "model.onnx")
    loaded = load(tmp_path / "model.onnx")
    module = integer_relay(loaded)
    assert any(map(is_real_sums, expressions(main_function(module))))
    x = {"x": np.random.default_rng(5).normal(0, 1, (1, 8, 14, 12)).astype(np.float32)}
    assert loaded.data is not None
    (ours,), (reference,) = executable(module)(x), exact_session(loaded.data).run(None, x)
    distance = np.abs(ours.astype(int).reshape(reference.shape) - reference)
    assert len(np.unique(reference)) > 50
    assert distance.max() <= 1
    assert np.mean(distance != 0) < 0.002


def map_average(model: TrainedModel, first: str, second: str) -> None:
    """Which the runtime computes in integers where it reads no part."""
    model.current = model.apply("GlobalAveragePool", second)


def averages(model: TrainedModel, first: str, second: str) -> None:
    model.current = model.apply("AveragePool", first, kernel_shape=[2, 2], strides=[2, 2])


def gated(model: TrainedModel, first: str, second: str) -> None:
    model.current = model.apply("Mul", first, model.apply("Sigmoid", second))


def joined(operator: str, *behind: str) -> Callable[[TrainedModel, str, str], None]:
    """An operator of both parts, and others of its outputs."""

    def apply(model: TrainedModel, first: str, second: str) -> None:
        model.current = model.apply(operator, first, second)
        for name in behind:
            model.add(name)

    apply.__name__ = "_".join((operator, *behind))
    return apply


FUNCTIONS = joined("Add"), joined("Add", "Relu"), joined("Mul"), joined("Sub")
"""Functions of two elements each, so that all 65536 outputs are known."""

READERS = *FUNCTIONS, gated, averages, map_average


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_readers_of_parts(reader: Callable[[TrainedModel, str, str], None], tmp_path: Path, *, exact: bool) -> None:
    """The runtime adds, multiplies and averages parts of a split in floating point: equal, or said to be close."""
    model = TrainedModel((1, 8, 14, 12))
    model.quantize(0.03, "uint8", 117)
    reader(model, *model.split(4, 4))
    onnx.save(ended(model, 0.04, "uint8", 110), tmp_path / "model.onnx")
    loaded = load(tmp_path / "model.onnx")
    module = integer_relay(loaded, exact=exact)
    assert not qnn_operators(module)
    close = any(map(is_real_sums, expressions(main_function(module))))
    assert close == (reader not in FUNCTIONS) or not exact
    assert (
        close
        != all(layer.reference for layer in find(integer_network(loaded, exact=exact)) if isinstance(layer, Match))
        or reader is gated
    )
    x = {"x": np.random.default_rng(5).normal(0, 1, (1, 8, 14, 12)).astype(np.float32)}
    assert loaded.data is not None
    (ours,), (reference,) = executable(module)(x), exact_session(loaded.data).run(None, x)
    distance = np.abs(ours.astype(int).reshape(reference.shape) - reference)
    assert len(np.unique(reference)) > 2
    assert distance.max() <= close


def test_parts_that_are_quantized_are_integers(tmp_path: Path) -> None:
    """The runtime splits 8 bits where each part has a quantize behind it: the layer behind that is exact."""

    def quantized_parts(model: TrainedModel) -> None:
        parts: list[str] = []
        for part in model.split(4, 4):
            model.current = part
            parts.append(model.quantize(0.03, "uint8", 117))
        model.current = parts[1]

    ours, reference = compared(ended(moved(quantized_parts), 0.4, "uint8", 120), tmp_path, real=False)
    assert np.array_equal(ours, reference)


def moved_types(model: TrainedModel, folder: Path, *kinds: type[Operator]) -> set[str]:
    """The types of what the operators of these classes move once that is done in bytes."""
    path = folder / "model.onnx"
    onnx.save(ended(model, 0.07, "uint8", 120), path)
    file = read_file(path.read_bytes(), path)
    network = network_of(file.proto, file.inputs, file.open_shapes, path)
    reals = reals_of(network, path)
    values = [value for value in with_moves_of_integers(reals).values if isinstance(value.operator, kinds)]
    return {x.dtype for x in values if not isinstance(x.operator, Move) or x.operator.padding_value is not None}


@pytest.mark.parametrize(("value", "expected"), [(0.06, "uint8"), (0.05, "float32")])
def test_padding_with_what_8_bits_can_be(value: float, expected: str, tmp_path: Path) -> None:
    def padded_with(model: TrainedModel) -> None:
        widths = model.constant(np.array([0, 0, 2, 1, 0, 0, 0, 1]))
        model.add("Pad", widths, model.constant(np.float32(np.float32(0.03) * np.float32(round(value / 0.03, 2)))))

    assert moved_types(moved(padded_with), tmp_path, Move) == {expected}


@pytest.mark.parametrize(
    ("other", "expected"), [((0.06, 99), "uint8"), ((0.06, 98), "float32"), ((0.05, 99), "float32")]
)
def test_parts_of_one_quantization_are_concatenated(other: tuple[float, int], expected: str, tmp_path: Path) -> None:
    def beside(model: TrainedModel) -> None:
        first = model.quantize(0.06, "uint8", 99)
        model.current = model.apply("Concat", first, model.quantize(other[0], "uint8", other[1]), axis=1)
        model.channels *= 2

    assert moved_types(moved(beside), tmp_path, Concatenate) == {expected}


def test_parts_of_a_concatenation_that_is_quantized_take_its_scale(tmp_path: Path) -> None:
    """Each in its own layer's requantization, so that they are not brought together first."""

    def beside(model: TrainedModel) -> None:
        model.current = model.apply("Concat", model.current, model.current, axis=1)
        model.channels *= 2
        model.add("Relu")
        model.quantize(0.02, "uint8", 3)

    assert moved_types(moved(beside), tmp_path, Concatenate) == {"float32"}


def rectified(model: TrainedModel) -> None:
    """A ReLU that nothing quantizes, in front of what only moves."""
    model.add("Relu")
    model.add("MaxPool", kernel_shape=[3, 3], strides=[2, 1], pads=[1, 1, 1, 1])


def averaged(model: TrainedModel) -> None:
    rectified(model)
    model.add("GlobalAveragePool")


@pytest.mark.parametrize("move", [rectified, averaged], ids=lambda move: move.__name__)
def test_a_relu_that_nothing_quantizes_clips_integers(move: Callable[[TrainedModel], None], tmp_path: Path) -> None:
    model = moved(lambda model: None)
    model.quantize(0.3, "uint8", 99)
    move(model)
    ours, reference = compared(ended(model, 0.17, "uint8", 3), tmp_path, real=move is averaged)
    assert len(np.unique(reference)) > 5
    assert np.array_equal(ours, reference)
    rectify = moved(lambda model: None)
    rectify.quantize(0.3, "uint8", 99)
    move(rectify)
    assert moved_types(rectify, tmp_path, Clip, RealClip, Maximum) == {"uint8"}


def test_a_relu_that_is_quantized_stays_in_front_of_its_quantize(tmp_path: Path) -> None:
    """Both are one table."""
    model = moved(lambda model: None)
    model.quantize(0.3, "uint8", 99)
    model.add("Relu")
    assert moved_types(model, tmp_path, Clip, RealClip) == {"float32"}


def test_parts_of_a_concatenation_that_are_no_integers(tmp_path: Path) -> None:
    """A sum, a function and its largest elements, quantized together, as detectors have them."""

    def beside(model: TrainedModel) -> None:
        model.current = model.quantize(0.25, "uint8", 90)
        total = model.apply("Add", model.current, model.current)
        function = model.apply("Abs", model.current)
        pool = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        largest = [model.apply("MaxPool", function, **pool)]
        largest.append(model.apply("MaxPool", largest[0], **pool))
        model.current = model.apply("Concat", total, function, *largest, axis=1)
        model.channels *= 4
        model.quantize(0.3, "uint8", 80)

    model = moved(lambda model: None)
    beside(model)
    model.conv(6)
    ours, reference = compared(ended(model, 2, "uint8", 120), tmp_path, real=False)
    assert len(np.unique(reference)) > 50
    assert np.array_equal(ours, reference)
    main = main_function(integer_relay(load(tmp_path / "model.onnx")))
    assert sum(is_call(expr, "nn.max_pool2d") for expr in expressions(main)) == 2
