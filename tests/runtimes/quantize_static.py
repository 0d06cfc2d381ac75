"""Operators that onnxruntime's `quantize_static` wraps, by its registry: each in a file that it quantized."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry

from tests.runtimes.verdicts import verdict

RNG = np.random.default_rng(0)
MAP = (1, 8, 16, 16)


def _real(*shape: int) -> Any:
    return RNG.normal(0, 1, shape).astype(np.float32)


def _whole(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


@dataclass(frozen=True)
class Example:
    """An operator on the tensor "h" of a shape, and constants; `inputs` are all of them."""

    inputs: tuple[Any, ...] = ("h",)
    shape: tuple[int, ...] = MAP
    outputs: int = 1
    attributes: Mapping[str, Any] = field(default_factory=dict)


def _of(*inputs: Any, shape: tuple[int, ...] = MAP, outputs: int = 1, **attributes: Any) -> Example:
    return Example(inputs or ("h",), shape, outputs, attributes)


EXAMPLES: Mapping[str, Example] = {
    "Add": _of("h", "h"),
    "ArgMax": _of(axis=1),
    "AveragePool": _of(kernel_shape=[2, 2], strides=[2, 2]),
    "BatchNormalization": _of("h", abs(_real(8)), _real(8), _real(8), abs(_real(8))),
    "Clip": _of("h", np.float32(-1), np.float32(1)),
    "Concat": _of("h", "h", axis=1),
    "Conv": _of("h", _real(8, 8, 3, 3)),
    "ConvTranspose": _of("h", _real(8, 8, 2, 2), strides=[2, 2]),
    "CumSum": _of("h", np.int64(1)),
    "Flatten": _of(),
    "Gather": _of("h", _whole(1, 3), axis=1),
    "GatherElements": _of("h", np.array([[0, 1], [2, 3]], np.int64), shape=(4, 6), axis=1),
    "Gemm": _of("h", _real(16, 8), _real(8), shape=(4, 16)),
    "GlobalAveragePool": _of(),
    "InstanceNormalization": _of("h", _real(8), _real(8)),
    "LayerNormalization": _of("h", _real(32), _real(32), shape=(1, 16, 32)),
    "LeakyRelu": _of(alpha=0.1),
    "MatMul": _of("h", _real(16, 8), shape=(4, 16)),
    "MaxPool": _of(kernel_shape=[2, 2], strides=[2, 2]),
    "Mul": _of("h", "h"),
    "Pad": _of("h", _whole(0, 0, 1, 1, 0, 0, 1, 1)),
    "Relu": _of(),
    "Reshape": _of("h", _whole(1, 64, 32)),
    "Resize": _of("h", "", np.array([1, 1, 2, 2], np.float32), mode="nearest"),
    "Sigmoid": _of(),
    "Slice": _of("h", _whole(0), _whole(4), _whole(1)),
    "Softmax": _of(shape=(16, 10)),
    "Split": _of(outputs=2, axis=1, num_outputs=2),
    "Squeeze": _of("h", _whole(0)),
    "TopK": _of("h", _whole(3), shape=(4, 16), outputs=2, axis=1),
    "Transpose": _of(perm=[0, 2, 3, 1]),
    "Unsqueeze": _of("h", _whole(0)),
    "Where": _of(_real(*MAP) > 0, "h", _real(*MAP)),
}
"""Each operator that `quantize_static` wraps, but for `EMBEDDING`."""

EMBEDDING = "EmbedLayerNormalization"
"""onnxruntime's own, of words and segments of sentences."""

_WORDS = {"words": 50, "segments": 2}
"""How many there are of each."""


def wrapped() -> frozenset[str]:
    """All operators that `quantize_static` wraps in one of its formats."""
    return frozenset({*QDQRegistry, *QLinearOpsRegistry})


def rows(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Each of them, with what becomes of it in the formats QDQ and QOperator; empty where that has none."""
    for name in sorted(wrapped()):
        forms = ("QDQ", "QOperator") if name in QLinearOpsRegistry else ("QDQ",)
        found = [_verdict(name, form, folder) for form in forms]
        yield name, found[0], found[1] if len(found) == 2 else ""


class _Samples(CalibrationDataReader):
    def __init__(self, name: str) -> None:
        self._samples = iter([_sample(name) for _ in range(4)])

    def get_next(self) -> Any:
        return next(self._samples, None)


def _sample(name: str) -> dict[str, Any]:
    if name != EMBEDDING:
        return {"x": _real(*EXAMPLES[name].shape)}
    return {given: RNG.integers(0, count, (1, 8)).astype(np.int32) for given, count in _WORDS.items()}


def _verdict(name: str, form: str, folder: Path) -> str:
    """What becomes of an example, as `quantize_static` writes it; empty if that is no model."""
    path = folder / "operator.onnx"
    try:
        quantized(name, form, path)
    except RuntimeError:
        return ""
    return verdict(path)


def quantized(name: str, form: str, path: Path) -> None:
    """Write an example, after a product of matrices, in a format.

    Raises:
        RuntimeError: what `quantize_static` makes of it is no model.
    """
    source = path.with_name("float.onnx")
    onnx.save(embedding() if name == EMBEDDING else _model(name, EXAMPLES[name]), source)
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        quantize_static(
            source,
            path,
            _Samples(name),
            quant_format=QuantFormat[form],
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul", name],
        )
    finally:
        logging.disable(disabled)


def _model(name: str, example: Example) -> onnx.ModelProto:
    constants = [numpy_helper.from_array(_real(example.shape[-1], example.shape[-1]), "w")]
    inputs: list[str] = []
    for place, given in enumerate(example.inputs):
        if isinstance(given, str):
            inputs.append(given)
        else:
            inputs.append(f"c{place}")
            constants.append(numpy_helper.from_array(np.asarray(given), inputs[-1]))
    outputs = [f"y{number}" for number in range(example.outputs)]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node(name, inputs, outputs, name="second", **example.attributes),
    ]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, example.shape)]
    made = [helper.make_tensor_value_info(output, 0, None) for output in outputs]
    graph = helper.make_graph(nodes, name, given, made, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model)


def embedding() -> onnx.ModelProto:
    """Words, their positions and segments as rows of tables, added up and normalized."""
    tables = {"word": _real(50, 32), "position": _real(16, 32), "segment": _real(2, 32)}
    constants = {**tables, "gamma": _real(32), "beta": _real(32)}
    node = helper.make_node(EMBEDDING, [*_WORDS, *constants], ["y", "unread"], name="only", domain="com.microsoft")
    given = [helper.make_tensor_value_info(name, TensorProto.INT32, (1, 8)) for name in _WORDS]
    made = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 8, 32))]
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], EMBEDDING, given, made, initializers)
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)
