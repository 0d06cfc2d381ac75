"""What brings sums back to 8 bits: multiplications, additions, divisions by powers of two, clips."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.frontend.integer_onnx.values import SIGNED, UNSIGNED, OnnxReader, Value, int64, rounded
from match.frontend.onnx_graph import Node
from match.relay import relay

ADD_ATTRIBUTES = frozenset(
    f"{side}_{part}" for side in ("in1", "in2", "out") for part in ("mul", "add", "shift", "n_levels", "rq")
)
"""Those of an addition with requantization, which must all be there; `SIGNED_SUM` may be left out."""

SIGNED_SUM = "out_signed"


def mul(read: OnnxReader, node: Node) -> Value:
    """Mul by a constant; a factor that an outstanding division divides cancels it."""
    position = 1 if read.constant(node, 1) is not None else 0
    factor, x = read.constant(node, position), read.wide(node, 1 - position)
    if factor is None:
        raise read.error(node, "multiplies two tensors; only constant factors are supported")
    values = read.integers(node, factor)
    if x.divisor > 1 and not np.any(values % x.divisor):
        values, x = values // x.divisor, replace(x, divisor=1)
    x = rounded(x)
    return replace(x, expr=relay.multiply(x.expr, read.parameter(node, values, x)))


def add(read: OnnxReader, node: Node) -> Value:
    """Add of a constant, of two tensors, or Quantlab's with requantization in attributes."""
    if any(name in node.attributes for name in (*ADD_ATTRIBUTES, SIGNED_SUM)):
        return _requantized_add(read, node)
    position = 1 if read.constant(node, 1) is not None else 0
    term = read.constant(node, position)
    if term is None:
        a, b = (rounded(read.wide(node, side)) for side in (0, 1))
        if a.shape != b.shape:
            raise read.error(node, f"adds tensors of shapes {list(a.shape)} and {list(b.shape)}; make them equal")
        return replace(a, expr=relay.add(a.expr, b.expr))
    x = read.wide(node, 1 - position)
    # Behind a division the term is in units of the quotient: 0.5 there makes it round half up.
    return replace(x, expr=relay.add(x.expr, read.parameter(node, term * x.divisor, x)))


def _requantized_add(read: OnnxReader, node: Node) -> Value:
    """Quantlab's addition: each operand and the sum go through a RequantShift of their own, given as attributes."""
    for name in sorted(ADD_ATTRIBUTES):
        read.attribute(node, name)
    narrow = [read.tensor(node, position) for position in (0, 1)]
    if narrow[0].shape != narrow[1].shape:
        shapes = " and ".join(str(list(value.shape)) for value in narrow)
        raise read.error(node, f"adds tensors of shapes {shapes}; make them equal")
    parts: list[relay.Expr] = []
    for position, side in enumerate(("in1", "in2")):
        x = rounded(read.wide(node, position))
        if node.attributes[f"{side}_rq"]:
            x = _requantized_side(read, node, side, x)
            x = replace(x, expr=relay.clip(x.expr, *_levels(read, node, side, narrow[position].dtype == "int8")))
        parts.append(x.expr)
    total = replace(narrow[0], expr=relay.add(*parts), dtype="int64")
    if node.attributes["out_rq"]:
        total = _requantized_side(read, node, "out", total)
    signed = bool(node.attributes.get(SIGNED_SUM, any(value.dtype == "int8" for value in narrow)))
    return _clipped(read, node, total, *_levels(read, node, "out", signed))


def _levels(read: OnnxReader, node: Node, side: str, signed: bool) -> tuple[int, int]:
    levels = read.number(node, f"{side}_n_levels")
    return (-(levels // 2), levels // 2 - 1) if signed else (0, levels - 1)


def _requantized_side(read: OnnxReader, node: Node, side: str, x: Value) -> Value:
    mul, add, shift = (read.number(node, f"{side}_{part}") for part in ("mul", "add", "shift"))
    scaled = relay.add(relay.multiply(x.expr, int64(mul)), int64(add + ((1 << shift) >> 1)))
    return replace(x, expr=relay.right_shift(scaled, int64(shift)))


def div(read: OnnxReader, node: Node) -> Value:
    """Div by a power of two; how it is rounded follows."""
    x, divisor = read.wide(node), read.constant(node, 1)
    if divisor is None or divisor.size != 1:
        raise read.error(node, "divides by something else than one constant; use a power of two")
    number = int(read.integers(node, divisor).reshape(-1)[0])
    if number < 1 or number & (number - 1):
        raise read.error(node, f"divides by {number}; only powers of two are supported")
    return replace(x, divisor=x.divisor * number)


def floor(read: OnnxReader, node: Node) -> Value:
    """Floor."""
    return rounded(read.tensor(node))


def clip(read: OnnxReader, node: Node) -> Value:
    """Clip to the range of the activations, whose type follows from it."""
    bounds: list[int] = []
    for position, name in enumerate(("min", "max"), 1):
        bound = read.constant(node, position)
        bound = np.asarray(node.attributes[name]) if bound is None and name in node.attributes else bound
        if bound is None or bound.size != 1:
            raise read.error(node, f"has no constant {name}; clip to the range of the activations")
        bounds.append(int(read.integers(node, bound).reshape(-1)[0]))
    return _clipped(read, node, rounded(read.wide(node)), bounds[0], bounds[1])


def relu(read: OnnxReader, node: Node) -> Value:
    """Relu."""
    x = read.tensor(node)
    if x.dtype == "int64":
        return replace(x, expr=relay.maximum(x.expr, int64(0)))
    return x if x.dtype == "uint8" else _clipped(read, node, read.wide(node), 0, SIGNED[1])


def _clipped(read: OnnxReader, node: Node, x: Value, low: int, high: int) -> Value:
    """The value saturated to 8 bits: unsigned if nothing is below 0, else signed."""
    if not (0 <= low <= high <= UNSIGNED[1] or SIGNED[0] <= low <= high <= SIGNED[1]):
        raise read.error(node, f"clips to {low} .. {high}, which 8 bits do not hold; use 8 bits or fewer")
    dtype = "uint8" if low >= 0 else "int8"
    return replace(x, expr=relay.cast(relay.clip(x.expr, low, high), dtype), dtype=dtype)


def requant_shift(read: OnnxReader, node: Node) -> Value:
    """Quantlab's requantization, which rounds half up without saying so: floor((x * mul + add) / div + 1/2)."""
    x = rounded(read.wide(node))
    mul, add = read.constant(node, 1), read.constant(node, 2)
    if mul is None or add is None:
        raise read.error(node, "has no constant multiplier or summand; export the model again")
    div, signed, levels = (read.number(node, name) for name in ("div", "signed", "n_levels_out"))
    if div < 1 or div & (div - 1):
        raise read.error(node, f"divides by {div}; only powers of two are supported")
    scaled = relay.add(relay.multiply(x.expr, read.parameter(node, mul, x)), read.parameter(node, add, x))
    halved = replace(x, expr=relay.add(scaled, int64(div >> 1)), divisor=div)
    low, high = (-(levels // 2), levels // 2 - 1) if signed else (0, levels - 1)
    return _clipped(read, node, rounded(halved), low, high)
