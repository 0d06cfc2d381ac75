"""Finds layers in the integer form of Relay and reads them into types that hold no TVM object.

docs/integer-form.md defines the form. A layer is recognised from its last operator backwards, and covered as a whole or
not at all; if another operator reads a value inside it, it is not a layer. An expression that looks like a layer but
cannot be expressed as a `Layer` is returned with the reason, for the report.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from match.partitioning.pattern.forms import read
from match.partitioning.pattern.layers import Ranges
from match.partitioning.pattern.movement import concatenation
from match.partitioning.pattern.own import occurrences
from match.partitioning.pattern.rows import CoreCalls
from match.partitioning.pattern.types import Match, Rejection
from match.relay import relay, tvm
from match.relay.fixed_point import ALONE
from match.relay.graph import post_order, users
from match.relay.objects import main_function
from match.relay.readers import read_requantized, read_sums
from match.relay.rewrite import is_call
from match.relay.value_ranges import value_ranges
from match.target.own import OwnOperator

__all__ = ["Match", "Rejection", "find", "unrequantized"]


def find(module: tvm.IRModule, own: Iterable[OwnOperator] = ()) -> tuple[Match | Rejection, ...]:
    """All layers in "main" of a typed module, in the order of computation, named by their operators.

    No two layers cover the same call, except for padding that convolutions share. `own` are operators that modules
    define; they come before others.

    Raises:
        TargetError: an operator of a module's own cannot be read.
    """
    function = main_function(module)
    used_by = users(function)
    ranges = value_ranges(module)
    brought = occurrences(function, own)
    taken: set[relay.Expr] = set()
    found: list[Match | Rejection] = []
    for expr in reversed(post_order(function)):
        if expr in taken:
            continue
        layer = None
        if expr in brought:
            alone = _alone(brought[expr], used_by)
            layer = alone if isinstance(alone, Match) else None
        layer = layer or _read(expr, ranges, used_by)
        if isinstance(layer, Match):
            alone = _alone(layer, used_by)
            # What others read beside a concatenation is a layer of its own.
            layer = alone if isinstance(alone, Match) else concatenation(expr, tables=False) or alone
        if layer is not None:
            taken.update(layer.covered)
            found.append(layer)
    return tuple(reversed(found))


def _read(expr: relay.Expr, ranges: Ranges, used_by: dict[relay.Expr, list[relay.Expr]]) -> Match | Rejection | None:
    """The layer that ends in an expression, with the annotation that keeps TVM from fusing it with its readers."""
    if is_call(expr, ALONE) and used_by[expr.args[0]] == [expr]:
        layer = read(expr.args[0], ranges)
        return None if layer is None else replace(layer, root=expr, covered=(expr, *layer.covered))
    return read(expr, ranges)


def unrequantized(match: Match) -> tuple[Match, CoreCalls] | None:
    """A convolution or dense layer up to its int32 sums, and the requantization; None for other layers."""
    requantized = read_requantized(match.root)
    sums = read(requantized[0], {}) if requantized and read_sums(requantized[0]) else None
    if not isinstance(sums, Match):
        return None
    rest = [call for call in reversed(match.covered) if isinstance(call, relay.Call) and call not in sums.covered]
    return replace(sums, layer=replace(sums.layer, input_range=match.layer.input_range)), tuple(rest)


def _alone(match: Match, used_by: dict[relay.Expr, list[relay.Expr]]) -> Match | Rejection:
    """The match, if no other operator reads a value inside it; a padded input may be computed twice."""
    covered = set(match.covered)
    for expr in match.covered:
        shared = any(user not in covered for user in used_by[expr])
        if shared and expr != match.root and not is_call(expr, "nn.pad"):
            layer = match.layer
            return Rejection(
                match.root,
                match.covered,
                layer.op,
                layer.macs,
                layer.output_channels * layer.oy * layer.ox,
                "another operator needs one of its intermediate values",
                match.reference,
            )
    return match
