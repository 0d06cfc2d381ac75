"""Biases of quantized layers in an ONNX graph, as a layer with int32 sums can add them.

A layer of 8-bit inputs and weights sums in steps of input scale x weight scale, and its bias is an int32 number of
these steps. Two kinds of files have other biases:

- A real bias of 2^31 steps or more, of a channel whose weights are all near zero. onnxruntime wraps such a number
  around. Here the weights of that channel get coarser steps, in which the bias fits. Compared with the bias they are
  small, so that hardly an output changes. The same holds of weights with a scale of 0: that channel is its bias.
- A bias of a Gemm with a scale or a zero point of its own. onnxruntime takes its integers for steps of the sums all the
  same. Here it becomes real numbers, which onnxruntime quantizes to these steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from match.arithmetic.onnxruntime import counts_in_steps
from match.frontend.onnx_constants import dequantized
from match.frontend.onnx_fusions import MOVED, MOVED_FOR_LAYERS
from match.frontend.onnx_graph import Array, attribute_of, with_fields

_LAYERS = "Conv", "ConvTranspose", "Gemm", "MatMul"
_MOST_STEPS = 2**31 - 1
_COARSE = 2.0**28
"""The steps of a bias that gets coarser ones."""
_LARGEST_INPUT = 255


def with_held_biases(proto: Any) -> Any:
    """A copy of a model in which an int32 number of each channel's steps holds the channel's bias."""
    graph = _Graph(proto)
    for node in proto.graph.node:
        layer = graph.layer(node)
        if layer is not None:
            graph.hold(layer)
    return graph.model()


@dataclass(frozen=True, eq=False)
class _Layer:
    """A layer whose weights and bias are constant.

    node: the operator; weights: the DequantizeLinear of its weights, and these without their zero points.
    axis: that of the output channels in the weights. scales, zero_points: one for each of them.
    input_scale: that of its input. adding: the operator that reads the bias, and at which of its inputs; None without.
    bias: its numbers, one for each channel; bias_node: the DequantizeLinear that makes them, if one does.
    """

    node: Any
    weights: Any
    levels: npt.NDArray[np.int64]
    axis: int
    scales: npt.NDArray[np.float32]
    zero_points: npt.NDArray[np.int64]
    input_scale: np.float32
    adding: tuple[Any, int] | None
    bias: npt.NDArray[np.float32]
    bias_node: Any | None

    @property
    def too_fine(self) -> npt.NDArray[np.bool_]:
        """The channels with too many steps in their bias and sums for int32, or with steps of nothing."""
        others = tuple(axis for axis in range(self.levels.ndim) if axis != self.axis)
        reach = _LARGEST_INPUT * np.abs(self.levels).sum(axis=others)
        steps = self.input_scale.astype(np.float64) * self.scales
        folded = np.abs(self.bias).reshape(-1, len(self.scales)).max(axis=0)  # of the groups that share weights' scales
        return (steps == 0) | (folded + reach * steps > _MOST_STEPS * steps)


class _Graph:
    """The operators and constants of a model, to which layers add theirs."""

    def __init__(self, proto: Any) -> None:
        self._proto = proto
        self._constants: dict[str, Any] = {tensor.name: tensor for tensor in proto.graph.initializer}
        self._nodes: list[Any] = []  # copies, in the model's order
        self._made: dict[str, Any] = {}
        self._readers: dict[str, list[Any]] = {}
        for node in proto.graph.node:
            self._made |= dict.fromkeys(node.output, node)
            for name in node.input:
                self._readers.setdefault(name, []).append(node)
        self._changed: dict[tuple[str, int], str] = {}  # by an operator's output and a place among its inputs

    def layer(self, node: Any) -> _Layer | None:
        """The layer that an operator is; None unless its weights are constants of 8 bits, and its bias is constant."""
        if node.op_type not in _LAYERS or any(attribute_of(node, name, 1.0) != 1.0 for name in ("alpha", "beta")):
            return None
        input_scale, weights = self._scale(node.input[0]), self._dequantize(node.input[1])
        if input_scale is None or weights is None:
            return None
        levels, scales, *zero_points = (onnx.numpy_helper.to_array(self._constants[name]) for name in weights.input)
        axis = _output_axis(node)
        if levels.dtype not in (np.int8, np.uint8) or levels.ndim < 2:
            return None
        channels = levels.shape[axis]
        adding = self._adding(node)
        bias = np.zeros(channels, np.float32) if adding is None else self._numbers(adding[0].input[adding[1]])
        if bias is None or scales.size not in (1, channels) or bias.size % channels or bias.ndim != 1:
            return None
        if scales.size > 1 and attribute_of(weights, "axis", 1) % levels.ndim != axis:
            return None
        zeros = zero_points[0].reshape(-1).astype(np.int64) if zero_points else np.zeros(1, np.int64)
        return _Layer(
            node,
            weights,
            levels.astype(np.int64) - zeros.reshape([-1 if other == axis else 1 for other in range(levels.ndim)]),
            axis,
            np.broadcast_to(scales.reshape(-1), channels).astype(np.float32),
            np.broadcast_to(zeros, channels),
            input_scale,
            adding,
            bias,
            None if adding is None else self._dequantize(adding[0].input[adding[1]]),
        )

    def hold(self, layer: _Layer) -> None:
        """Change what a layer reads so that int32 holds its bias."""
        too_fine = layer.too_fine
        steps = layer.input_scale * layer.scales
        own = layer.bias_node is not None and not self._counts(layer.bias_node, steps)
        if layer.bias_node is not None and layer.adding is not None:
            node, place = layer.adding
            if self._is_misread(layer) if own else too_fine.any():
                self._changed[node.output[0], place] = self._added(f"{node.output[0]}_bias", layer.bias)
        if too_fine.any():
            self._changed[layer.node.output[0], 1] = self._coarser(layer, too_fine)

    def model(self) -> Any:
        """A copy of the model with what layers read instead."""
        nodes: list[Any] = []
        new = {node.output[0]: node for node in self._nodes}
        for node in self._proto.graph.node:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            for place in range(len(node.input)):
                name = self._changed.get((node.output[0], place))
                if name is not None:
                    copy.input[place] = name
                    nodes += [new[name]] if name in new else []
            nodes.append(copy)
        return with_fields(self._proto, node=nodes, initializer=self._constants.values())

    def _coarser(self, layer: _Layer, too_fine: npt.NDArray[np.bool_]) -> str:
        """The name of a layer's weights, of which some channels have steps as coarse as their biases need."""
        bias = np.abs(layer.bias).reshape(-1, len(layer.scales)).max(axis=0).astype(np.float64)
        held = np.where(bias > 0, bias / _COARSE / layer.input_scale, 1.0)
        scales = np.where(too_fine, held, layer.scales).astype(np.float32)
        by_channel = [-1 if axis == layer.axis else 1 for axis in range(layer.levels.ndim)]
        shares = np.where(too_fine, layer.scales / scales, np.float32(1)).reshape(by_channel)
        values = np.rint(layer.levels * shares).astype(np.int64) + layer.zero_points.reshape(by_channel)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(self._constants[layer.weights.input[0]].data_type)
        name = f"{layer.node.output[0]}_weights"
        parts = (values.astype(dtype), scales, layer.zero_points.astype(dtype))
        names = [self._added(f"{name}_{part}", array) for part, array in enumerate(parts)]
        self._nodes.append(onnx.helper.make_node("DequantizeLinear", names, [name], axis=layer.axis))
        return name

    def _added(self, name: str, values: Array) -> str:
        self._constants[name] = onnx.numpy_helper.from_array(values, name)
        return name

    def _adding(self, node: Any) -> tuple[Any, int] | None:
        """The operator that adds a layer's bias, and the bias's place among its inputs; None if there is none."""
        if node.op_type != "MatMul":
            return (node, 2) if len(node.input) > 2 and node.input[2] else None
        readers = self._readers.get(node.output[0], [])
        if len(readers) != 1 or readers[0].op_type != "Add":
            return None
        (add,) = readers
        return add, 1 - list(add.input).index(node.output[0])

    def _scale(self, name: str) -> np.float32 | None:
        """The scale of a tensor that was dequantized with one, whatever moved its elements since."""
        while (node := self._made.get(name)) is not None and node.op_type in (*MOVED, *MOVED_FOR_LAYERS):
            name = node.input[0]
        if node is None or node.op_type != "DequantizeLinear" or node.input[1] not in self._constants:
            return None
        scale = onnx.numpy_helper.to_array(self._constants[node.input[1]])
        return np.float32(scale.item()) if scale.size == 1 else None

    def _dequantize(self, name: str) -> Any | None:
        """The DequantizeLinear that makes a tensor of constants; None for other tensors."""
        node = self._made.get(name)
        known = node is not None and node.op_type == "DequantizeLinear" and self._constants.keys() >= set(node.input)
        return node if known else None

    def _numbers(self, name: str) -> npt.NDArray[np.float32] | None:
        """The numbers of a constant, which may be quantized; None for other tensors."""
        node = self._dequantize(name)
        if node is not None:
            return dequantized(node, [onnx.numpy_helper.to_array(self._constants[part]) for part in node.input])
        values = onnx.numpy_helper.to_array(self._constants[name]) if name in self._constants else None
        return values if values is not None and values.dtype == np.float32 else None

    def _is_misread(self, layer: _Layer) -> bool:
        """Whether onnxruntime takes a bias of int32 with a scale of its own for steps of the sums: it does in Gemm."""
        if layer.bias_node is None or layer.node.op_type not in ("Gemm", "MatMul"):
            return False
        return self._constants[layer.bias_node.input[0]].data_type == onnx.TensorProto.INT32

    def _counts(self, bias: Any, steps: npt.NDArray[np.float32]) -> bool:
        """Whether onnxruntime takes the integers of a DequantizeLinear for numbers of steps."""
        levels, scales, *zero_points = (onnx.numpy_helper.to_array(self._constants[name]) for name in bias.input)
        zero_point = zero_points[0] if zero_points else np.zeros(1, np.int32)
        return levels.dtype == np.int32 and counts_in_steps(scales, zero_point, steps)


def _output_axis(node: Any) -> int:
    """The axis of the output channels in the weights of a layer."""
    if node.op_type == "Conv" or (node.op_type == "Gemm" and attribute_of(node, "transB", 0)):
        return 0
    return 1
