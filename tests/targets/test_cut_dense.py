"""Into how many kernel calls a group cuts a dense layer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from match.ir.layer import Axis, Component, Dim, Layer, Op, Operand, Role
from match.target.group import CUT_BYTES, CUT_CHANNELS, cut_of

pytestmark = pytest.mark.unit

DENSE = Layer("dense", Op.DENSE, 640, 128, 1, 1, 1, 1)
FILTER = Component("filter", (Axis(Dim.K, 640), Axis(Dim.C, 128)))
PARAMETERS = Component("requantization", (Axis(Dim.K, 640),), 8)


def constants(*components: Component) -> tuple[Operand, ...]:
    return (Operand("weights", Role.CONSTANT, components),)


def test_parts_have_about_as_many_bytes_as_wanted() -> None:
    channels = cut_of(DENSE, constants(FILTER, PARAMETERS))
    assert channels % CUT_CHANNELS == 0
    assert CUT_BYTES <= channels * (128 + 8) < CUT_BYTES + CUT_CHANNELS * (128 + 8)


@pytest.mark.parametrize(("outputs", "parts"), [(128, 1), (176, 1), (192, 2), (288, 2), (640, 5)])
def test_parts_are_alike(outputs: int, parts: int) -> None:
    """None is a small rest: at 136 bytes an output, 176 are one and a half times what is wanted, and not cut yet."""
    layer, axis = replace(DENSE, k=outputs), Axis(Dim.K, outputs)
    own = Component("filter", (axis, Axis(Dim.C, 128))), Component("requantization", (axis,), 8)
    channels = cut_of(layer, constants(*own)) or outputs
    assert -(-outputs // channels) == parts
    assert outputs % channels == 0 or outputs % channels > channels - CUT_CHANNELS * parts


@pytest.mark.parametrize(
    "component",
    [
        Component("exceptions", (), 20),
        Component("excepted", (Axis(Dim.K, 641),), 2),
        Component("table", (Axis(Dim.C, 128), Axis(Dim.K, 640))),
    ],
    ids=["of no channel", "one more than channels", "channels are not the slowest axis"],
)
def test_constants_that_cannot_be_parted(component: Component) -> None:
    assert cut_of(DENSE, constants(FILTER, component)) == 0


@pytest.mark.parametrize(
    "layer",
    [replace(DENSE, ox=2, ix=2), replace(DENSE, op=Op.CONV2D), replace(DENSE, k=128)],
    ids=["of two pixels", "a convolution", "few bytes"],
)
def test_others_are_not_cut(layer: Layer) -> None:
    axis = Axis(Dim.K, layer.k)
    assert cut_of(layer, constants(Component("filter", (axis, Axis(Dim.C, 128))))) == 0
