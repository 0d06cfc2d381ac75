"""Which operators the report calls exact, beside those that onnxruntime makes integer operators of.

The reference is the graph that onnxruntime runs once it has fused operators.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import match
from match.frontend import load
from match.partitioning.pattern import Match
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from match.relay.objects import expressions, main_function
from match.relay.rewrite import dtype, is_call
from match.validation.exact_session import exact_session
from tests.layers_of import find
from tests.passes.running import written
from tests.passes.test_trained_quantized import SUMMING
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm

SHAPE = (1, 8, 6, 6)
Write = Callable[[TrainedModel], object]
SCALARS = pytest.mark.parametrize("scalars", [True, False], ids=["scalar", "vector"])
"""Whether scales of one number have the shape () or (1,)."""


def pair(model: TrainedModel, scale: float, zero_point: int, *, scalars: bool) -> None:
    """Quantize the last tensor to uint8, and dequantize it."""
    parameters = np.float32(scale), np.uint8(zero_point)
    names = [model.constant(value if scalars else np.reshape(value, 1)) for value in parameters]
    model.add("QuantizeLinear", *names)
    model.add("DequantizeLinear", *names)


def nothing(model: TrainedModel) -> None:
    pass


def relu(model: TrainedModel) -> None:
    model.add("Relu")


def clip(low: float | None, high: float | None) -> Write:
    def write(model: TrainedModel) -> None:
        ends = ["" if end is None else model.constant(np.float32(end)) for end in (low, high)]
        model.add("Clip", *(ends if ends[1] else ends[:1]))

    return write


def pool(model: TrainedModel) -> None:
    model.add("MaxPool", kernel_shape=[2, 2])


def flatten(model: TrainedModel) -> None:
    model.add("Flatten")


def padded(mode: str, value: float = 0) -> Write:
    def write(model: TrainedModel) -> None:
        widths, number = model.constant(np.array([0, 0, 1, 1, 0, 0, 1, 1])), model.constant(np.float32(value))
        model.add("Pad", widths, *([number] if mode == "constant" else []), mode=mode)

    return write


def all_of(*parts: Write) -> Write:
    def write(model: TrainedModel) -> None:
        for part in parts:
            part(model)

    return write


def convolution(model: TrainedModel) -> None:
    model.conv(8, (1, 1))


def biased(model: TrainedModel) -> None:
    model.add("Conv", model.weights((8, 8, 1, 1)), model.constant(np.linspace(-1, 1, 8, dtype=np.float32)))


def dense(model: TrainedModel) -> None:
    model.add("Reshape", model.constant(np.array([1, -1])))
    model.add("Gemm", model.weights((5, 8 * 36)), transB=1)


def product(model: TrainedModel) -> None:
    """A product of rows and weights, to which a Gemm's bias is added."""
    model.add("Reshape", model.constant(np.array([8, -1])))
    model.add("MatMul", model.weights((36, 5), axis=1))
    model.add("Add", model.constant(np.linspace(-1, 1, 5, dtype=np.float32)))


def average(model: TrainedModel) -> None:
    model.add("GlobalAveragePool")


def doubled(model: TrainedModel) -> None:
    model.add("Add", model.current)


def squared(model: TrainedModel) -> None:
    model.add("Mul", model.current)


OPERATORS = (convolution, biased, dense, product, average, doubled, squared)
INTEGER = {"QLinearConv", "QGemm", "QLinearMatMul", "QLinearGlobalAveragePool", "QLinearAdd", "QLinearMul"}
REAL = {"Conv", "FusedConv", "ConvTranspose", "Gemm", "FusedGemm", "MatMul", "GlobalAveragePool", "Add", "Mul"}

BEHIND: dict[str, Write] = {
    "nothing": nothing,
    "relu": relu,
    "two relus": all_of(relu, relu),
    "three relus": all_of(relu, relu, relu),
    "clip to 0 and 6": clip(0, 6),
    "clip from 0": clip(0, None),
    "clip to 1": clip(None, 1),
    "clip of nothing": clip(-1e3, 1e3),
    "relu, then clip of nothing": all_of(relu, clip(-1e3, 1e3)),
}


def compared(model: TrainedModel, folder: Path, *outputs: str) -> tuple[set[str], bool]:
    """The operators of `INTEGER` and `REAL` that onnxruntime runs, and whether ours are said to be exact."""
    proto = model.build()
    for name in outputs:
        proto.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    onnx.save(proto, folder / "model.onnx")
    exact_session(folder / "model.onnx", optimized=folder / "run.onnx")
    run = {node.op_type for node in onnx.load(folder / "run.onnx").graph.node}
    module = integer_network(load(folder / "model.onnx"))
    layers = [layer for layer in find(module) if isinstance(layer, Match)]
    in_integers = not any(is_call(expr, *SUMMING) and dtype(expr) == "float32" for expr in calls(written(module)))
    return run & (INTEGER | REAL), in_integers and all(layer.reference for layer in layers)


def calls(module: tvm.IRModule) -> list[relay.Expr]:
    return expressions(main_function(module))


@SCALARS
@pytest.mark.parametrize("zero_point", [0, 120])
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_activations_behind(operator: Write, behind: str, zero_point: int, tmp_path: Path, *, scalars: bool) -> None:
    model = TrainedModel(SHAPE)
    pair(model, 0.0317, 117, scalars=scalars)
    operator(model)
    BEHIND[behind](model)
    pair(model, 0.0471, zero_point, scalars=scalars)
    run, exact = compared(model, tmp_path)
    assert len(run) == 1
    if run <= INTEGER:
        assert exact or (operator is average and behind.endswith(" relus"))  # of averages it drops more than we know
    else:
        assert not exact or operator in (doubled, squared)  # of which all 256 outputs are known


FRONTS: dict[str, Write] = {
    "nothing": nothing,
    "relu": relu,
    "clip": clip(0, 2),
    "pool": pool,
    "pool, then relu": all_of(pool, relu),
    "zeros around": padded("constant"),
    "ones around": padded("constant", 1.0),
    "mirrored": padded("reflect"),
    "whole map": lambda model: model.add("GlobalMaxPool"),
    "turned": lambda model: model.add("Transpose", perm=[0, 1, 3, 2]),
}


@pytest.mark.parametrize("operator", [convolution, biased], ids=lambda operator: operator.__name__)
@pytest.mark.parametrize("front", FRONTS)
def test_operators_in_front(front: str, operator: Write, tmp_path: Path) -> None:
    model = TrainedModel(SHAPE)
    pair(model, 0.0317, 117, scalars=True)
    FRONTS[front](model)
    operator(model)
    pair(model, 0.0471, 120, scalars=True)
    run, exact = compared(model, tmp_path)
    assert exact == (run <= INTEGER)


MOVES_BEHIND: dict[str, Write] = {
    "pool": pool,
    "relu, then pool": all_of(relu, pool),
    "pool, then relu": all_of(pool, relu),
    "flatten": flatten,
    "reshape": lambda model: model.add("Reshape", model.constant(np.array([1, -1]))),
    "zeros around": padded("constant"),
    "twice": lambda model: model.add("Concat", model.current, axis=1),
}


@pytest.mark.parametrize("moves", MOVES_BEHIND)
def test_moves_behind(moves: str, tmp_path: Path) -> None:
    model = TrainedModel(SHAPE)
    pair(model, 0.0317, 117, scalars=True)
    convolution(model)
    MOVES_BEHIND[moves](model)
    pair(model, 0.0471, 0, scalars=True)
    run, exact = compared(model, tmp_path)
    assert exact == (run <= INTEGER)


@pytest.mark.parametrize("operator", [convolution, dense, average], ids=lambda operator: operator.__name__)
@pytest.mark.parametrize("second", ["output", "quantize"])
def test_second_readers(operator: Write, second: str, tmp_path: Path) -> None:
    """What two operators read is computed in floating point."""
    model = TrainedModel(SHAPE)
    pair(model, 0.0317, 117, scalars=True)
    operator(model)
    real, outputs = model.current, list[str]()
    if second == "output":
        outputs = [real]
    else:
        pair(model, 0.0613, 99, scalars=True)
        outputs, model.current = [model.current], real
    pair(model, 0.0471, 120, scalars=True)
    run, exact = compared(model, tmp_path, *outputs)
    assert run <= REAL
    assert not exact


@pytest.mark.parametrize("window", [2, 3])
def test_averages_whose_order_is_not_known(window: int, tmp_path: Path) -> None:
    """An average that is an output, too, onnxruntime adds up in another order than its fused operator."""
    model = TrainedModel(SHAPE)
    pair(model, 0.0317, 117, scalars=True)
    model.add("AveragePool", kernel_shape=[window, window])
    real = model.current
    pair(model, 0.0471, 120, scalars=True)
    proto = model.build()
    proto.graph.output.append(onnx.helper.make_tensor_value_info(real, onnx.TensorProto.FLOAT, None))
    compiled = match.compile(proto, "gap9", numerics="exact", modules=[], cache=False, jobs=1)
    averages = [layer for layer in compiled.report.layers if "avg_pool2d" in layer.op]
    assert averages
    assert not any(layer.exact for layer in averages)
