"""The bound of how far outputs of several operators are off, beside layers whose inputs are."""

from __future__ import annotations

import numpy as np
import pytest

from match.dispatch.known_steps import known_steps
from match.ir.constants import Addends, Data, Filters, LayerConstants, Table, ZeroPoints
from match.ir.group import Links, grouped
from match.ir.layer import Layer, Op
from match.ir.requantization import Requantization, RequantizationFit
from match.requantize.form import Form
from tests.seeds import seeded

pytestmark = pytest.mark.unit

CHANNELS = 8
EXACT, OFF = RequantizationFit(True), RequantizationFit(False, 0.01, 1)


def layer(op: Op, output: str = "uint8") -> Layer:
    c = CHANNELS if op is Op.CONV2D else 1
    clip = (0, 255) if output == "uint8" else (-128, 127)
    return Layer(str(op), op, CHANNELS, c, 4, 4, 4, 4, output_dtype=output, clip=clip)


def line(rng: np.random.Generator, channels: int, shift: int) -> Requantization:
    multiplier = rng.integers(1, 1 << 10, channels)
    return Requantization(multiplier, rng.integers(0, 1 << shift, channels), np.full(channels, shift), (0, 255))


def bound(layers: list[Layer], links: Links, forms: list[Form]) -> int:
    return known_steps(grouped(layers, links) if len(layers) > 1 else layers[0], forms)


def form(fit: RequantizationFit | None, requantization: Requantization | None = None, data: Data | None = None) -> Form:
    return Form(None, LayerConstants(data, requantization), fit)


def test_one_operator() -> None:
    assert bound([layer(Op.MAX_POOL2D)], (), [form(None)]) == 0
    assert bound([layer(Op.CONV2D)], (), [form(EXACT)]) == 0
    assert bound([layer(Op.CONV2D)], (), [form(RequantizationFit(False, 0.1, 3))]) == 3


@seeded(20)
def test_products_of_what_is_off(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-128, 128, (CHANNELS, 1, 1, CHANNELS)).astype(np.int8)
    own = line(rng, CHANNELS, 16)
    layers = [layer(Op.CONV2D), layer(Op.MAX_POOL2D), layer(Op.CONV2D)]
    links = ((~0,), (0,), (1,))
    for last in (EXACT, OFF):
        most = bound(layers, links, [form(OFF), form(None), form(last, own, Filters(weights))])
        x = rng.integers(0, 255, (500, CHANNELS))
        kernel = weights.reshape(CHANNELS, CHANNELS).astype(np.int64)
        worst = np.sign(kernel[rng.integers(CHANNELS, size=500)])  # what moves some channel's sum most
        apart = np.abs(own(np.clip(x + worst, 0, 255) @ kernel.T) - own(x @ kernel.T)).max()
        assert apart <= most - (last is OFF) <= 3 * apart + 2


@seeded(20)
def test_sums_and_products_of_two(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 255, (2, 2000))
    factors, own = (int(rng.integers(1, 900)), -int(rng.integers(1, 900))), line(rng, 1, 20)
    layers = [layer(Op.CONV2D), layer(Op.CONV2D), layer(Op.ADD)]
    links = ((~0,), (~0,), (0, 1))
    most = bound(layers, links, [form(OFF), form(OFF), form(EXACT, own, Addends(*factors))])
    sums = [(x * factors[0] + y * factors[1])[:, None] for x, y in ((a, b), (a + 1, b - 1))]
    assert np.abs(own(sums[0]) - own(sums[1])).max() <= most
    layers[2] = layer(Op.MULTIPLY)
    most = bound(layers, links, [form(OFF), form(OFF), form(EXACT, own, ZeroPoints(3, 100))])
    products = [((x - 3) * (y - 100))[:, None] for x, y in ((a, b), (a + 1, b - 1))]
    assert np.abs(own(products[0]) - own(products[1])).max() <= most


@pytest.mark.parametrize("types", [("uint8", "uint8"), ("int8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
def test_tables(types: tuple[str, str]) -> None:
    """Known steps of tables are those between entries that are one place apart, in the order of the values."""
    values = np.arange(256) + (-128 if types[0] == "int8" else 0)
    least = -128 if types[1] == "int8" else 0
    outputs = least + np.minimum(255, np.cumsum(np.where(np.arange(256) % 32 == 0, 9, 0)))
    table = np.zeros(256, np.uint8)
    table[values.astype(np.uint8)] = outputs.astype(types[1]).view(np.uint8)
    looked = Layer(
        "t", Op.LOOKUP, CHANNELS, 1, 4, 4, 4, 4, input_dtype=types[0], output_dtype=types[1], clip=(least, least + 255)
    )
    before = layer(Op.CONV2D, types[0])
    assert bound([before, looked], ((~0,), (0,)), [form(OFF), form(None, data=Table(table))]) == 9


def test_other_operators_may_be_anywhere() -> None:
    layers = [layer(Op.CONV2D), layer(Op.SOFTMAX)]
    assert bound(layers, ((~0,), (0,)), [form(EXACT), form(None)]) == 0
    assert bound(layers, ((~0,), (0,)), [form(OFF), form(None)]) == 255


def test_real_numbers() -> None:
    """Which are off by as much as a step of their input stands for."""
    table = (np.roll(np.arange(256), 128) * np.float32(0.7)).astype(np.float32)
    real = Layer("d", Op.DEQUANTIZE, CHANNELS, 1, 4, 4, 4, 4, input_dtype="int8", output_dtype="float32", clip=(0, 0))
    forms = [form(RequantizationFit(False, 0.1, 3)), form(None, data=Table(table))]
    assert bound([layer(Op.CONV2D, "int8"), real], ((~0,), (0,)), forms) == 3
    assert bound([layer(Op.CONV2D, "int8"), real], ((~0,), (0,)), [form(EXACT), forms[1]]) == 0
