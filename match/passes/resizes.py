"""Relay's resizes of maps, written out (`match.relay.resampling`): what other passes know."""

from __future__ import annotations

from dataclasses import dataclass

from match.arithmetic.resampling import COORDINATES, NEAREST, ResizedAxis
from match.relay import relay, tvm
from match.relay.resampling import interpolated, nearest
from match.relay.rewrite import New, dtype, is_call, rewrite, shape


@dataclass(frozen=True)
class WriteResizes:
    """Rewrites each `image.resize2d` to the nearest pixel, or linear in floating point."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "image.resize2d") or dtype(call) != dtype(call.args[0]):
        return None
    attrs, before, after = call.attrs, shape(call.args[0]), shape(call)
    coordinates, rounding = str(attrs.coordinate_transformation_mode), str(attrs.rounding_method)
    if coordinates not in COORDINATES or len(before) != 4:
        return None
    numbers = [str(attrs.layout).index(letter) for letter in "HW"]
    axes = {axis: ResizedAxis(before[axis], after[axis]) for axis in numbers if before[axis] != after[axis]}
    if str(attrs.method) == "nearest_neighbor" and rounding in NEAREST:
        return nearest(new(call.args[0]), axes, coordinates, rounding)
    if str(attrs.method) == "linear" and dtype(call) == "float32":
        return interpolated(new(call.args[0]), before, axes, coordinates)
    return None
