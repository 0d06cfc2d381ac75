"""Recurrent layers in integers: all steps of a layer of cells.

A gate's sums over the inputs and over the states of the step before become 16 bits each, in steps of 2**-12. The
logistic function and the hyperbolic tangent give 16 bits in steps of 2**-15. `match.relay.lstm` and `match.relay.gru`
define the arithmetic of a step.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from match.arithmetic import recurrent
from match.arithmetic.recurrent import scaled_sums
from match.arithmetic.tflite import multiply_by, reduced
from match.arithmetic.tflite_functions import logistic_of_16_bits
from match.graph.layers import element_wise, scaling_words
from match.graph.operator import Array, Described, Known, Operator, Stored
from match.ir.constants import Cells, LayerConstants, Structure
from match.ir.deviation import Deviation
from match.ir.dtypes import value_range
from match.ir.graph import Tensor
from match.ir.layer import Op
from match.ir.requantization import Int64Array

Int8Array = npt.NDArray[np.int8]

GATE_POWER = -12
"""Sums of gates have steps of ``2**GATE_POWER``."""

FUNCTION_POWER = -15
"""What the functions of gates give has steps of ``2**FUNCTION_POWER``."""

MOST = 32767
"""The largest 16-bit number: the limit of cells that are not clipped further."""

POWERS = -15, 0
"""Smallest and largest exponent of a cell's step, a power of two."""

ALL_GATES = slice(None)

BEFORE_CANDIDATE, CANDIDATE = slice(2), slice(2, 3)
"""Gates of a GRU."""

_HALF = 1 << (-FUNCTION_POWER - 1)

_BITS = 32
"""Bits of the numbers that kernels multiply with a mantissa, and of the word of the product that is left."""

_LARGEST_SUM = 1 << 29
"""The largest magnitude of a gate after scaling: half of what a kernel adds two of."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Recurrent(Operator):
    """All steps of a layer of cells with some gates, over x (steps, batch, features) of 8 or 16 bits.

    input_weights, state_weights: int8, shapes (gates, units, features) and (gates, units, units).
    offsets: shape (2, gates, units), added to the sums over x and over states, which they free of zero points.
    scales: shape (2 * gates + others, 2), mantissa and exponent of TFLite's multipliers: of the gates' sums over x,
        over states, and of what a kind of cells has beside them, that of an output at the end.
    zero: the output's, of type `dtype`, which has as many bits as x.
    deviation: by how much outputs differ from the reference's, which computes the layer in floating point; None where
        these integers are the reference's.
    """

    input_weights: Int8Array
    state_weights: Int8Array
    offsets: Int64Array
    scales: Int64Array
    zero: int
    dtype: str
    deviation: Deviation | None = None

    @property
    def gates(self) -> int:
        """Gates of each unit."""
        return self.input_weights.shape[0]

    @property
    def units(self) -> int:
        """Cells, and channels of the output."""
        return self.input_weights.shape[1]

    @property
    @abstractmethod
    def _op(self) -> Op:
        """What it is as a layer."""

    @property
    def _unit_numbers(self) -> list[Int64Array]:
        """What each unit has beside its weights, arrays of shape (units, n)."""
        return [self.offsets.transpose(2, 0, 1).reshape(self.units, -1)]

    @property
    def _cell_numbers(self) -> list[int]:
        """What all cells have beside scales and the output's zero."""
        return []

    def result(self, *inputs: Tensor) -> Tensor:
        """The states of all steps, shape (steps, batch, units)."""
        steps, batch, _ = inputs[0].shape
        return Tensor((steps, batch, self.units), self.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The states of all steps."""
        return self.states(inputs[0].astype(np.int64)).astype(self.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Offsets take off what sums grow by; states are activations, too. Those of 16 bits stay."""
        if self.dtype == "int16":
            return self
        pairs = (self.input_weights, inputs[0].more), (self.state_weights, more or 0)
        growth = np.stack([weights.sum(axis=2, dtype=np.int64) * each for weights, each in pairs])
        dtype = self.dtype if more is None else "uint8"
        return replace(self, offsets=self.offsets - growth, zero=self.zero + (more or 0), dtype=dtype)

    def states(self, levels: Int64Array) -> Int64Array:
        """The states of all steps of integer inputs, both (steps, batch, ...)."""
        memory = np.zeros((levels.shape[1], self.units), np.int64)
        state: Int64Array | None = None
        found: list[Int64Array] = []
        for inputs in levels:
            memory, outputs = self.next(self.scaled_sums(inputs, 0), state, memory)
            state = self.levels(outputs)
            found.append(state)
        return np.stack(found)

    @abstractmethod
    def next(self, fed: Int64Array, state: Int64Array | None, memory: Int64Array) -> tuple[Int64Array, Int64Array]:
        """What cells remember after a step, and their outputs before these are scaled.

        `fed` are the scaled sums over inputs, shape (gates, batch, units); `state` and `memory` are those after the
        step before. In the first step there is no state, and `memory` is zero.
        """

    def scaled_sums(self, vectors: Int64Array, part: int, gates: slice = ALL_GATES) -> Int64Array:
        """The sums of gates over inputs (part 0) or states (1), in steps of 2**-12, shape (gates, batch, units)."""
        return scaled_sums(vectors, *self.part(part, gates), int16=self.dtype == "int16")

    def levels(self, outputs: Int64Array) -> Int64Array:
        """Outputs of cells, scaled."""
        return (multiply_by(outputs, *self.scales[-1]) + self.zero).clip(*value_range(self.dtype))

    def part(self, part: int, gates: slice) -> tuple[Int8Array, Int64Array, Int64Array]:
        """The weights, offsets and scales of gates' sums."""
        weights = (self.input_weights, self.state_weights)[part]
        scales = self.scales[self.gates * part :][: self.gates]
        return weights[gates], self.offsets[part, gates], scales[gates]

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described:
        """All steps of the layer; it `fits`."""
        (x,) = inputs
        layer = element_wise(self._op, result.shape, x.dtype, result.dtype)
        layer = replace(layer, c=x.shape[2], weight_dtype="int8", clip=value_range(result.dtype))
        return Described(layer, LayerConstants(Cells(self._structure(), self._units())))

    def fits(self, x_dtype: str) -> bool:
        """Whether all sums that can occur fit 32 bits before and after scaling, as kernels need."""
        sums = zip((self.input_weights, self.state_weights), self.offsets, (x_dtype, self.dtype), strict=True)
        largest: list[int] = []
        for weights, offsets, kind in sums:
            low, high = value_range(kind)
            ends = weights.astype(np.int64) * low, weights.astype(np.int64) * high
            most, least = np.maximum(*ends).sum(axis=2) + offsets, np.minimum(*ends).sum(axis=2) + offsets
            largest += np.maximum(np.abs(most), np.abs(least)).max(axis=1).tolist()
        scales = self.scales.tolist()
        gates = zip(largest, scales, strict=False)
        if any(most * mantissa * 2.0 ** (exponent - 31) > _LARGEST_SUM for most, (mantissa, exponent) in gates):
            return False
        largest += [(1 << 30) - 1] * (len(scales) - len(largest))  # products of two functions
        words = self._scalings()
        return words is not None and all(
            most << left < 1 << (_BITS - 1) for most, left in zip(largest, words[:, 1].tolist(), strict=True)
        )

    def _units(self) -> npt.NDArray[np.int8]:
        """match_lstm_unit_t or match_gru_unit_t of each unit, shape (units, bytes)."""
        words = np.ascontiguousarray(np.concatenate(self._unit_numbers, axis=1), "<i4")
        kind = np.dtype("<i2" if self.dtype == "int16" else np.int8)
        rows = (each.transpose(1, 0, 2).reshape(self.units, -1) for each in (self.input_weights, self.state_weights))
        weights = (each.astype(kind).view(np.int8) for each in rows)
        whole = (np.pad(each, [(0, 0), (0, -each.shape[1] % 4)]) for each in weights)
        return np.concatenate([words.view(np.int8), *whole], axis=1)

    def _structure(self) -> Structure:
        """match_lstm_t or match_gru_t."""
        scales = self._scalings()
        assert scales is not None, "only layers that fit become layers of modules"
        logistic = logistic_of_16_bits().astype("<u2").view("<i4")
        words = np.concatenate([scales.reshape(-1), [*self._cell_numbers, self.zero], logistic]).astype(np.int32)
        return Structure(words, f"match_{self.called}_t")

    def _scalings(self) -> npt.NDArray[np.int32] | None:
        """match_scaling_t of each of the layer's scales, shape (scales, 4); None if kernels lack one.

        Sums of 16 bits are multiplied by 15 bits of a mantissa, shifted by at most a word, and rounded once.
        """
        words = scaling_words(*self.scales.T)
        if self.dtype == "int16":
            gates = 2 * self.gates
            multiplier, shift = reduced(*self.scales[:gates].T)
            if np.any(shift > _BITS):
                return None
            left = np.maximum(_BITS // 2 - shift, 0)
            words[:gates] = scaling_words(multiplier << _BITS - shift - left, np.zeros_like(left), left - 1)
        return words


@dataclass(frozen=True, eq=False, kw_only=True)
class Lstm(Recurrent):
    """A layer of LSTM cells; gates are in the order input, forget, output, cell.

    scales: shape (10, 2): after those of gates those of what a step adds to a cell, and of what it shows of a cell.
    power: a cell has steps of ``2**power``. limit: its largest magnitude.
    """

    called: ClassVar[str] = "lstm"

    power: int
    limit: int

    @property
    def _op(self) -> Op:
        return Op.LSTM

    @property
    def _cell_numbers(self) -> list[int]:
        left = tanh_shift(self.power)
        return [max(left, 0), max(-left, 0), self.limit]

    def next(self, fed: Int64Array, state: Int64Array | None, memory: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Cells, and what they show."""
        sums = recurrent.narrow(fed)
        if state is not None:
            sums = recurrent.narrow(sums + recurrent.narrow(self.scaled_sums(state, 1)))
        let_in, forget, let_out = recurrent.logistic_in_16_bits(sums[:3])
        kept = recurrent.narrow(multiply_by(forget * memory, *np.array([1 << 30, FUNCTION_POWER + 1])))
        added = multiply_by(let_in * recurrent.tanh_in_table(3 * sums[3]), *self.scales[-2])
        memory = recurrent.narrow(kept + recurrent.narrow(added)).clip(-self.limit - (self.limit == MOST), self.limit)
        left = tanh_shift(self.power)
        moved = 3 * memory << left if left >= 0 else (3 * memory + (1 << (-left - 1))) >> -left
        return memory, recurrent.tanh_in_table(moved) * let_out


@dataclass(frozen=True, eq=False, kw_only=True)
class Gru(Recurrent):
    """A layer of GRU cells; gates are in the order update, reset, candidate.

    scales: shape (7, 2): after those of gates that of an output.
    biases: b, shape (units,), in steps of 2**-12.
    reset_first: whether the reset gate multiplies the states before their product with weights, or that product.
    """

    called: ClassVar[str] = "gru"

    biases: Int64Array
    reset_first: bool = False

    @property
    def _op(self) -> Op:
        return Op.GRU_RESET_FIRST if self.reset_first else Op.GRU

    @property
    def _unit_numbers(self) -> list[Int64Array]:
        return [*super()._unit_numbers, self.biases.reshape(-1, 1)]

    def next(self, fed: Int64Array, state: Int64Array | None, memory: Int64Array) -> tuple[Int64Array, Int64Array]:
        """States with 16 bits, twice."""
        gates, remembered = fed[:2], self.biases
        if state is not None:
            gates = gates + self.scaled_sums(state, 1, BEFORE_CANDIDATE)
            if not self.reset_first:
                remembered = remembered + self.scaled_sums(state, 1, CANDIDATE)[0]
        update, reset = recurrent.logistic_in_16_bits(recurrent.narrow(gates))
        if not self.reset_first:
            remembered = (reset * recurrent.narrow(remembered) + _HALF) >> -FUNCTION_POWER
        elif state is not None:
            left = self.levels((reset * memory + _HALF) >> -FUNCTION_POWER)
            remembered = remembered + self.scaled_sums(left, 1, CANDIDATE)[0]
        fresh = recurrent.tanh_in_table(3 * recurrent.narrow(fed[2] + remembered))
        memory = fresh + ((update * (memory - fresh) + _HALF) >> -FUNCTION_POWER)
        return memory, memory


def tanh_shift(power: int) -> int:
    """By how many bits numbers in steps of ``2**power``, times 3, are shifted left for the table of the tangent."""
    return power - GATE_POWER
