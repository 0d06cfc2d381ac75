"""The constant arrays of a layer, as the network has them: what a module's `pack` makes bytes of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.ir.float_average import FloatAverage
from match.ir.float_border import FloatQuantization
from match.ir.requantization import Requantization

LOOKUP_SUM_FRACTION = 20
"""Bits after the point of what a sum of lookups and an absolute difference add up (match_pulp.h)."""

LOOKUP_LINE_FRACTION = 15
"""Bits after the point of the lines that a tensor's values choose (match_pulp.h).

Lines as steep as a whole range of outputs in one step, times 255 steps, still fit 32 bits.
"""


@dataclass(frozen=True, eq=False)
class Normalization:
    """What rows of n elements are normalized with (match_normalize_t).

    spread: epsilon as ``epsilon * (n / scale)**2`` with 8 bits after the point, at least 1.
    gains: int16, shape (n,).
    centre: the value of the input that distances are from, as it is stored; None for a row's mean.
    """

    spread: int
    gains: npt.NDArray[np.int16]
    centre: int | None = None


@dataclass(frozen=True, eq=False)
class LayerConstants:
    """Constant arrays of a layer.

    weights: int8, shape (K, FY, FX, C), for channelwise operators (K, FY, FX, 1); None without weights.
    requantization: from the int32 accumulator to the output; for an addition it has one channel, whose multiplier is 1
    in the network's own constants, and is applied to the sum of both inputs times their `addend_multipliers` (input,
    addend). For a multiplication and for matrices it has one channel, too.
    table: by operator.
        lookup: uint8, shape (256,): the output's byte for each input byte, both as unsigned numbers; of a dequantize
        float32. concatenation: one for each input, shape (2, 256).
        of int16, int32: addition, match_add_int16_t; requantize and multiplication, match_scaling_t; leaky relu, two of
        these; logistic and tanh, match_gate_int16_t; softmax, match_softmax_int16_t.
        softmax: int32, shape (3 + 256,), match_softmax_t (match_tile.h); its logarithm: shape (1 + 2 * 256,),
        match_log_softmax_t; recurrent layers: match_lstm_t, match_gru_t.
        squared difference: int16, shape (2, 256): both inputs in steps of one size.
        sum of lookups: int32, shape (2, 256): what each input adds to the output, in steps of
        ``2**-LOOKUP_SUM_FRACTION``; absolute difference: likewise, to the difference.
        looked-up line: int32, shape (2, 256), in steps of ``2**-LOOKUP_LINE_FRACTION``: the slope, then the bias of the
        line that each value of the second input chooses.
    quantization: of a quantize.
    positions: of a resize, int32, shapes (rows, 3) and (columns, 3): of each output row and column the inputs below and
    above it, and the weight of the one above in 1/1024.
    columns: of a gather, int32, shape (columns,): the input's column of each output column, or -1 for padding.
    average: of a float average.
    zero_points: of a multiplication and of matrices, what is subtracted from their two inputs.
    normalization: of a normalization.
    channel_tables: of a lookup by channel, uint8, shape (K, 256): as a lookup's `table` for each channel.
    lines: of a dequantize of sums, int32, shape (K, 3): match_dequantize_t of each channel.
    units: of recurrent layers, int8, shape (K, n): the bytes of match_lstm_unit_t or match_gru_unit_t of each unit.
    """

    weights: npt.NDArray[np.int8] | None
    requantization: Requantization | None
    addend_multipliers: tuple[int, int] | None = None
    table: npt.NDArray[np.uint8] | npt.NDArray[np.float32] | npt.NDArray[np.int32] | npt.NDArray[np.int16] | None = None
    quantization: FloatQuantization | None = None
    zero_points: tuple[int, int] | None = None
    positions: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]] | None = None
    normalization: Normalization | None = None
    channel_tables: npt.NDArray[np.uint8] | None = None
    units: npt.NDArray[np.int8] | None = None
    columns: npt.NDArray[np.int32] | None = None
    average: FloatAverage | None = None
    lines: npt.NDArray[np.int32] | None = None
