"""Which operators of a QDQ network onnxruntime computes in integers.

onnxruntime makes one integer operator of DequantizeLinear → operator → QuantizeLinear. Its rules decide where:

- each input is dequantized with one scale. Between the DequantizeLinear and the operator may be what moves elements, of
  some kinds (`_PROPAGATED`);
- a QuantizeLinear with one scale, and nothing else, reads the output. Between them may be Relu and Clip that clip as
  much as the type does, then what moves elements, of the same kinds;
- a bias counts in steps of the sums (`match.arithmetic.onnxruntime.counts_in_steps`), or it is real numbers, which
  onnxruntime then quantizes to these steps.

All other operators it computes in float32, where sums are rounded on the way. An operator that computes these in
integers is within one step. The source is onnxruntime's folder core/optimizer/qdq_transformer, version 1.32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from match.arithmetic.onnxruntime import counts_in_steps
from match.frontend.onnx_graph import Array, attribute_of
from match.frontend.onnx_windows import reach_beyond_padding

_BINARY = "Add", "Mul"
_UNARY = "GlobalAveragePool", "AveragePool"
_WEIGHTED = "Conv", "ConvTranspose", "Gemm", "MatMul"
_FUSED = *_BINARY, *_UNARY, "Conv", "Gemm", "MatMul"
_TAKEN_FOR_INTEGERS = *_BINARY, *_UNARY, *_WEIGHTED
"""Operators that are computed in integers here, and taken for integer ones of the reference where nothing is said."""

_PROPAGATED = "MaxPool", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice"
_POOLING_SINCE = 12
"""The opset from which onnxruntime moves quantizations past MaxPool."""

_ACTIVATIONS = "Relu", "Clip"
MOVED = (
    *("MaxPool", "GlobalMaxPool", "Pad", "Slice", "Split"),
    *("Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze"),
)
"""Operators that choose or move elements: quantizations are moved past them."""

MOVED_FOR_LAYERS = (
    *("ReduceMax", "ReduceMin", "Gather", "Tile", "Expand", "Concat", "DepthToSpace", "SpaceToDepth", "Resize"),
    *_ACTIVATIONS,
)
"""Other operators: quantizations are moved past them where a layer with weights reads or makes the tensor."""

_MOST_RELUS = 2
_LARGEST = float(np.finfo(np.float32).max)

Extents = Mapping[str, Sequence[int]]


class Fusions:
    """onnxruntime's rules on one graph.

    floating: the operators on dequantized tensors that would be taken for integer ones, and that onnxruntime computes
        in floating point or by another definition than ONNX's, by what they make.
    """

    def __init__(self, graph: Any, opset: int, shapes: Extents) -> None:
        """`shapes` has the extents of tensors whose extents are known."""
        self._opset, self._shapes = opset, shapes
        self._outputs = {output.name for output in graph.output}
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        self._made: dict[str, Any] = {name: node for node in graph.node for name in node.output}
        self._readers: dict[str, list[Any]] = {}
        for node in graph.node:
            for name in node.input:
                self._readers.setdefault(name, []).append(node)
        self.floating = frozenset(node.output[0] for node in graph.node if self._is_floating(node))

    def _is_floating(self, node: Any) -> bool:
        if node.op_type not in _TAKEN_FOR_INTEGERS:
            return False
        if node.op_type != "AveragePool" and not self._becomes_quantized(node):
            return False  # which says of itself that it is in floating point
        between = *MOVED, *MOVED_FOR_LAYERS
        dequantized = sum(self._comes_dequantized(name, between) for name in node.input[:2])
        if not dequantized or (node.op_type in _BINARY and dequantized < 2):
            return False
        return not self._is_fused(node) or (node.op_type == "AveragePool" and self._counts_beyond_padding(node))

    def _counts_beyond_padding(self, pool: Any) -> bool:
        """Whether windows of an average reach beyond padding that is counted.

        onnxruntime's integer operator counts what lies there, too, which ONNX's definition does not.
        """
        return bool(attribute_of(pool, "count_include_pad", 0)) and reach_beyond_padding(pool, self._shapes)

    def _is_fused(self, node: Any) -> bool:
        """Whether onnxruntime makes one integer operator of this one."""
        if node.op_type not in _FUSED:
            return False
        added = self._added(node) if node.op_type == "MatMul" else None
        last = node if added is None else added[0]
        if not self._is_quantized(last):
            return False
        inputs = list(node.input[: 1 if node.op_type in _UNARY else 2])
        if not all(self._dequantize(name, node) is not None or self._is_dequantized_constant(name) for name in inputs):
            return False
        if added is not None:
            return self._counts(node, added[1], "Gemm")
        bias = node.input[2] if node.op_type in ("Conv", "Gemm") and len(node.input) > 2 else ""
        return not bias or self._counts(node, bias, node.op_type)

    def _added(self, product: Any) -> tuple[Any, str] | None:
        """The Add node after a MatMul, and the name of its constant, if onnxruntime makes one Gemm of both nodes.

        It does so where nothing else reads the product.
        """
        readers = self._readers.get(product.output[0], [])
        if len(readers) != 1 or readers[0].op_type != "Add" or product.output[0] in self._outputs:
            return None
        (other,) = [name for name in readers[0].input if name != product.output[0]] or [""]
        known = other in self._constants or self._is_dequantized_constant(other)
        return (readers[0], other) if known and len(self._shapes.get(product.input[0], ())) == 2 else None

    def _counts(self, node: Any, bias: str, kind: str) -> bool:
        """Whether a bias is, or becomes, int32 numbers of steps of the sums."""
        made = self._made.get(bias)
        if made is None or made.op_type != "DequantizeLinear":
            return bias in self._constants
        levels, scale, *zero_points = (self._value(name) for name in made.input)
        if levels is None or scale is None or levels.dtype != np.int32:
            return False
        if kind == "Gemm":
            return bool(attribute_of(node, "beta", 1.0) == 1.0)
        dequantize, weights = self._dequantize(node.input[0], node), self._made[node.input[1]]
        scales = [None if one is None else self._value(one.input[1]) for one in (dequantize, weights)]
        if scales[0] is None or scales[1] is None:
            return False
        zero_point = zero_points[0] if zero_points and zero_points[0] is not None else np.zeros(1, np.int32)
        return counts_in_steps(scale, zero_point, scales[0] * scales[1])

    def _dequantize(self, name: str, reader: Any) -> Any | None:
        """The DequantizeLinear with one scale next to an operator, once what moves elements is moved past it."""
        node = self._made.get(name)
        if node is not None and reader.op_type == "Conv" and self._pads_with_zeros(node):
            node = self._made.get(node.input[0])
        while node is not None and self._is_propagated(node) and node.output[0] not in self._outputs:
            node = self._made.get(node.input[0])
        return node if node is not None and node.op_type == "DequantizeLinear" and self._has_one_scale(node) else None

    def _comes_dequantized(self, name: str, between: Sequence[str]) -> bool:
        """Whether a tensor that is not constant is a dequantized one, once operators in between are moved."""
        node = self._made.get(name)
        while node is not None and node.op_type in between:
            node = self._made.get(node.input[0])
        if node is None or node.op_type != "DequantizeLinear" or node.input[0] in self._constants:
            return False
        return self._has_one_scale(node)

    def _becomes_quantized(self, node: Any) -> bool:
        """Whether what an operator makes is quantized at some reader, maybe moved, clipped or biased before."""
        waiting, seen = list(node.output), set[str]()
        while waiting:
            name = waiting.pop()
            seen.add(name)
            for reader in self._readers.get(name, []):
                if reader.op_type == "QuantizeLinear":
                    return True
                if reader.op_type in (*MOVED, *MOVED_FOR_LAYERS, "Add", "Max", "Min"):
                    waiting += [output for output in reader.output if output not in seen]
        return False

    def _is_dequantized_constant(self, name: str) -> bool:
        node = self._made.get(name)
        return node is not None and node.op_type == "DequantizeLinear" and node.input[0] in self._constants

    def _is_quantized(self, node: Any) -> bool:
        """Whether a QuantizeLinear alone reads what an operator makes, or becomes the one that does."""
        clips: list[Any] = []
        moved = False
        while len(readers := self._readers.get(node.output[0], [])) == 1 and node.output[0] not in self._outputs:
            (node,) = readers
            if node.op_type == "QuantizeLinear":
                return self._has_one_scale(node) and self._are_redundant(clips, node)
            if self._is_propagated(node):
                moved = True
            elif node.op_type in _ACTIVATIONS and not moved:
                clips.append(node)
            else:
                return False
        return False

    def _is_propagated(self, node: Any) -> bool:
        return node.op_type in _PROPAGATED and (node.op_type != "MaxPool" or self._opset >= _POOLING_SINCE)

    def _pads_with_zeros(self, node: Any) -> bool:
        """Whether an operator pads for the one reader that it has, with what a convolution pads with itself."""
        value = self._value(node.input[2]) if node.op_type == "Pad" and len(node.input) > 2 and node.input[2] else None
        return (
            node.op_type == "Pad"
            and attribute_of(node, "mode", b"constant") == b"constant"
            and (value is None or not value.any())
            and len(self._readers[node.output[0]]) == 1
            and node.output[0] not in self._outputs
        )

    def _has_one_scale(self, node: Any) -> bool:
        scale = self._value(node.input[1])
        return scale is not None and scale.size == 1

    def _are_redundant(self, clips: Sequence[Any], quantize: Any) -> bool:
        """Whether onnxruntime leaves out the activations in front of a QuantizeLinear, which clips as much.

        It looks for two Relu at most, and for Clip and a second Relu only where scale and zero point have no axes.
        """
        scalars = all(not self._constants[name].dims for name in quantize.input[1:] if name in self._constants)
        relus = sum(clip.op_type == "Relu" for clip in clips)
        if relus > _MOST_RELUS or (not scalars and not relus == len(clips) <= 1):
            return False
        return all(self._is_redundant(clip, quantize) for clip in clips)

    def _is_redundant(self, clip: Any, quantize: Any) -> bool:
        """Whether an activation clips at most what a QuantizeLinear does."""
        scale, bounds = self._value(quantize.input[1]), self._bounds(clip)
        zero = self._value(quantize.input[2]) if len(quantize.input) > 2 and quantize.input[2] else None
        if scale is None or bounds is None:
            return False
        limits = np.iinfo(np.uint8 if zero is None else zero.dtype)
        zero_point = 0 if zero is None else int(zero.item())
        first, last = (np.rint(bound / float(scale.item())) + zero_point for bound in bounds)
        return bool(first <= limits.min and last >= limits.max)

    def _bounds(self, clip: Any) -> tuple[float, float] | None:
        """The smallest and the largest number that an activation leaves; None if they are not constant."""
        if clip.op_type == "Relu":
            return 0.0, _LARGEST
        if len(clip.input) == 1:  # before the opset 11 they are attributes
            return float(attribute_of(clip, "min", -_LARGEST)), float(attribute_of(clip, "max", _LARGEST))
        low, high = ([*clip.input, ""])[1:3]
        least, most = (
            self._value(name) if name else np.array(end) for name, end in ((low, -_LARGEST), (high, _LARGEST))
        )
        return None if least is None or most is None else (float(least.item()), float(most.item()))

    def _value(self, name: str) -> Array | None:
        tensor = self._constants.get(name)
        return None if tensor is None else onnx.numpy_helper.to_array(tensor)
