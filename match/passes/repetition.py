"""What repeats elements or whole axes, as concatenations: maps enlarged by whole factors, and `tile`.

A nearest-neighbour resize by whole factors takes the elements of an axis by indices 0, 0, 1, 1, ... What is repeated is
that element with all that lies behind the axis: the tensor, seen as a matrix, concatenated with itself. `tile` repeats
an axis with all that lies behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from match.relay import relay, tvm
from match.relay.rewrite import New, constant, is_8bit, is_call, rewrite, shape

_HALF = Fraction(1, 2)
_POSITIONS: Mapping[str, Callable[[int, int], Fraction]] = {
    "asymmetric": Fraction,
    "half_pixel": lambda index, factor: (index + _HALF) / factor - _HALF,
    "pytorch_half_pixel": lambda index, factor: (index + _HALF) / factor - _HALF,
}
"""Where an output lies on the input, by the mode of coordinates, as ONNX defines them."""

_ROUNDINGS: Mapping[str, Callable[[Fraction], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round_prefer_floor": lambda position: math.ceil(position - _HALF),
    "round_prefer_ceil": lambda position: math.floor(position + _HALF),
}


def nearest_factors(resize: relay.Call) -> Mapping[int, int] | None:
    """By axis, how often an `image.resize2d` repeats each row and column; None if it does anything else."""
    attrs = resize.attrs
    position = _POSITIONS.get(str(attrs.coordinate_transformation_mode))
    rounding = _ROUNDINGS.get(str(attrs.rounding_method))
    if str(attrs.method) != "nearest_neighbor" or position is None or rounding is None:
        return None
    factors: dict[int, int] = {}
    for axis in (str(attrs.layout).index(letter) for letter in "HW"):
        before, after = shape(resize.args[0])[axis], shape(resize)[axis]
        factor, rest = divmod(after, before)
        if rest:
            return None
        sources = [min(max(rounding(position(index, factor)), 0), before - 1) for index in range(after)]
        if sources != [index // factor for index in range(after)]:
            return None
        factors[axis] = factor
    return factors


def enlarged(x: relay.Expr, resize: relay.Call) -> relay.Expr:
    """A tensor of the shape that `resize` takes, with rows and columns repeated as `nearest_factors` says."""
    for axis, factor in (nearest_factors(resize) or {}).items():
        if factor > 1:
            indices = np.repeat(np.arange(shape(resize.args[0])[axis], dtype=np.int32), factor)
            x = relay.take(x, relay.const(indices), axis=axis)
    return x


@dataclass(frozen=True)
class ConcatenateRepetitions:
    """Makes concatenations of two tensors each of what repeats 8-bit tensors.

    That is each `take` that repeats all elements of an axis, and each `tile`.
    """

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    return _tiled(call, new) if is_call(call, "tile") else _taken(call, new)


def _tiled(call: relay.Call, new: New) -> relay.Expr | None:
    before, times = list(shape(call.args[0])), [int(times) for times in call.attrs.reps]
    if not is_8bit(call) or len(before) != len(times) or 0 in shape(call):
        return None
    x = new(call.args[0])
    for axis, factor in enumerate(times):
        if factor > 1:
            matrix = relay.reshape(x, (math.prod(before[:axis]), math.prod(before[axis:])))
            before[axis] *= factor
            x = relay.reshape(_repeated(matrix, factor), before)
    return x


def _taken(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "take") or call.attrs.axis is None or not is_8bit(call):
        return None
    indices, before = constant(call.args[1]), shape(call.args[0])
    axis = int(call.attrs.axis) % len(before)
    if indices is None or indices.ndim != 1 or indices.size <= before[axis]:
        return None
    factor = indices.size // before[axis]
    if not np.array_equal(indices, np.repeat(np.arange(before[axis]), factor)):
        return None
    inner = math.prod(before[axis + 1 :])
    matrix = relay.reshape(new(call.args[0]), (math.prod(before[: axis + 1]), inner))
    return relay.reshape(_repeated(matrix, factor), shape(call))


def _repeated(matrix: relay.Expr, times: int) -> relay.Expr:
    """A matrix beside itself, so many times."""
    if times == 1:
        return matrix
    half = _repeated(matrix, times // 2)
    twice = relay.concatenate([half, half], axis=1)
    return relay.concatenate([twice, matrix], axis=1) if times % 2 else twice
