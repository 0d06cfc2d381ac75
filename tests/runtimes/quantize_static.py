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
"""Each operator that `quantize_static` wraps, but for `UNKNOWN`."""

UNKNOWN = {"EmbedLayerNormalization": "onnxruntime's own, made of ONNX's Gather and LayerNormalization, which are read"}
"""Operators that are refused, and why."""


def wrapped() -> frozenset[str]:
    """All operators that `quantize_static` wraps in one of its formats."""
    return frozenset({*QDQRegistry, *QLinearOpsRegistry})


def rows(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Each of them, with what becomes of it in the formats QDQ and QOperator; empty where that has none."""
    for name in sorted(wrapped()):
        if name in UNKNOWN:
            yield name, "", f"refused: {UNKNOWN[name]}"
        else:
            forms = ("QDQ", "QOperator") if name in QLinearOpsRegistry else ("QDQ",)
            found = [_quantized(name, form, folder) for form in forms]
            yield name, found[0], found[1] if len(found) == 2 else ""


class _Normal(CalibrationDataReader):
    def __init__(self, shape: tuple[int, ...]) -> None:
        self._samples = iter([{"x": _real(*shape)} for _ in range(4)])

    def get_next(self) -> Any:
        return next(self._samples, None)


def _quantized(name: str, form: str, folder: Path) -> str:
    """What becomes of an example after a product of matrices, as `quantize_static` writes it; empty if it fails."""
    source, path = folder / "float.onnx", folder / "operator.onnx"
    onnx.save(_model(name, EXAMPLES[name]), source)
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        quantize_static(
            source,
            path,
            _Normal(EXAMPLES[name].shape),
            quant_format=QuantFormat[form],
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul", name],
        )
    except RuntimeError:  # what it wrote is no model
        return ""
    finally:
        logging.disable(disabled)
    return verdict(path)


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
