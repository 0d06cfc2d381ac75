"""onnxruntime's static quantization, taken apart: calibrated once, then quantized as often as there are questions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from match.compilation.stopwatch import Progress
from match.interrupt.unfinished import scratch_folder
from match.quantizing.form import Form
from match.quantizing.libraries import library, quiet
from match.quantizing.prepared import Prepared, weighted

_STATES = (
    "its states pass through functions at each step; `match compile --quantize-recurrent` computes LSTM and GRU "
    "in integers"
)
_DEVIATION = "it divides by the deviation of maps, which is found as the network runs"

FLOATING: Mapping[str, str] = MappingProxyType(
    {
        "GRU": _STATES,
        "LSTM": _STATES,
        "RNN": _STATES,
        "GroupNormalization": _DEVIATION,
        "InstanceNormalization": _DEVIATION,
    }
)
"""Operators that compute in floating point, and why; all others on real numbers are quantized."""

_REAL_CONSTANTS = ("LayerNormalization",)
"""Operators that what reads and makes their tensors quantizes; gains and shifts of theirs stay real numbers."""

NARROWEST = 2
"""The fewest bits that weights may have."""

_LEVELS = 127
_CHUNK = 16
"""Samples whose ranges are collected at a time."""

Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Quantizer:
    """A float model with the ranges of its tensors, and the form that they are to be quantized in."""

    model: Prepared
    form: Form
    ranges: Ranges

    def quantized(self, bits: Mapping[str, int] | None = None) -> onnx.ModelProto:
        """The model in QDQ form.

        Args:
            bits: of the values of some weights, by the names of these, 2 to 8; others have 8.
        """
        parts, calibration = library("onnxruntime.quantization"), library("onnxruntime.quantization.calibrate")
        ranges = {
            name: (np.float32(low), np.float32(high)) for name, (low, high) in _with_form(self).items()
        }  # fresh: the quantizer changes them
        types = {name: getattr(parts.QuantType, f"Q{'U' * (name == 'uint8')}Int8") for name in ("uint8", "int8")}
        proto = onnx.ModelProto()
        proto.CopyFrom(self.model.proto)
        operators = sorted({node.op_type for node in proto.graph.node} - FLOATING.keys() - {*_REAL_CONSTANTS})
        with quiet():
            quantizer = parts.QDQQuantizer(
                proto,
                self.form.per_channel,
                False,
                types["int8"],
                types[self.form.activations],
                calibration.TensorsData(parts.CalibrationMethod.MinMax, ranges),
                [],
                [],
                operators,
                {
                    "ActivationSymmetric": self.form.symmetric,
                    "TensorQuantOverrides": dict(_weights(self, bits or {})),
                },
            )
            quantizer.quantize_model()
        made: onnx.ModelProto = quantizer.model.model
        made.graph.name = self.model.name
        return made


def calibrate(model: Prepared, form: Form, inputs: Mapping[str, npt.NDArray[Any]], progress: Progress) -> Quantizer:
    """A quantizer with the ranges that tensors have over some samples, arrays with an axis of samples in front."""
    count = len(next(iter(inputs.values())))
    parts = library("onnxruntime.quantization")
    with scratch_folder("match-") as folder, quiet():
        source = folder / "model.onnx"
        onnx.save(model.proto, source)
        calibrator = parts.create_calibrator(source, augmented_model_path=str(folder / "augmented.onnx"))
        for start in range(0, count, _CHUNK):
            progress(f"calibrating, {start} of {count}")
            calibrator.collect_data(_Reader(inputs, start, min(start + _CHUNK, count)))
        found = calibrator.compute_data()
    ranges: dict[str, tuple[float, float]] = {}
    for name, tensor in found.items():
        low, high = (float(np.asarray(end).item()) for end in tensor.range_value)
        ranges[name] = low, high
    return Quantizer(model, form, ranges)


class _Reader:
    """The samples from `start` up to `end`, one at a time, as the calibrator asks for them."""

    def __init__(self, inputs: Mapping[str, npt.NDArray[Any]], start: int, end: int) -> None:
        self._samples = iter({name: array[index] for name, array in inputs.items()} for index in range(start, end))

    def get_next(self) -> dict[str, npt.NDArray[Any]] | None:
        """The next sample by input names; None after the last."""
        return next(self._samples, None)


def _with_form(quantizer: Quantizer) -> dict[str, tuple[float, float]]:
    """The ranges as scales of the form make them."""
    form, ranges = quantizer.form, dict(quantizer.ranges)
    if form.one_scale_for_addends:
        _join_addends(quantizer.model.proto.graph, ranges)
    if form.powers_of_two:
        ranges = {name: _rounded(bounds, form.symmetric) for name, bounds in ranges.items()}
    return ranges


def _join_addends(graph: Any, ranges: dict[str, tuple[float, float]]) -> None:
    """Give tensors that are added one range, the larger one, and their sum no smaller one.

    So neither addend is clipped, and from the addends' scale to the sum's it is a shift to the right.
    """
    sums = [node for node in graph.node if node.op_type == "Add" and set(node.input) <= ranges.keys()]
    active = {node.input[0]: node.output[0] for node in graph.node if node.op_type in ("Relu", "Clip")}
    changed = True
    while changed:
        changed = False
        for node in sums:
            joined = _union(*(ranges[name] for name in node.input))
            results = [name for name in (node.output[0], active.get(node.output[0])) if name in ranges]
            wanted = dict.fromkeys(node.input, joined) | {name: _union(ranges[name], joined) for name in results}
            changed = changed or any(ranges[name] != range_ for name, range_ in wanted.items())
            ranges.update(wanted)


def _union(*bounds: tuple[float, float]) -> tuple[float, float]:
    """The least range that holds others."""
    return min(low for low, _ in bounds), max(high for _, high in bounds)


def _rounded(bounds: tuple[float, float], symmetric: bool) -> tuple[float, float]:
    """The least range that holds another one and whose scale is a power of two."""
    low, high = min(bounds[0], 0.0), max(bounds[1], 0.0)
    if symmetric:
        largest = _LEVELS * _power(max(-low, high) / _LEVELS)
        return -largest, largest
    scale = _power((high - low) / 255)
    zero = min(255, math.ceil(-low / scale))
    if high > (255 - zero) * scale:  # the zero point is a whole number
        return _rounded((low, high + scale), symmetric)
    return -zero * scale, (255 - zero) * scale


def _power(scale: float) -> float:
    """The least power of two that is no smaller."""
    return 2.0 ** math.ceil(math.log2(scale)) if scale > 0 else 1.0


def _weights(quantizer: Quantizer, bits: Mapping[str, int]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """What the quantizer would not do itself: ranges of weights in fewer bits, or with scales of powers of two."""
    form, graph = quantizer.form, quantizer.model.proto.graph
    values = {tensor.name: tensor for tensor in graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT}
    axes = {name: axis for _, name, axis in weighted(quantizer.model.proto)}
    for name, axis in axes.items():
        count = bits.get(name, 8)
        if name not in values or (count == 8 and not form.powers_of_two):
            continue
        array = numpy_helper.to_array(values[name])
        channels = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1) if form.per_channel else array[None]
        largest = [float(np.abs(channel).max()) for channel in channels]
        overrides = [_weight_range(each, count, form.powers_of_two) for each in largest]
        yield name, [{**each, **({"axis": axis} if form.per_channel else {})} for each in overrides]
    if form.powers_of_two:
        biases = {node.input[2] for node in graph.node if node.op_type in _WITH_BIAS and len(node.input) > 2}
        for name in values.keys() - axes.keys() - biases - _arguments(graph):
            array = numpy_helper.to_array(values[name])
            low, high = _rounded((float(array.min()), float(array.max())), form.symmetric)
            yield name, [{"rmin": np.float32(low), "rmax": np.float32(high)}]


_WITH_BIAS = ("Conv", "ConvTranspose", "Gemm", "LayerNormalization", "InstanceNormalization", "BatchNormalization")


def _arguments(graph: Any) -> set[str]:
    """Constants that say what an operator does, and are no tensor that it computes with."""
    return {name for node in graph.node if node.op_type in ("Clip", "Resize", "Pad") for name in node.input[1:]}


def _weight_range(largest: float, bits: int, power_of_two: bool) -> dict[str, Any]:
    """The range whose scale in 8 bits is that of numbers of so many bits."""
    steps = (1 << (bits - 1)) - 1
    scale = largest / steps
    end = np.float32(_LEVELS * (_power(scale) if power_of_two else scale))
    return {"symmetric": True, "rmin": -end, "rmax": end}
