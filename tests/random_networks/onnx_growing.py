"""How an ONNX network in QDQ form grows: operators, and quantize nodes between them as quantizers write them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from match.validation.exact_session import exact_session
from tests.random_networks.drawing import MOST_ELEMENTS, Drawing, Shape, UnfitError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Style:
    """How a quantizer writes a graph.

    types: of the integers of activations. bare: the share of operators with no pair of quantize nodes behind them.
    activated, twice: the shares of those with a Relu or Clip between them and their pair, and of those whose real
    numbers others read beside what the pair makes of them. odd: the share of layers whose bias, or whose weights' scale
    in some channels, no quantizer should write.
    own_pairs: each reader of a tensor has a pair of its own. real: there are operators that onnxruntime computes in
    floating point. weights: the type and the zero point of weights.
    """

    types: tuple[str, ...]
    bare: float
    activated: float
    twice: float
    odd: float
    own_pairs: bool
    opset: int
    real: bool
    weights: tuple[str, int]


@dataclass(frozen=True)
class Quantization:
    """Names of a scale and a zero point, and what they are."""

    names: tuple[str, str]
    scale: float
    zero_point: int
    dtype: str


@dataclass(frozen=True)
class Tensor:
    """Real numbers: their name, an example of them, and the integers that they are made of, if any.

    unpaired: whoever reads it is to put a pair in front.
    """

    name: str
    values: Array
    integers: str = ""
    quantization: Quantization | None = None
    unpaired: bool = False

    @property
    def shape(self) -> Shape:
        """The extents."""
        return self.values.shape


@dataclass(frozen=True, kw_only=True)
class Growing(Drawing[Tensor]):
    """An ONNX graph under construction."""

    style: Style
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)

    def constant(self, values: npt.ArrayLike) -> str:
        """A constant of the values' own type, or of float32 for float64."""
        array = np.asarray(values)
        name = f"c{len(self.constants)}"
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        """Add an operator; the names of its outputs."""
        names = [f"{op.lower()}{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names

    def input(self, shape: Shape) -> None:
        """A further input: real numbers that the graph quantizes, or integers."""
        name, values = f"x{len(self.inputs)}", self.rng.normal(0, 1, shape).astype(np.float32)
        quantization = self.quantization(values)
        if self.chance(0.6):
            kind = onnx.TensorProto.FLOAT
            self.tensors.append(self.paired(Tensor(name, values), quantization))
        else:
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(quantization.dtype))
            (real,) = self.node("DequantizeLinear", [name, *quantization.names])
            self.tensors.append(Tensor(real, values, name, quantization))
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))

    def quantization(self, values: Array) -> Quantization:
        """A scale and a zero point for numbers like `values`, which some of them may exceed."""
        dtype = self.draw(self.style.types)
        least, most = (float(bound) * 2 ** self.rng.uniform(-0.7, 0.4) for bound in (values.min(), values.max()))
        least, most, limits = min(least, 0), max(most, 0), np.iinfo(dtype)
        if self.chance(0.2):  # symmetric
            least, most = -max(most, -least), max(most, -least)
        scale = float(np.float32(max((most - least) / 255, 1e-4)))
        zero_point = int(np.clip(np.rint(-least / scale) + limits.min, limits.min, limits.max))
        names = self.constant(np.float32(scale)), self.constant(np.array(zero_point, dtype))
        return Quantization(names, scale, zero_point, dtype)

    def paired(self, tensor: Tensor, quantization: Quantization) -> Tensor:
        """The tensor behind a pair of quantize nodes."""
        (integers,) = self.node("QuantizeLinear", [tensor.name, *quantization.names])
        (real,) = self.node("DequantizeLinear", [integers, *quantization.names])
        limits = np.iinfo(quantization.dtype)
        levels = np.clip(np.rint(tensor.values / quantization.scale) + quantization.zero_point, limits.min, limits.max)
        values = ((levels - quantization.zero_point) * quantization.scale).astype(np.float32)
        return Tensor(real, values, integers, quantization)

    def read(self, tensor: Tensor) -> Tensor:
        """The tensor as an operator reads it: behind a pair of the operator's own where it has none."""
        if not tensor.unpaired:
            return tensor
        quantization = tensor.quantization if self.chance(0.7) else None
        return self.paired(tensor, quantization or self.quantization(tensor.values))

    def computed(self, op: str, inputs: Sequence[Tensor | str], outputs: int = 1, **attributes: Any) -> list[Tensor]:
        """Add an operator on tensors and constants; its outputs in floating point."""
        names = [one.name if isinstance(one, Tensor) else one for one in inputs]
        results = self._results(op, names, [one for one in inputs if isinstance(one, Tensor)], outputs, attributes)
        if not all(0 < result.size <= MOST_ELEMENTS for result in results):
            raise UnfitError
        return [
            Tensor(name, values)
            for name, values in zip(self.node(op, names, outputs, **attributes), results, strict=True)
        ]

    def _results(
        self, op: str, names: list[str], read: list[Tensor], outputs: int, attributes: dict[str, Any]
    ) -> list[Array]:
        """What onnxruntime computes of the example values for an operator alone."""
        made = [f"y{index}" for index in range(outputs)]
        values = {tensor.name: tensor.values for tensor in read}
        graph = helper.make_graph(
            [
                *(node for node in self.nodes if node.output[0] in names and node.output[0] not in values),
                helper.make_node(op, names, made, **attributes),
            ],
            op,
            [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, one.shape) for name, one in values.items()],
            [helper.make_empty_tensor_value_info(name) for name in made],
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.style.opset)], ir_version=9)
        results = exact_session(model.SerializeToString()).run(made, values)
        return [np.asarray(result) for result in results]

    def add(
        self, op: str, inputs: Sequence[Tensor | str], outputs: int = 1, like: Tensor | None = None, **attributes: Any
    ) -> None:
        """Add an operator whose outputs others may read, quantized as the style has it, maybe like a tensor."""
        for computed in self.computed(op, inputs, outputs, **attributes):
            tensor = self._activated(computed) if self.chance(self.style.activated) else computed
            same = like.quantization if like and self.chance(0.6) else None
            quantization = same or self.quantization(tensor.values)
            if self.chance(self.style.bare):
                self.tensors.append(tensor)
            elif self.style.own_pairs and self.chance(0.7):
                self.tensors.append(replace(tensor, quantization=quantization, unpaired=True))
            else:
                self.tensors.append(self.paired(tensor, quantization))
                if self.chance(self.style.twice):
                    self.tensors.append(self.draw((tensor, computed)))

    def _activated(self, tensor: Tensor) -> Tensor:
        """The tensor behind a Relu or a Clip, which may cut off nothing, or behind two of these."""
        bounds = self.draw(((0.0, 6.0), (0.0, None), (None, 1.0), (-1.0, 1.0), (-1e4, 1e4), (0.0, 1e4)))
        names = ["" if bound is None else self.constant(np.float32(bound)) for bound in bounds]
        clip = ("Clip", names if names[1] else names[:1])
        for op, operands in self.draw(([("Relu", [])], [("Relu", [])], [clip], [clip], [("Relu", []), clip])):
            (tensor,) = self.computed(op, [tensor, *operands])
        return tensor

    def levels(self, values: Array) -> str:
        """A constant in 8 bits with one scale, dequantized."""
        dtype, zero_point = self.draw((("int8", 0), ("int8", -9), ("uint8", 128)))
        limits, scale = np.iinfo(dtype), max(float(np.abs(values).max()) / 119, 1e-4)
        integers = np.clip(np.rint(values / scale) + zero_point, limits.min, limits.max).astype(dtype)
        parameters = self.constant(np.float32(scale)), self.constant(np.array(zero_point, dtype))
        return self.node("DequantizeLinear", [self.constant(integers), *parameters])[0]

    def weighted(self, x: Tensor, shape: Shape, axis: int, *, biased: bool) -> list[str]:
        """Weights with output channels along `axis`, and maybe biases, dequantized."""
        count = shape[axis]
        reals = self.rng.normal(0, (math.prod(shape) / count) ** -0.5, shape)
        if self.chance(0.15):
            np.moveaxis(reals, axis, 0)[self.rng.random(count) < 0.3] = 0
        rest = tuple(other for other in range(len(shape)) if other != axis)
        along = {"axis": axis} if self.chance(0.7) else {}
        largest = np.abs(reals).max(rest, keepdims=True) if along else np.abs(reals).max(keepdims=True)
        scales = np.maximum(largest / 127, 1e-4).astype(np.float32)
        dtype, zero_point = self.style.weights
        integers = self.constant((np.rint(reals / scales) + zero_point).astype(dtype))
        flat = scales.reshape(-1) if along else scales.reshape(())
        odd = self.chance(self.style.odd)
        if odd and along and self.chance(0.4):
            flat = np.where(self.rng.random(count) < 0.3, self.draw((0.0, 1e-12, 1e-30)), flat).astype(np.float32)
        parameters = self.constant(flat), self.constant(np.full(flat.shape, zero_point, dtype))
        operands = self.node("DequantizeLinear", [integers, *parameters], **along)
        if not biased:
            return operands
        return [*operands, self._odd_biases(x, count, flat) if odd else self._biases(x, count, flat)]

    def _odd_biases(self, x: Tensor, count: int, scales: Array) -> str:
        """Real biases, or quantized ones whose scale or zero point is not that of the sums."""
        reals, form = self.rng.normal(0, 0.4, count), self.draw(("real", "scale", "scales", "zero point", "narrow"))
        if form == "real" or x.quantization is None:
            return self.constant(reals)
        steps = np.broadcast_to(scales * np.float32(x.quantization.scale), count).astype(np.float32)
        if form == "zero point":
            steps, zero_point, dtype = np.maximum(steps, np.float32(1e-9)), int(self.rng.integers(-9, 10)), "int32"
        elif form == "narrow":
            steps, zero_point, dtype = np.array(np.abs(reals).max() / 127, np.float32), 0, "int8"
        else:
            other = self.rng.uniform(0.2, 3, count if form == "scales" else ())
            steps, zero_point, dtype = (np.float32(2e-4) * other).astype(np.float32), 0, "int32"
        limits = np.iinfo(dtype)
        integers = np.clip(np.rint(reals / steps) + zero_point, limits.min, limits.max).astype(dtype)
        parameters = self.constant(steps), self.constant(np.full(steps.shape, zero_point, dtype))
        along = {"axis": 0} if steps.ndim else {}
        return self.node("DequantizeLinear", [self.constant(integers), *parameters], **along)[0]

    def _biases(self, x: Tensor, count: int, scales: Array) -> str:
        """Biases in 32 bits at the scales of input and weights, or real numbers where the input is not quantized."""
        reals = self.rng.normal(0, 0.4, count)
        if x.quantization is None:
            return self.constant(reals)
        steps = (scales * np.float32(x.quantization.scale)).astype(np.float32)
        integers = self.constant(np.rint(reals / steps).astype(np.int32))
        parameters = self.constant(steps), self.constant(np.zeros(steps.shape, np.int32))
        return self.node("DequantizeLinear", [integers, *parameters], **({"axis": 0} if steps.ndim else {}))[0]
