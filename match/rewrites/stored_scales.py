"""How the tensors of a network are stored on a machine that adds without factors and pads with zeros."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.graph.maximum import Maximum
from match.graph.moves import Move
from match.graph.operator import Operator
from match.graph.pairs import Addition
from match.graph.sums import Accumulation, Average, Convolution
from match.graph.value import Graph, Value
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array

SIGNED, UNSIGNED = (-128, 127), (0, 127)
"""The ranges of stored values: all of int8, and what a ReLU leaves."""

_NARROW = "int8", "uint8"

_NEAR = 0.5
"""Steps that a zero may be above the smallest value of an unsigned tensor."""


@dataclass(frozen=True)
class Stored:
    """A tensor stored in int8 as ``clip(round(factor * value + offset))``."""

    factor: float
    offset: float
    clip: tuple[int, int]

    @property
    def same(self) -> bool:
        """Whether int8 values are stored as they are."""
        return (self.factor, self.offset) == (1.0, 0.0)

    def of(self, values: npt.NDArray[Any]) -> Int64Array:
        """What values are stored as."""
        return np.clip(np.floor(self.factor * values + self.offset + 0.5), *self.clip).astype(np.int64)

    def values(self, stored: Int64Array) -> npt.NDArray[np.float64]:
        """The real values of what is stored, in steps of the network's own tensor."""
        return np.asarray((stored - self.offset) / self.factor, np.float64)


def is_stored_as_input(operator: Operator | None) -> bool:
    """Whether an operator's output is stored as its input is."""
    return isinstance(operator, (Move, Maximum)) and operator.padding_value is None


def origin(value: Value) -> Value:
    """What computed the elements of a tensor."""
    while is_stored_as_input(value.operator):
        value = value.inputs[0]
    return value


def limits(value: Value) -> tuple[int, int]:
    """The smallest and the largest number that a tensor can have."""
    operator = value.operator
    if isinstance(operator, Accumulation):
        return operator.requantization.clip
    return operator.clip if isinstance(operator, Addition) else value_range(value.dtype)


Tensor = Value | tuple[Value, Value]
"""A tensor by its `origin`, or the copy of it that an addition reads: (addition, origin)."""


@dataclass(frozen=True, eq=False)
class _Sum:
    """An addition, what it is and what it reads."""

    total: Value
    addition: Addition
    operands: tuple[Tensor, Tensor]


def stored_scales(graph: Graph) -> dict[Tensor, Stored]:
    """How each tensor that a convolution, dense layer or addition reads or writes is stored.

    The zero point of an input that is padded is 0. An addition adds stored values as they are: its operands and its
    result have one scale, and their zero points are 0. A layer may read an operand of an addition, too; if half of
    its scale or less is enough for that layer, the addition reads a copy. All other tensors keep their values; unsigned
    values are stored 128 lower.
    """
    found: dict[Value, None] = {}
    read: set[Value] = set()
    zeros: dict[Tensor, float] = {}
    sums: dict[Tensor, _Sum] = {}

    for value in graph.values:
        operator = value.operator
        if isinstance(operator, Addition):
            first, second = map(origin, value.inputs)
            sums[value] = _Sum(value, operator, (first, second))
            found.update(dict.fromkeys((first, second, value)))
        elif isinstance(operator, Accumulation) and not isinstance(operator, Average) and value.dtype in _NARROW:
            x = origin(value.inputs[0])
            read.add(x)
            found.update(dict.fromkeys((x, value)))
            if isinstance(operator, Convolution) and any(operator.padding):
                zeros.setdefault(x, operator.pad_value)
    joined = _all(found, zeros, sums)
    for total, one in sums.items():
        parts: list[Tensor] = [
            (one.total, part) if part in read and len(part.shape) == 4 and _coarse(part, joined, zeros) else part
            for part in one.operands
        ]
        sums[total] = _Sum(one.total, one.addition, (parts[0], parts[1]))
    return _all(found, zeros, sums)


def _coarse(tensor: Tensor, stored: Mapping[Tensor, Stored], zeros: Mapping[Tensor, float]) -> bool:
    """Whether additions cost a tensor more than half of the scale that it would have without them."""
    own = _all([tensor], zeros, {})[tensor]
    return 2 * stored[tensor].factor < own.factor


def _all(tensors: Iterable[Tensor], zeros: Mapping[Tensor, float], sums: Mapping[Tensor, _Sum]) -> dict[Tensor, Stored]:
    stored: dict[Tensor, Stored] = {}
    for tensor in tensors:
        if tensor not in stored:
            steps = _joined(tensor, sums)
            stored |= _shared(steps, zeros, sums) if len(steps) > 1 or tensor in zeros else {tensor: _alone(tensor)}
    return stored


def _alone(tensor: Tensor) -> Stored:
    low, high = _values(tensor)
    if (low, high) in (SIGNED, UNSIGNED) or high <= low:
        return Stored(1.0, 0.0, (low, high) if (low, high) == UNSIGNED else SIGNED)
    factor = (SIGNED[1] - SIGNED[0]) / (high - low)
    return Stored(factor, SIGNED[0] - factor * low, SIGNED)


def _values(tensor: Tensor) -> tuple[int, int]:
    return limits(tensor[1] if isinstance(tensor, tuple) else tensor)


def _joined(tensor: Tensor, sums: Mapping[Tensor, _Sum]) -> dict[Tensor, float]:
    """The tensors that additions join with one, and the size of their steps in those of the first."""
    steps, waiting = {tensor: 1.0}, [tensor]
    while waiting:
        current = waiting.pop()
        for total, one in sums.items():
            shares = [multiplier / 2.0**one.addition.shift for multiplier in one.addition.multipliers]
            members: dict[Tensor, float] = {**dict(zip(one.operands, shares, strict=True)), total: 1.0}
            if current in members:
                new = [member for member in members if member not in steps]
                steps.update({member: steps[current] * members[member] / members[current] for member in new})
                waiting += new
    return steps


def _shared(
    steps: Mapping[Tensor, float], zeros: Mapping[Tensor, float], sums: Mapping[Tensor, _Sum]
) -> dict[Tensor, Stored]:
    """Tensors of one scale with their zeros at 0: the largest scale at which nothing more is clipped."""
    guesses = [_zeros(steps, zeros, sums, unsigned=unsigned) for unsigned in (True, False)]
    scale, known = max(((_scale(steps, known), known) for known in guesses), key=lambda guess: guess[0])
    return {
        tensor: Stored(
            scale * step, -scale * step * known[tensor], UNSIGNED if _unsigned(tensor, known[tensor]) else SIGNED
        )
        for tensor, step in steps.items()
    }


def _zeros(
    steps: Mapping[Tensor, float], given: Mapping[Tensor, float], sums: Mapping[Tensor, _Sum], *, unsigned: bool
) -> dict[Tensor, float]:
    """The zeros of all tensors: those given, those that follow from additions, and a choice where that leaves one.

    The choice is the middle of a tensor's values or, where `unsigned`, the smallest value of a sum.
    """
    known = {tensor: given[tensor] for tensor in steps if tensor in given}
    _follow(known, steps, sums)
    for tensor in sorted(steps, key=lambda tensor: (tensor in sums) != unsigned):
        if tensor not in known:
            low, high = _values(tensor)
            known[tensor] = low if unsigned and tensor in sums else (low + high) // 2
            _follow(known, steps, sums)
    return known


def _follow(known: dict[Tensor, float], steps: Mapping[Tensor, float], sums: Mapping[Tensor, _Sum]) -> None:
    """Add the zeros that additions leave one choice for."""
    changed = True
    while changed:
        changed = False
        for total, one in sums.items():
            signs = {one.operands[0]: 1.0, one.operands[1]: 1.0, total: -1.0}
            missing = [part for part in signs if part not in known]
            if total not in steps or len(missing) != 1 or len(signs) < 3:
                continue
            # step * (total - zero) is the sum of the operands' own; the addition's bias has half a step to round.
            rest = steps[total] * (one.addition.bias / 2.0**one.addition.shift - 0.5)
            rest += sum(sign * steps[part] * known[part] for part, sign in signs.items() if part in known)
            known[missing[0]] = -rest / (signs[missing[0]] * steps[missing[0]])
            changed = True


def _unsigned(tensor: Tensor, zero: float) -> bool:
    return _values(tensor)[0] > zero - _NEAR


def _scale(steps: Mapping[Tensor, float], zeros: Mapping[Tensor, float]) -> float:
    limits: list[float] = []
    for tensor, step in steps.items():
        (low, high), zero = _values(tensor), zeros[tensor]
        limits.append(SIGNED[1] / max(high - zero, 1.0) / step)
        if not _unsigned(tensor, zero):
            limits.append(-SIGNED[0] / max(zero - low, 1.0) / step)
    return min(limits)
