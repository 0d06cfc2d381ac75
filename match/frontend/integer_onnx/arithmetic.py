"""What brings sums back to 8 bits: multiplications, additions, divisions by powers of two, clips."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.frontend.integer_onnx.values import (
    SIGNED,
    UNSIGNED,
    WIDE,
    IntegerReader,
    Integers,
    rounded,
    wide_constant,
)
from match.frontend.onnx_graph import Node
from match.graph.integers import Clip
from match.graph.make import arithmetic, cast
from match.graph.value import Value, computed

ADD_ATTRIBUTES = frozenset(
    f"{side}_{part}" for side in ("in1", "in2", "out") for part in ("mul", "add", "shift", "n_levels", "rq")
)
"""Those of an addition with requantization, which must all be there; `SIGNED_SUM` may be left out."""

SIGNED_SUM = "out_signed"

_LARGEST_SHIFT = 62


def mul(read: IntegerReader, node: Node) -> Integers:
    """Mul by a constant; a factor that an outstanding division divides cancels it."""
    position = 1 if read.constant(node, 1) is not None else 0
    factor, x = read.constant(node, position), read.wide(node, 1 - position)
    if factor is None:
        raise read.error(node, "multiplies two tensors; only constant factors are supported")
    values = read.integers(node, factor)
    if x.divisor > 1 and not np.any(values % x.divisor):
        values, x = values // x.divisor, replace(x, divisor=1)
    whole = rounded(x)
    return Integers(arithmetic("multiply", whole, read.parameter(node, values, whole)))


def add(read: IntegerReader, node: Node) -> Integers:
    """Add of a constant, of two tensors, or Quantlab's with requantization in attributes."""
    if any(name in node.attributes for name in (*ADD_ATTRIBUTES, SIGNED_SUM)):
        return _requantized_add(read, node)
    position = 1 if read.constant(node, 1) is not None else 0
    term = read.constant(node, position)
    if term is None:
        a, b = (rounded(read.wide(node, side)) for side in (0, 1))
        _check_alike(read, node, a, b)
        return Integers(arithmetic("add", a, b))
    x = read.wide(node, 1 - position)
    # Behind a division the term is in units of the quotient: 0.5 there makes it round half up.
    return replace(x, value=arithmetic("add", x.value, read.parameter(node, term, x.value, x.divisor)))


def _check_alike(read: IntegerReader, node: Node, a: Value, b: Value) -> None:
    if a.shape != b.shape:
        raise read.error(node, f"adds tensors of shapes {list(a.shape)} and {list(b.shape)}; make them equal")


def _requantized_add(read: IntegerReader, node: Node) -> Integers:
    """Quantlab's addition: each operand and the sum go through a RequantShift of their own, given as attributes."""
    for name in sorted(ADD_ATTRIBUTES):
        read.attribute(node, name)
    operands = [read.tensor(node, position).value for position in (0, 1)]
    _check_alike(read, node, *operands)
    parts: list[Value] = []
    for position, side in enumerate(("in1", "in2")):
        x = rounded(read.wide(node, position))
        if read.number(node, f"{side}_rq"):
            limits = _limits(read, node, f"{side}_n_levels", signed=operands[position].dtype == "int8")
            x = computed(Clip(limits=limits, dtype=WIDE), _requantized_side(read, node, side, x))
        parts.append(x)
    total = arithmetic("add", *parts)
    if read.number(node, "out_rq"):
        total = _requantized_side(read, node, "out", total)
    signed = (
        read.number(node, SIGNED_SUM) if SIGNED_SUM in node.attributes else any(x.dtype == "int8" for x in operands)
    )
    return _clipped(read, node, total, *_limits(read, node, "out_n_levels", signed=bool(signed)))


def _limits(read: IntegerReader, node: Node, name: str, *, signed: bool) -> tuple[int, int]:
    """The least and the largest of so many integers as an attribute says."""
    levels = read.number(node, name)
    if levels < 1 + signed:
        raise read.error(node, f"has {name} of {levels}, which leaves no integer; export the model again")
    return (-(levels // 2), levels // 2 - 1) if signed else (0, levels - 1)


def _requantized_side(read: IntegerReader, node: Node, side: str, x: Value) -> Value:
    mul, add, shift = (read.number(node, f"{side}_{part}") for part in ("mul", "add", "shift"))
    if not 0 <= shift <= _LARGEST_SHIFT:
        raise read.error(node, f"shifts by {shift}; only shifts by 0 to {_LARGEST_SHIFT} are supported")
    scaled = arithmetic("multiply", x, wide_constant(mul))
    half = (1 << shift) >> 1
    return arithmetic("right_shift", arithmetic("add", scaled, wide_constant(add + half)), wide_constant(shift))


def div(read: IntegerReader, node: Node) -> Integers:
    """Div by a power of two; how it is rounded follows."""
    x, divisor = read.wide(node), read.constant(node, 1)
    if divisor is None or divisor.size != 1:
        raise read.error(node, "divides by something else than one constant; use a power of two")
    number = _power_of_two(read, node, int(read.integers(node, divisor).item()))
    if x.divisor * number > 1 << _LARGEST_SHIFT:
        raise read.error(node, f"divides sums by {x.divisor * number} in all; 64 bits hold no such number")
    return replace(x, divisor=x.divisor * number)


def _power_of_two(read: IntegerReader, node: Node, divisor: int) -> int:
    if divisor < 1 or divisor & (divisor - 1):
        raise read.error(node, f"divides by {divisor}; only powers of two are supported")
    return divisor


def floor(read: IntegerReader, node: Node) -> Integers:
    """Floor."""
    x = read.tensor(node)
    return replace(x, value=rounded(x), divisor=1)


def clip(read: IntegerReader, node: Node) -> Integers:
    """Clip to the range of the activations, whose type follows from it."""
    bounds: list[int] = []
    for position, name in enumerate(("min", "max"), 1):
        bound = read.constant(node, position)
        bound = np.asarray(node.attributes[name]) if bound is None and name in node.attributes else bound
        if bound is None or bound.size != 1:
            raise read.error(node, f"has no constant {name}; clip to the range of the activations")
        bounds.append(int(read.integers(node, bound).reshape(-1)[0]))
    return _clipped(read, node, rounded(read.wide(node)), bounds[0], bounds[1])


def relu(read: IntegerReader, node: Node) -> Integers:
    """Relu."""
    x = read.tensor(node)
    if x.is_wide:
        return replace(x, value=arithmetic("maximum", x.value, wide_constant(0)))
    return x if x.value.dtype == "uint8" else _clipped(read, node, cast(x.value, WIDE), 0, SIGNED[1])


def _clipped(read: IntegerReader, node: Node, x: Value, low: int, high: int) -> Integers:
    """The value saturated to 8 bits: unsigned if nothing is below 0, else signed."""
    if not (0 <= low <= high <= UNSIGNED[1] or SIGNED[0] <= low <= high <= SIGNED[1]):
        raise read.error(node, f"clips to {low} .. {high}, which 8 bits do not hold; use 8 bits or fewer")
    limited = computed(Clip(limits=(low, high), dtype=WIDE), x)
    return Integers(cast(limited, "uint8" if low >= 0 else "int8"))


def requant_shift(read: IntegerReader, node: Node) -> Integers:
    """Quantlab's requantization, which rounds half up without saying so: floor((x * mul + add) / div + 1/2)."""
    x = rounded(read.wide(node))
    mul, add = read.constant(node, 1), read.constant(node, 2)
    if mul is None or add is None:
        raise read.error(node, "has no constant multiplier or summand; export the model again")
    div, signed = _power_of_two(read, node, read.number(node, "div")), bool(read.number(node, "signed"))
    scaled = arithmetic("multiply", x, read.parameter(node, mul, x))
    halved = arithmetic("add", arithmetic("add", scaled, read.parameter(node, add, x)), wide_constant(div >> 1))
    return _clipped(read, node, rounded(Integers(halved, div)), *_limits(read, node, "n_levels_out", signed=signed))
