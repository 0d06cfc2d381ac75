"""Every quantized tensor beside the float model's: where the error comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from match.frontend.onnx_graph import with_fields
from match.quantizing.accuracy import classes, computed, decibels, sqnr
from match.quantizing.prepared import Prepared, session, weighted
from match.quantizing.samples import Samples
from match.quantizing.schema import LayerError

Array = npt.NDArray[Any]

MOST_SAMPLES = 64
"""Samples with which layers are compared."""


@dataclass(frozen=True)
class _Point:
    """A tensor that is quantized: its name in the float model, and in the quantized one those around the pair.

    `layer` is the operator that computes it, an activation at its end aside; None of an input of the network.
    `quantize` and `dequantize` are the two operators.
    """

    float_name: str
    layer: Any
    quantize: Any
    dequantize: Any


def layer_errors(
    model: Prepared, quantized: onnx.ModelProto, samples: Samples, bits: Mapping[str, int]
) -> tuple[LayerError, ...]:
    """Each quantized tensor beside the float model's, in the order of execution."""
    points = _points(model.proto, quantized)
    real = _all_outputs(model.proto, [point.float_name for point in points], model.name)
    other = _all_outputs(quantized, [point.dequantize.output[0] for point in points], model.name)
    sums = np.zeros((len(points), 4))
    for index in range(samples.count):
        sample = {name: array[index] for name, array in samples.inputs.items()}
        for place, (one, two) in enumerate(zip(real(sample), other(sample), strict=True)):
            a, b = one.astype(np.float64).ravel(), two.astype(np.float64).ravel()
            sums[place] += a @ a, b @ b, a @ b, np.square(a - b).sum()
    found: dict[str, float | None] = {}
    errors: list[LayerError] = []
    widths = {node.name: bits.get(name, 8) for node, name, _ in weighted(model.proto)}
    sources = {point.dequantize.output[0]: point.float_name for point in points}
    for point, (signal, power, product, noise) in zip(points, sums, strict=True):
        own = decibels(signal, noise)
        found[point.float_name] = own
        read = [] if point.layer is None else [sources[name] for name in point.layer.input if name in sources]
        before = [value for name in read if (value := found.get(name)) is not None]
        errors.append(
            LayerError(
                name=point.float_name,
                op="input" if point.layer is None else point.layer.op_type,
                sqnr_db=own,
                cosine=float(product / np.sqrt(signal * power)) if signal and power else 1.0,
                loss_db=min(before) - own if before and own is not None else None,
                weight_bits=None if point.layer is None else widths.get(point.layer.name),
            )
        )
    return tuple(errors)


def weights_by_output(model: Prepared, quantized: onnx.ModelProto) -> dict[str, str]:
    """The names of weights by the float model's name of the tensor that their layer computes."""
    weights = {node.name: name for node, name, _ in weighted(model.proto)}
    points = (point for point in _points(model.proto, quantized) if point.layer is not None)
    return {point.float_name: weights[point.layer.name] for point in points if point.layer.name in weights}


def left_out(
    model: Prepared,
    quantized: onnx.ModelProto,
    errors: Sequence[LayerError],
    samples: Samples,
    progress: Callable[[str], None],
) -> tuple[LayerError, ...]:
    """The same with what the outputs would gain if each operator alone were computed in floating point."""
    real = computed(_outputs(model.proto, model.name), samples)
    given = computed(_outputs(quantized, model.name), samples)
    points = {point.float_name: point for point in _points(model.proto, quantized)}
    before, right = sqnr(real, given), _right(given, samples)
    measured: list[LayerError] = []
    for number, error in enumerate(errors, 1):
        progress(f"leaving out each layer, {number} of {len(errors)}")
        changed = computed(_outputs(_without(model, quantized, points[error.name]), model.name), samples)
        after = sqnr(real, changed)
        now = _right(changed, samples)
        measured.append(
            msgspec.structs.replace(
                error,
                alone_db=None if before is None or after is None else after - before,
                alone_right=None if right is None or now is None else now - right,
            )
        )
    return tuple(measured)


def _right(outputs: Sequence[Array], samples: Samples) -> int | None:
    given = classes(outputs)
    return None if samples.labels is None or given is None else int(np.sum(given == samples.labels))


def _points(real: Any, quantized: Any) -> list[_Point]:
    """The tensors that are quantized as the network runs, in the order in which it does."""
    makers = {name: node for node in quantized.graph.node for name in node.output}
    names = {name for node in real.graph.node for name in node.output} | {value.name for value in real.graph.input}
    order = {name: place for place, node in enumerate(real.graph.node) for name in node.output}
    found: dict[str, _Point] = {}
    for node in quantized.graph.node:
        there = makers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        if there is None or there.op_type != "QuantizeLinear":
            continue
        name = next((each for each in (node.output[0], there.input[0]) if each in names), None)
        if name is not None and name not in found:
            found[name] = _Point(name, _layer(makers, there.input[0]), there, node)
    return sorted(found.values(), key=lambda point: order.get(point.float_name, -1))


def _layer(makers: Mapping[str, Any], name: str) -> Any:
    """The operator that computes a tensor; the one in front where that is an activation of what nothing quantizes."""
    maker = makers.get(name)
    if maker is None or maker.op_type not in ("Relu", "Clip"):
        return maker
    before = makers.get(maker.input[0])
    return maker if before is None or before.op_type == "DequantizeLinear" else before


def _all_outputs(proto: Any, names: Sequence[str], name: str) -> Callable[[Mapping[str, Array]], list[Array]]:
    """What computes some tensors of a model, operator by operator."""
    values = [onnx.helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, None) for each in names]
    changed = session(with_fields(proto, output=values).SerializeToString(), name, optimize=False)
    return lambda sample: changed.run(list(names), dict(sample))


def _outputs(proto: Any, name: str) -> Callable[[Mapping[str, Array]], list[Array]]:
    made = session(proto.SerializeToString(), name, optimize=False)
    return lambda sample: made.run(None, dict(sample))


def _without(model: Prepared, quantized: Any, point: _Point) -> Any:
    """The network with one operator in floating point, its result only clipped as the quantize operator does it."""
    weights = next(
        (name for node, name, _ in weighted(model.proto) if point.layer and node.name == point.layer.name), ""
    )
    constants = {tensor.name: tensor for tensor in quantized.graph.initializer}

    def value(name: str) -> Array:
        return np.asarray(numpy_helper.to_array(constants[name]))

    scale, zero = float(value(point.quantize.input[1]).item()), int(value(point.quantize.input[2]).item())
    limits = np.iinfo(value(point.quantize.input[2]).dtype)
    ends = [
        numpy_helper.from_array(np.float32((end - zero) * scale), f"{point.float_name}_match_{end}")
        for end in (limits.min, limits.max)
    ]
    clip = onnx.helper.make_node(
        "Clip", [point.quantize.input[0], *(end.name for end in ends)], point.dequantize.output, "match_clip"
    )
    nodes: list[Any] = [clip if node is point.dequantize else node for node in quantized.graph.node]
    if weights:
        real = onnx.TensorProto()
        real.CopyFrom(next(tensor for tensor in model.proto.graph.initializer if tensor.name == weights))
        real.name = f"{weights}_match_real"
        ends.append(real)
        layer = onnx.NodeProto()
        layer.CopyFrom(point.layer)
        layer.input[1] = real.name
        nodes = [layer if node is point.layer else node for node in nodes]
    return with_fields(quantized, node=nodes, initializer=[*quantized.graph.initializer, *ends])
