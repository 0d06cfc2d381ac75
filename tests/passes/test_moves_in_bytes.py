"""What QOperator files move in floating point, moved as 8 bits, against onnxruntime, every integer of every layer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.frontend import load
from match.graph.opaque import Opaque
from match.passes.integerize import QuantizedReader
from match.relay import relay, tvm
from match.relay.graph_reader import read_graph
from match.relay.objects import expressions, main_function
from match.relay.real_readers import read_reals
from match.relay.rewrite import dtype, is_call
from match.rewrites.quantized_groups import with_quantized_groups
from match.validation.exact_session import exact_session
from tests.integer_relay import integer_relay
from tests.passes.onnx_models import OnnxModel, expose_integers, quantize
from tests.passes.running import executable
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm


def padded(model: OnnxModel, **mode: Any) -> None:
    """In front of the first convolution, on the network's input."""
    widths = model.constant(np.array([0, 0, 1, 2, 0, 0, 2, 0]))
    model.add("Pad", widths, *([] if mode else [model.constant(np.array(0.37))]), **mode)
    model.conv(4)


def reflected(model: OnnxModel) -> None:
    padded(model, mode="reflect")


def sliced(model: OnnxModel) -> None:
    """Parts of a projection, each with an activation and a transposition (linear attention)."""
    model.conv(8, (1, 1))
    whole = model.current
    for first in (0, 4):
        model.current = whole
        model.add("Slice", *(model.constant(np.array([one])) for one in (first, first + 4, 1)))
        model.add("Relu")
        model.add("Transpose", perm=[0, 1, 3, 2])
        model.channels = 4
        model.conv(4, (1, 1))


MOVES = "nn.pad", "strided_slice", "take", "nn.relu", "transpose"


@pytest.mark.parametrize("activations", ["QUInt8", "QInt8"])
@pytest.mark.parametrize("write", [padded, reflected, sliced])
def test_equal_to_onnxruntime(write: Callable[[OnnxModel], None], activations: str, tmp_path: Path) -> None:
    model = OnnxModel((1, 3, 7, 6))
    write(model)
    path = expose_integers(quantize(model, tmp_path, "QOperator", activations, per_channel=False))
    module = integer_relay(load(path))
    moves = [call for call in expressions(main_function(module)) if is_call(call, *MOVES)]
    assert moves
    assert all(dtype(call) != "float32" for call in moves)
    x = np.random.default_rng(1).normal(0, 1, (1, 3, 7, 6)).astype(np.float32)
    expected = exact_session(path, signed=True).run(None, {"x": x})
    for given, right in zip(executable(module)({"x": x}), expected, strict=True):
        assert len(np.unique(right)) > 10
        assert np.array_equal(given.reshape(right.shape), right)


def blocks(model: TrainedModel) -> None:
    model.add("DepthToSpace", blocksize=2, mode="CRD")


def pixels(model: TrainedModel) -> None:
    model.add("SpaceToDepth", blocksize=2)
    model.add("Transpose", perm=[0, 2, 3, 1])


def repeated(model: TrainedModel) -> None:
    model.add("Tile", model.constant(np.array([1, 1, 2, 1])))
    model.add("Reshape", model.constant(np.array([1, -1])))


def chosen(model: TrainedModel) -> None:
    model.add("Gather", model.constant(np.array([6, 1, 1])), axis=1)


def joined(model: TrainedModel) -> None:
    """Two layers of one quantization."""
    first = model.current
    model.conv(3, (1, 1))
    model.quantize(0.1, "uint8", 99)
    model.add("Concat", first, axis=1)


@pytest.mark.parametrize("move", [blocks, pixels, repeated, chosen, joined])
def test_outputs_of_the_network_are_moved_in_bytes(move: Callable[[TrainedModel], None], tmp_path: Path) -> None:
    """Numbers that no quantize follows: they are the last thing that is computed."""
    model = TrainedModel((1, 3, 6, 8))
    model.quantize(0.03, "uint8", 117)
    model.conv(8, (1, 1))
    model.quantize(0.1, "uint8", 99)
    move(model)
    path = tmp_path / "model.onnx"
    onnx.save(model.build(), path)
    module = integer_relay(load(path))
    moves = [call for call in expressions(main_function(module)) if is_call(call, *MOVES, "tile", "concatenate")]
    assert moves
    assert all(dtype(call) == "uint8" for call in moves)
    x = np.random.default_rng(1).normal(0, 2, (1, 3, 6, 8)).astype(np.float32)
    (given,), (right,) = executable(module)({"x": x}), exact_session(path).run(None, {"x": x})
    assert len(np.unique(right)) > 10
    assert np.array_equal(given, right)


def test_padding_with_a_number_that_is_given_stays() -> None:
    """It is not known before the network runs."""
    value = relay.var("value", shape=(), dtype="float32")
    x = relay.var("x", shape=(1, 3, 4, 5), dtype="float32")
    quantization = relay.const(np.float32(0.1)), relay.const(np.int32(3))
    pad = relay.nn.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], value)
    function = relay.Function([x, value], relay.qnn.quantize(pad, *quantization, out_dtype="uint8"))
    module = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    graph = read_graph(main_function(module), fragment=QuantizedReader(OnnxruntimeArithmetic()), rest=read_reals).graph
    pads = [value for value in with_quantized_groups(graph).values if isinstance(value.operator, Opaque)]
    assert [pad.dtype for pad in pads] == ["float32"]
