"""The kernels of kernels/cortex_m by operator: names, operands, packed constants and forms of requantization.

Other operators are computed by kernels of kernels/pulp, which are C for any core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from match.ir.attributes import ChannelGroups
from match.ir.constants import Filters, LayerConstants
from match.ir.layer import Axis, Component, Dim, Layer, Op, Operand
from match.ir.requantization import Requantization, Requantizer
from match.target import tile_constants
from match.target.operands import FILTER, REQUANTIZATION, input_operand, output_operand, weights_operand
from match.target.tile_constants import Spans, output_spans, parameters_of
from match.targets.cortex_m import packing

WORDS = replace(
    tile_constants.HIGH, name="words", parameter_bytes=packing.WORDS.itemsize, parameter_alignment=4, lowest=None
)
"""The form of kernels that read match_arm_requant_t."""

LONG = replace(tile_constants.INT64, name="long", parameter_bytes=packing.LONG.itemsize, parameter_alignment=4)
LONG_SIGNED = replace(LONG, name="long_signed", negative_step=True)
"""Those of kernels that read match_arm_requant_long_t."""

WEIGHTED = frozenset({Op.CONV2D, Op.GROUPED_CONV2D, Op.DENSE, Op.DEPTHWISE_CONV2D})
"""Operators whose weights are packed as the core multiplies them."""

_OWN = WORDS, LONG, LONG_SIGNED
FORMS = {
    Op.CONV2D: _OWN,
    Op.GROUPED_CONV2D: _OWN,
    Op.DENSE: _OWN,
    Op.DEPTHWISE_CONV2D: _OWN,
    Op.AVG_POOL2D: _OWN,
    Op.ADD: (tile_constants.INT32, tile_constants.INT64),
}
"""What the kernels of kernels/cortex_m requantize with."""


@dataclass(frozen=True)
class Kernels:
    """The kernels of a core with the DSP extension, or with MVE (`vectors`), of `WEIGHTED` operators and of `FORMS`."""

    vectors: bool

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        """The name of a kernel of match_arm.h; also of a maximum and of a table."""
        family = "mve" if self.vectors and layer.op in WEIGHTED else "arm"
        rows = "_rows" if layer.op is Op.DENSE and layer.oy * layer.ox > 1 else ""
        wide = requantizer is not None and requantizer.name in (LONG.name, LONG_SIGNED.name, tile_constants.INT64.name)
        return f"match_{family}_{layer.op.value}{rows}{'_long' if wide else ''}"

    def operands(self, layer: Layer, requantizer: Requantizer) -> tuple[Operand, ...]:
        """Dense activations, and weights and parameters of whole groups of channels; of `WEIGHTED` and pooling."""
        multiple, row = self._multiple(layer), self._row_bytes(layer)
        each = -(-layer.get(ChannelGroups).outputs // multiple) * multiple if layer.op is Op.GROUPED_CONV2D else 1
        channels = Axis(Dim.K, layer.k, multiple=1 if layer.op is Op.GROUPED_CONV2D else multiple)
        parameters = Component(REQUANTIZATION, (channels,), each * requantizer.parameter_bytes)
        weights = (Component(FILTER, (channels,), each * row),) if layer.op in WEIGHTED else ()
        return input_operand(layer), weights_operand(*weights, parameters), output_operand(layer)

    def pack(
        self, layer: Layer, requantizer: Requantizer, constants: LayerConstants, spans: Spans
    ) -> tuple[bytes, ...]:
        """The components of the constants of the output channels in `spans`."""
        first, count = output_spans(layer, spans)[Dim.K]
        line, multiple = parameters_of(constants).take(np.arange(first, first + count)), self._multiple(layer)
        pack = packing.words if requantizer.name == WORDS.name else packing.long
        filters = constants.get(Filters)
        if filters is None or layer.op not in WEIGHTED:
            return (pack(line, 0, multiple),)
        weights = filters.values[first : first + count]
        if layer.op is Op.DEPTHWISE_CONV2D:
            parameters = pack(line, 0, multiple)
            if self.vectors:
                return packing.lanes(weights[..., 0]), packing.by_lanes(parameters, requantizer.parameter_bytes)
            return packing.paired_rows(weights[..., 0]), parameters
        groups = spans[Dim.K][1] if layer.op is Op.GROUPED_CONV2D else 1
        return self._groups(weights, line, groups, pack)

    def lag(self, layer: Layer) -> int | None:
        """Bytes by which the output has to begin before an input that lies under it; None where it must lie elsewhere.

        Kernels write an output pixel when they have read all that it sees, or byte by byte when they have read all that
        these see; MVE's depthwise one reads a pixel's channels after it wrote others of the next one.
        """
        match layer.op:
            case Op.ADD | Op.LOOKUP:
                return 0
            case Op.CONV2D | Op.AVG_POOL2D | Op.MAX_POOL2D:
                return _lag(layer, 0)
            case Op.DENSE if layer.oy * layer.ox > 1:
                return _lag(layer, 0)
            case Op.DEPTHWISE_CONV2D if self.vectors:
                return _lag(layer, 1)
            case _:
                return None

    def _groups(
        self,
        weights: npt.NDArray[np.int8],
        line: Requantization,
        groups: int,
        pack: Callable[[Requantization, packing.Addends, int], bytes],
    ) -> tuple[bytes, bytes]:
        """Filters and parameters, one group of output channels behind the other."""
        ordered = packing.vectors if self.vectors else packing.pairs
        multiple = packing.VECTOR_CHANNELS if self.vectors else packing.PAIR_CHANNELS
        filters: list[bytes] = []
        parameters: list[bytes] = []
        for channels in np.split(np.arange(len(weights)), groups):
            own = weights[channels]
            filters.append(ordered(own))
            parameters.append(pack(line.take(channels), packing.shifted_addends(own) if self.vectors else 0, multiple))
        return b"".join(filters), b"".join(parameters)

    def _multiple(self, layer: Layer) -> int:
        """How many channels have their weights and parameters packed together."""
        if layer.op is Op.DEPTHWISE_CONV2D:
            return packing.VECTOR_LANES if self.vectors else 1
        if layer.op not in WEIGHTED:
            return 1
        return packing.VECTOR_CHANNELS if self.vectors else packing.PAIR_CHANNELS

    def _row_bytes(self, layer: Layer) -> int:
        """Bytes of a channel's filter."""
        if layer.op is Op.DEPTHWISE_CONV2D:
            return layer.fy * layer.fx if self.vectors else 4 * packing.pair_words(layer.fy) * layer.fx
        values = packing.VECTOR_BYTES if self.vectors else packing.PAIR_VALUES
        return -(-layer.fy * layer.fx * layer.c // values) * values


def _lag(layer: Layer, ahead: int) -> int:
    """Bytes that are written before a pixel is computed, and `ahead` pixels more, less what is read no more by then."""
    rows = np.maximum(np.arange(layer.oy) * layer.stride[0] - layer.padding.top, 0)
    columns = np.maximum(np.arange(layer.ox) * layer.stride[1] - layer.padding.left, 0)
    read = (rows[:, np.newaxis] * layer.ix + columns).ravel() * layer.input_channels
    written = (np.arange(layer.oy * layer.ox) + ahead) * layer.output_channels
    return int(np.max(written - read, initial=0))
