"""Recurrent cells in NumPy, from their definitions, with random parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tests.kernels.reference import Ints


@dataclass(frozen=True, eq=False)
class Curve:
    """The functions of gates between two entries of a table of 256: the logistic function, rising from a half."""

    table: Ints

    @classmethod
    def random(cls, rng: np.random.Generator) -> Curve:
        """Steeper or flatter than the logistic function."""
        rising = 65536 / (1 + np.exp(-np.arange(256) / rng.uniform(10, 40)))
        return cls(np.minimum(rising, 65535).astype(np.int64))

    def logistic(self, x: Ints) -> Ints:
        """The function of numbers in steps of 2**-12, in steps of 2**-15."""
        curve = self._between(3 * x, 9, 0x7FFF << 10)
        return np.where(x >= 0, curve + (1 << 9), (1 << 25) - curve + (1 << 9) - 1) >> 10

    def tanh(self, x: Ints) -> Ints:
        """The function of numbers in steps of a third of 2**-12, in steps of 2**-15."""
        curve = self._between(x, 8, 0xFFFF << 8)
        return np.where(x >= 0, curve - (1 << 23) + (1 << 7), -curve + (1 << 23) + (1 << 7) - 1) >> 8

    def _between(self, x: Ints, bits: int, most: int) -> Ints:
        index, rest = np.divmod(abs(x), 1 << bits)
        low, high = self.table[np.minimum(index, 254)], self.table[np.minimum(index, 254) + 1]
        return np.where(index < 255, (low << bits) + rest * (high - low), most)

    def packed(self) -> bytes:
        """As kernels read it."""
        return self.table.astype("<u2").tobytes()


@dataclass(frozen=True, eq=False)
class Lstm:
    """An LSTM as gates in the order input, forget, output, cell: weights (4, units, depth) of inputs and of states.

    offsets: (2, 4, units). scales: (10, 2), mantissas and exponents of the sums of gates over inputs, over states, of
    what is added to a cell and of an output. A cell has steps of ``2**power``.
    """

    weights: tuple[Ints, Ints]
    offsets: Ints
    scales: Ints
    power: int
    limit: int
    zero: int
    curve: Curve

    @classmethod
    def random(cls, rng: np.random.Generator, features: int, units: int) -> Lstm:
        """Gates and cells have small and large values, and some that are clipped."""
        weights = tuple(rng.integers(-128, 128, (4, units, depth)) for depth in (features, units))
        zeros = rng.integers(0, 256, 2)
        offsets = np.stack([-zero * part.sum(axis=2) for zero, part in zip(zeros, weights, strict=True)])
        offsets = offsets + rng.integers(-3000, 3000, offsets.shape)
        power = int(rng.integers(-15, 1))
        exponents = [*rng.integers(-4, 3, 8), -29 - power + int(rng.integers(-1, 2)), int(rng.integers(-24, -20))]
        return cls(
            (weights[0], weights[1]),
            offsets,
            np.stack([rng.integers(1 << 30, 1 << 31, 10), exponents], axis=1),
            power,
            int(rng.integers(1, 32767)) if rng.integers(2) else 32767,
            int(zeros[1]),
            Curve.random(rng),
        )

    def packed(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        """match_lstm_unit_t of all units, and match_lstm_t."""
        left = self.power + 12
        numbers = [max(left, 0), max(-left, 0), self.limit, self.zero]
        parameters = _scalings(self.scales) + np.array(numbers, "<i4").tobytes() + self.curve.packed()
        units = [
            self.offsets[:, :, unit].astype("<i4").tobytes()
            + b"".join(part[:, unit].astype(np.int8).tobytes() for part in self.weights)
            for unit in range(self.offsets.shape[2])
        ]
        return np.frombuffer(b"".join(units), np.uint8), np.frombuffer(parameters, np.uint8)

    def __call__(self, x: Ints, clip: tuple[int, int]) -> Ints:
        """States (steps, sequences, units) of inputs (steps, sequences, features), as TFLite Micro has them."""
        cells = np.zeros((x.shape[1], self.offsets.shape[2]), np.int64)
        states = np.full_like(cells, self.zero)
        found: list[Ints] = []
        for inputs in x:
            gates = [
                _in_16_bits(self._sum(0, gate, inputs) + self._sum(1, gate, states if found else None))
                for gate in range(4)
            ]
            let_in, forget, let_out = (self.curve.logistic(gate) for gate in gates[:3])
            kept = _in_16_bits(_multiplied(forget * cells, 1 << 30, -14))
            added = _in_16_bits(_multiplied(let_in * self.curve.tanh(3 * gates[3]), *self.scales[8]))
            cells = _in_16_bits(kept + added)
            if self.limit < 32767:
                cells = cells.clip(-self.limit, self.limit)
            shift = self.power + 12
            moved = 3 * cells << shift if shift >= 0 else (3 * cells + (1 << (-shift - 1))) >> -shift
            states = (_multiplied(let_out * self.curve.tanh(moved), *self.scales[9]) + self.zero).clip(*clip)
            found.append(states)
        return np.stack(found)

    def _sum(self, part: int, gate: int, vectors: Ints | None) -> Ints:
        if vectors is None:
            return np.zeros(1, np.int64)
        sums = vectors @ self.weights[part][gate].T + self.offsets[part, gate]
        return _in_16_bits(_multiplied(sums, *self.scales[4 * part + gate]))


class LstmInt16(Lstm):
    """One of 16 bits, whose scales of sums over inputs and states are multipliers of 15 bits and shifts."""

    @classmethod
    def random(cls, rng: np.random.Generator, features: int, units: int) -> Lstm:
        """As one of 8 bits; shifts are on both sides of 16."""
        narrow = Lstm.random(rng, features, units)
        once = np.stack([rng.integers(1 << 14, 1 << 15, 8), rng.integers(20, 28, 8)], axis=1)
        once[:, 1] = np.where(rng.random(8) < 0.2, rng.choice([14, 15, 16, 32], 8), once[:, 1])
        scales = np.concatenate([once, narrow.scales[8:]])
        scales[9, 1] = rng.integers(-16, -12)
        most = int(rng.choice([100, 1 << 20, 1 << 27]))
        return cls(
            narrow.weights,
            rng.integers(-most, most, narrow.offsets.shape),
            scales,
            narrow.power,
            narrow.limit,
            0,
            narrow.curve,
        )

    def packed(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        """The same structs; weights are int16."""
        once = [_word_of(int(multiplier), int(shift)) for multiplier, shift in self.scales[:8]]
        _, parameters = super().packed()
        parameters = parameters.copy()
        parameters[: 8 * 16] = np.array(once, "<i4").view(np.uint8).reshape(-1)
        units = [
            self.offsets[:, :, unit].astype("<i4").tobytes()
            + b"".join(part[:, unit].astype("<i2").tobytes() for part in self.weights)
            for unit in range(self.offsets.shape[2])
        ]
        return np.frombuffer(b"".join(units), np.uint8), parameters

    def _sum(self, part: int, gate: int, vectors: Ints | None) -> Ints:
        if vectors is None:
            return np.zeros(1, np.int64)
        multiplier, shift = self.scales[4 * part + gate]
        sums = vectors @ self.weights[part][gate].T + self.offsets[part, gate]
        return _in_16_bits(np.floor(sums * (multiplier / 2.0**shift) + 0.5).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Gru:
    """A GRU as gates in the order update, reset, candidate: weights (3, units, depth) of inputs and of states.

    offsets: (2, 3, units). biases: (units,), of what a candidate remembers, in steps of 2**-12. scales: (7, 2),
    mantissas and exponents of the sums of gates over inputs, over states, and of an output. reset_first: whether the
    reset gate multiplies the states, and not what their product is.
    """

    weights: tuple[Ints, Ints]
    offsets: Ints
    biases: Ints
    scales: Ints
    zero: int
    curve: Curve
    reset_first: bool = False

    @classmethod
    def random(cls, rng: np.random.Generator, features: int, units: int) -> Gru:
        """Gates have small and large values, and some that are clipped."""
        weights = tuple(rng.integers(-128, 128, (3, units, depth)) for depth in (features, units))
        zeros = rng.integers(0, 256, 2)
        offsets = np.stack([-zero * part.sum(axis=2) for zero, part in zip(zeros, weights, strict=True)])
        exponents = [*rng.integers(-4, 3, 6), int(rng.integers(-10, -6))]
        return cls(
            (weights[0], weights[1]),
            offsets + rng.integers(-3000, 3000, offsets.shape),
            rng.integers(-20000, 20000, units),
            np.stack([rng.integers(1 << 30, 1 << 31, 7), exponents], axis=1),
            int(zeros[1]),
            Curve.random(rng),
        )

    def packed(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        """match_gru_unit_t of all units, and match_gru_t."""
        parameters = _scalings(self.scales) + np.array([self.zero], "<i4").tobytes() + self.curve.packed()
        units: list[bytes] = []
        for unit, bias in enumerate(self.biases):
            numbers = np.array([*self.offsets[:, :, unit].reshape(-1), bias], "<i4").tobytes()
            rows = (part[:, unit].astype(np.int8).tobytes() for part in self.weights)
            units += [numbers, *(row + bytes(-len(row) % 4) for row in rows)]
        return np.frombuffer(b"".join(units), np.uint8), np.frombuffer(parameters, np.uint8)

    def __call__(self, x: Ints, clip: tuple[int, int]) -> Ints:
        """States (steps, sequences, units) of inputs (steps, sequences, features), in the output's steps."""
        exact = np.zeros((x.shape[1], self.offsets.shape[2]), np.int64)
        found: list[Ints] = []
        for inputs in x:
            update, reset, candidate = (self._sum(0, gate, inputs) for gate in range(3))
            if found:
                update = update + self._sum(1, 0, found[-1])
                reset = reset + self._sum(1, 1, found[-1])
            keep, let_in = (self.curve.logistic(_in_16_bits(gate)) for gate in (update, reset))
            remembered = self.biases
            if found:
                left = self._shown(_of_one(let_in * exact), clip) if self.reset_first else found[-1]
                remembered = remembered + self._sum(1, 2, left)
            if not self.reset_first:
                remembered = _of_one(let_in * _in_16_bits(remembered))
            fresh = self.curve.tanh(3 * _in_16_bits(candidate + remembered))
            exact = fresh + _of_one(keep * (exact - fresh))
            found.append(self._shown(exact, clip))
        return np.stack(found)

    def _shown(self, exact: Ints, clip: tuple[int, int]) -> Ints:
        return (_multiplied(exact, *self.scales[6]) + self.zero).clip(*clip)

    def _sum(self, part: int, gate: int, vectors: Ints) -> Ints:
        sums = vectors @ self.weights[part][gate].T + self.offsets[part, gate]
        return _multiplied(sums, *self.scales[3 * part + gate])


class GruResetFirst(Gru):
    """One whose reset gate comes first."""

    @classmethod
    def random(cls, rng: np.random.Generator, features: int, units: int) -> Gru:
        """As any other."""
        return replace(Gru.random(rng, features, units), reset_first=True)


def _scalings(scales: Ints) -> bytes:
    """match_scaling_t of mantissas and exponents."""
    words = [
        (mantissa, max(exponent, 0) + 1, max(-exponent, 0), 1 << -exponent - 1 if exponent < 0 else 0)
        for mantissa, exponent in scales.tolist()
    ]
    return np.array(words, "<i4").tobytes()


def _word_of(multiplier: int, shift: int) -> tuple[int, int, int, int]:
    """match_scaling_t of a product that is shifted by at most 32 bits and rounded once."""
    left = max(16 - shift, 0)
    return multiplier << (32 - shift - left), left, 0, 0


def _of_one(x: Ints) -> Ints:
    """Divided by 2**15 and rounded half up."""
    return np.floor(x / 2**15 + 0.5).astype(np.int64)


def _in_16_bits(x: Ints) -> Ints:
    return x.clip(-32768, 32767)


def _multiplied(x: Ints, mantissa: int, exponent: int) -> Ints:
    """MultiplyByQuantizedMultiplier of gemmlowp, of numbers of 32 bits."""
    product = (x << max(exponent, 0)) * mantissa
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    high = np.sign(nudged) * (abs(nudged) >> 31)  # a division that cuts off towards zero
    bits = max(-exponent, 0)
    mask = (1 << bits) - 1
    return (high >> bits) + ((high & mask) > (mask >> 1) + (high < 0))
