"""Relay's resizes of maps, as the graph's operators."""

from __future__ import annotations

from functools import partial

from match.arithmetic.resampling import COORDINATES, NEAREST, ResizedAxis, linear_elements, nearest_elements
from match.graph.make import chosen
from match.graph.resize import RealInterpolation
from match.graph.value import Value, computed
from match.relay import relay
from match.relay.graph_reader import Fragment
from match.relay.rewrite import dtype, shape


def read_resize(call: relay.Call) -> Fragment | None:
    """An `image.resize2d` to the nearest pixel, or linear in floating point; None for others."""
    attrs, before, after = call.attrs, shape(call.args[0]), shape(call)
    coordinates, rounding = str(attrs.coordinate_transformation_mode), str(attrs.rounding_method)
    if coordinates not in COORDINATES or dtype(call) != dtype(call.args[0]):
        return None
    numbers = [str(attrs.layout).index(letter) for letter in "HW"]
    axes = {axis: ResizedAxis(before[axis], after[axis]) for axis in numbers if before[axis] != after[axis]}
    if str(attrs.method) == "nearest_neighbor" and rounding in NEAREST:
        places = {number: nearest_elements(axis, coordinates, rounding) for number, axis in axes.items()}
        return Fragment((call.args[0],), partial(chosen, indices=[places.get(axis) for axis in range(len(before))]))
    if str(attrs.method) != "linear" or dtype(call) != "float32":
        return None

    def interpolated(x: Value) -> Value:
        for number, axis in axes.items():
            below, above, weight = linear_elements(axis, coordinates)
            x = computed(RealInterpolation(axis=number, below=below, above=above, weight=weight), x, exact=False)
        return x

    return Fragment((call.args[0],), interpolated)
