"""The kernels of kernels/pulp as modules have them: their names, operands, constants and costs, for every operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.cost_models.pulp_cluster import PulpClusterCost
from match.cost_models.pulp_loops import WORD, is_pointwise, widened
from match.ir.attributes import Broadcast
from match.ir.constants import Filters, LayerConstants
from match.ir.layer import BY_PIXEL, GATES, Axis, Dim, Layer, Op, Operand
from match.ir.requantization import Requantizer
from match.target import tile_constants
from match.target.cost import CostModel
from match.target.hardware import HwModule, Pattern
from match.target.operands import FILTER, standard_operands
from match.target.tile_constants import Spans, channels, columns, listed_exceptions, output_spans, pack, parameter_bytes
from match.targets.pulp.operators import OPERATORS

INT64 = replace(tile_constants.INT64, parameter_alignment=4)
INT64_SIGNED = replace(tile_constants.INT64_SIGNED, parameter_alignment=4)
INT64_EXCEPT = replace(tile_constants.INT64_EXCEPT, parameter_alignment=4)
"""Kernels read 64 bits of these as two words (kernels/pulp/match_pulp_requantize.h)."""

INT32 = replace(tile_constants.INT32, lowest=0)
ROWS = replace(tile_constants.ROWS, lowest=0)
SPLIT, SPLIT_SIGNED = tile_constants.SPLIT, tile_constants.SPLIT_SIGNED
SPLIT_EXCEPT = tile_constants.SPLIT_EXCEPT
HIGH = replace(tile_constants.HIGH, lowest=0)
"""Kernels with these clip words from below at 0 alone: that and the upper end are one instruction."""

_PARTIAL_BYTES = 4
_CHANNEL_GROUP = 16

_SUFFIXES = {
    INT32.name: "_int32",
    ROWS.name: "_rows",
    HIGH.name: "_high",
    **dict.fromkeys((form.name for form in (SPLIT, SPLIT_SIGNED, SPLIT_EXCEPT)), "_split"),
}


class PulpKernels(HwModule):
    """What executes the kernels of kernels/pulp: a cluster, or a core by itself."""

    requantizers = (INT32, SPLIT, SPLIT_SIGNED, HIGH, SPLIT_EXCEPT, INT64, INT64_SIGNED, INT64_EXCEPT)
    sums = frozenset(op for op, own in OPERATORS.items() if own.sums)
    int16 = frozenset(op for op, own in OPERATORS.items() if own.int16 is not None)
    settled = frozenset({"cost_model"})

    def __init__(self, cost: PulpClusterCost, cost_model: CostModel | None = None) -> None:
        """With what kernels cost on its cores, and the module's cost model where that is another."""
        self.peak_macs = cost.cores * 4  # on each a dot product of four bytes
        self.cost_model = cost if cost_model is None else cost_model
        self._split = cost
        self._sums = replace(cost, form="sums")
        self._costs = {
            INT32.name: replace(cost, form="int32"),
            ROWS.name: replace(cost, form="rows"),
            SPLIT_SIGNED.name: replace(cost, form="split_signed"),
            HIGH.name: replace(cost, form="high"),
            **{form.name: replace(cost, form="int64") for form in (INT64, INT64_SIGNED, INT64_EXCEPT)},
        }

    def patterns(self) -> tuple[Pattern, ...]:
        """Every operator, see `operators`."""
        return tuple(Pattern(op, own.constraints) for op, own in OPERATORS.items())

    def forms(self, layer: Layer) -> tuple[Requantizer, ...]:
        """Nearly all layers have one of the first three; those behind them are slow.

        Products with one pixel or one channel have a line for each of its bytes, if that is exact. Additions have no
        accumulator whose sign to correct for. Nearly all of them fit 32 bits, but not those whose halves go to even
        outputs.
        """
        if layer.input_dtype == "int16":  # the step first, where a layer has one: no line without it is exact
            return INT64_SIGNED, INT64
        if layer.op is Op.ADD:
            return INT32, SPLIT, INT64
        if layer.op is Op.MULTIPLY and layer.get(Broadcast).kind:
            return INT32, ROWS, SPLIT, SPLIT_SIGNED, SPLIT_EXCEPT, INT64, INT64_SIGNED, INT64_EXCEPT
        others = (SPLIT, SPLIT_SIGNED, SPLIT_EXCEPT, INT64_EXCEPT) if OPERATORS[layer.op].wide else (HIGH,)
        return tuple(form for form in self.requantizers if form not in others)

    def operands(self, layer: Layer, requantizer: Requantizer | None) -> tuple[Operand, ...]:
        """Dense HWC activations, filters (K, FY, FX, C), and parameters as match_tile.h lays them out.

        Convolutions and dense layers keep int32 partial sums, and hand out sums that nothing requantizes. A filter of a
        convolution that is no pointwise one takes whole words, and lies column by column, (K, FX, FY, C). Weights of
        layers of int16 have two bytes, and all their input channels come at once.
        """
        partial_bytes = _PARTIAL_BYTES if _keeps_sums(layer) else 0
        operands = standard_operands(layer, parameter_bytes(layer, requantizer), partial_bytes, requantizer)
        if layer.input_dtype == "int16":
            return operands if layer.op in GATES else tuple(map(_with_wide_weights, operands))
        return tuple(_with_whole_words(operand, layer) for operand in operands) if _has_columns(layer) else operands

    def pack(
        self, layer: Layer, requantizer: Requantizer | None, constants: LayerConstants, spans: Spans
    ) -> tuple[bytes, ...]:
        """Filters, parameters, a table, if there are any."""
        spans = output_spans(layer, spans)
        packed, weights = pack(constants, requantizer, spans), constants.get(Filters)
        if weights is not None and layer.input_dtype == "int16":
            return (_wide(layer, channels(weights.values, spans)), *packed[1:])
        if weights is None or not _has_columns(layer):
            return packed
        return (columns(weights.values, spans), *packed[1:])

    def tile_multiples(self, layer: Layer) -> Mapping[Dim, int]:
        """Input channels are cut into groups of 16: whole SIMD words, and two beats of the DMA for each pixel.

        Input channels of 16 bits are not cut. Nor are the channels of a concatenation, for a tile has some of each
        input, and those of a function of a pixel. States of recurrent layers stay in the kernel: its tile is the layer.
        """
        if layer.op in GATES:
            return {Dim.K: 0, Dim.OY: 0, Dim.OX: 0}
        if layer.op is Op.CONCATENATE or layer.op in BY_PIXEL:
            return {Dim.K: 0}
        return {Dim.C: _CHANNEL_GROUP} if _keeps_sums(layer) else {}

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        """A kernel of match_pulp.h, by operator and form; 1x1 convolutions and some depthwise ones have their own."""
        kernel = OPERATORS[layer.op].kernel
        if layer.input_dtype == "int16":
            return f"{kernel}_int16"
        if layer.op is Op.CONV2D and is_pointwise(layer):
            kernel = "match_pulp_pointwise"
        if layer.op is Op.DEPTHWISE_CONV2D and widened(layer) is not None:
            kernel = "match_pulp_depthwise_widened"
        return kernel + (_SUFFIXES.get(requantizer.name, "") if requantizer else "")

    def cost(self, layer: Layer, requantizer: Requantizer | None) -> CostModel:
        """Forms of requantization cost differently, and so do sums that nothing requantizes."""
        if requantizer is None:
            return self._sums if layer.op in self.sums else self._split
        model = self._costs.get(requantizer.name, self._split)
        return replace(model, listed=listed_exceptions(layer, requantizer)) if requantizer.listed else model


def _keeps_sums(layer: Layer) -> bool:
    """Whether the kernel adds up parts of the input channels."""
    return OPERATORS[layer.op].sums and layer.input_dtype != "int16"


def _has_columns(layer: Layer) -> bool:
    """Whether the kernel reads filters column by column, in whole words, as it lays out windows."""
    if layer.input_dtype == "int16":
        return False
    return layer.op is Op.GROUPED_CONV2D or (layer.op is Op.CONV2D and not is_pointwise(layer))


def _wide(layer: Layer, weights: npt.NDArray[np.int8]) -> bytes:
    """Weights (K, FY, FX, C) of two bytes; those of a depthwise convolution channels last, (FY, FX, K)."""
    ordered = weights[..., 0].transpose(1, 2, 0) if layer.op is Op.DEPTHWISE_CONV2D else weights
    return ordered.astype("<i2").tobytes()


def _with_wide_weights(operand: Operand) -> Operand:
    """The operand with two bytes for each weight, if it has some."""
    components = (
        replace(component, element_bytes=2 * component.element_bytes) if component.name == FILTER else component
        for component in operand.components
    )
    return replace(operand, components=tuple(components))


def _with_whole_words(operand: Operand, layer: Layer) -> Operand:
    """The operand with each output channel's filter, if it has some, rounded up to a multiple of 4 bytes."""
    window = layer.fy * layer.fx
    row = Axis(Dim.C, window * layer.c, stride=window, window=window, multiple=WORD)
    components = (
        replace(component, axes=(Axis(Dim.K, layer.k), row)) if component.name == FILTER else component
        for component in operand.components
    )
    return replace(operand, components=tuple(components))
