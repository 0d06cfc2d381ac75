"""dequantize → operator → quantize groups, as ONNX writes quantized layers, to QNN operators.

Groups are those that onnxruntime fuses: a module beside this one for each kind. An operator that no kind fits keeps its
dequantize and quantize, and computes in floating point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from match.arithmetic.interface import QuantizedType
from match.ir.dtypes import value_range
from match.passes.quantized_groups.activations import without_activations
from match.passes.quantized_groups.argmax import argmax, one_hot
from match.passes.quantized_groups.averages import close_average, exact_average, float_average, map_average
from match.passes.quantized_groups.centred import centred
from match.passes.quantized_groups.chosen import chosen
from match.passes.quantized_groups.collected import collected
from match.passes.quantized_groups.concatenations import concatenation, qnn_concatenation
from match.passes.quantized_groups.elementwise import (
    absolute_difference,
    close_product,
    extremum,
    real_product,
    sum_or_product,
)
from match.passes.quantized_groups.function_averages import function_average
from match.passes.quantized_groups.functions_by_channel import function_by_channel
from match.passes.quantized_groups.functions_of_sums import function_of_sums
from match.passes.quantized_groups.linear import linear
from match.passes.quantized_groups.matrices import activation_product, dense_rows, running_totals, squares, totals
from match.passes.quantized_groups.moves import moved, moved_behind
from match.passes.quantized_groups.quantities import parameters
from match.passes.quantized_groups.residuals import residual
from match.passes.quantized_groups.slopes import close_slopes, slopes_of_sums
from match.passes.quantized_groups.sums import close_sum
from match.passes.quantized_groups.tables import close_table, prelu, table
from match.relay import relay, tvm
from match.relay.qnn import quantized
from match.relay.rewrite import New, is_call, rewrite

Fusion = Callable[[relay.Expr, QuantizedType, New], relay.Expr | None]
"""What an expression between dequantize and quantize becomes, for outputs of a type; None for other expressions."""

_OPERATORS: tuple[Fusion, ...] = (
    linear,
    dense_rows,
    activation_product,
    squares,
    sum_or_product,
    absolute_difference,
    extremum,
    chosen,
    map_average,
    function_average,
    totals,
    centred,
    running_totals,
    exact_average,
    float_average,
    one_hot,
)
"""Fusions that leave an activation after the operator to the caller."""

_CLOSE: tuple[Fusion, ...] = close_average, close_sum, close_product, close_slopes
"""Fusions whose outputs may be a step off."""

_CLOSE_OTHERWISE: tuple[Fusion, ...] = function_of_sums, function_by_channel, real_product
"""Fusions whose outputs may be a step off, of what no other one fits."""

_CLOSE_WITH_ACTIVATIONS: tuple[Fusion, ...] = residual, close_table
"""The same of an operator together with the activation after it."""

_WITH_ACTIVATIONS: tuple[Fusion, ...] = table, prelu, moved, collected
"""Fusions of an operator together with the activation after it, where no other fits."""


@dataclass(frozen=True)
class FuseQuantizedGroups:
    """Rewrites each group that ends in `qnn.quantize`, and each `qnn.concatenate`, `argmax` and `argmin`.

    Without `exact`, these groups are rewritten, too, with outputs within one step of the reference's:

    - average pooling of parts of a map, where onnxruntime's float32 may round otherwise than integers;
    - products of two tensors that onnxruntime computes in floating point;
    - functions of two tensors that a plane is close to;
    - sums of three tensors and more;
    - products of a tensor and a function of a smaller tensor;
    - PReLU with a slope for each element;
    - functions of a layer's outputs, and additions to a layer's outputs, where nothing quantizes these outputs; after
      a function there may be a scale for each channel.
    """

    exact: bool = True

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        groups = _Groups((*_OPERATORS, slopes_of_sums), _WITH_ACTIVATIONS, {})
        if not self.exact:
            close = (*_CLOSE_WITH_ACTIVATIONS, *_WITH_ACTIVATIONS)
            groups = _Groups((*_CLOSE, *_OPERATORS, *_CLOSE_OTHERWISE, slopes_of_sums), close, {})
        return rewrite(module, groups.rule)


@dataclass(frozen=True)
class _Groups:
    """Writes groups of a function with some fusions, each concatenation's parts once for each type they get."""

    operators: Sequence[Fusion]
    with_activations: Sequence[Fusion]
    parts: dict[tuple[relay.Expr, QuantizedType], relay.Expr]

    def rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        """What a call becomes; None if it ends no group."""
        if is_call(call, "qnn.concatenate"):
            return qnn_concatenation(call, new)
        output = quantized(call)
        return argmax(call, new) if output is None else self._fused(call.args[0], output, new)

    def _fused(self, expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
        """What an expression with a quantize after it becomes; None if nothing fits."""
        inner, clip = without_activations(expr, output)
        for fuse in (*self.operators, self._joined):
            fused = fuse(inner, output, new)
            if fused is not None:
                return fused if clip == value_range(output.dtype) else relay.clip(fused, *clip)
        found = (fuse(expr, output, new) for fuse in self.with_activations)
        return next((fused for fused in found if fused is not None), None)

    def _joined(self, expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
        """A concatenation each part of which is quantized alone, in the output's scale."""
        return concatenation(expr, lambda part: self._part(part, output, new))

    def _part(self, expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr:
        """An expression with a quantize after it, which goes in front of what only moves its elements."""
        known = self.parts.get((expr, output))
        if known is not None:
            return known
        part = self._fused(expr, output, new) or moved_behind(expr, output, lambda x: self._part(x, output, new))
        if part is None:
            part = relay.qnn.op.quantize(new(expr), *parameters(output), out_dtype=output.dtype)
        self.parts[expr, output] = part
        return part
