"""What a pattern refuses for every module."""

from __future__ import annotations

import random

import pytest

from match.ir.layer import Layer, Op
from match.target.hardware import Pattern
from tests.mapping.random_schedules import random_layer

pytestmark = pytest.mark.unit

PADDED = (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.MAX_POOL2D)


def reads_input(layer: Layer) -> bool:
    """Whether each window reaches over a row and a column of the input, window by window."""
    sizes = (layer.oy, layer.iy, layer.padding.top), (layer.ox, layer.ix, layer.padding.left)
    return all(
        any(0 <= output * stride - before + inside < inputs for inside in range(window))
        for (outputs, inputs, before), stride, window in zip(sizes, layer.stride, layer.window, strict=True)
        for output in range(outputs)
    )


def test_windows_that_see_padding_alone() -> None:
    rng = random.Random(8)
    layers = [random_layer(rng, ops=PADDED) for _ in range(600)]
    alone = [layer for layer in layers if not reads_input(layer)]
    assert 100 < len(alone) < len(layers) - 100
    for layer in layers:
        assert Pattern(layer.op).check(layer).ok == reads_input(layer), layer
    reasons = {Pattern(layer.op).check(layer).reason for layer in alone}
    assert reasons == {"some of its windows lie in the padding alone"}
