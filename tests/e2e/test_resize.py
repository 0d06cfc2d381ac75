"""Bilinear interpolation on the cluster: in tiles and whole, what TVM's C computes and the trace that was predicted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import match
from match.graph.resize import ONE, Between, Resize
from match.relay import relay, tvm
from match.relay.resize import read_resize, resized
from tests.sampled import in_turn

pytestmark = pytest.mark.cc


def between(size: int, outputs: int) -> Between:
    """Outputs from the first input to behind the last one."""
    positions = np.arange(outputs) * ONE * size // outputs
    below = positions // ONE
    return Between(below, np.minimum(below + 1, size - 1), positions % ONE)


def resize_of(size: tuple[int, int], outputs: tuple[int, int], zero: int, dtype: str) -> Resize:
    rows, columns = (between(*extents) for extents in zip(size, outputs, strict=True))
    return Resize(rows=rows, columns=columns, zero=zero, dtype=dtype)


SHAPES = [((5, 7, 12), (9, 20), None), ((9, 6, 30), (30, 31), 8000), ((16, 17, 3), (5, 40), 1600)]


@pytest.mark.parametrize(("shape", "outputs", "l1", "dtype"), in_turn(SHAPES, [("uint8",), ("int8",)]))
def test_a_layer_of_the_cluster(
    shape: tuple[int, int, int], outputs: tuple[int, int], l1: int | None, dtype: str
) -> None:
    """Of networks of either type; the last two do not fit the scratchpad."""
    x = relay.var("x", shape=(1, *shape), dtype=dtype)
    body = resized(resize_of(shape[:2], outputs, 0 if dtype == "int8" else 100, dtype), x)
    network = tvm.IRModule.from_expr(relay.Function([x], body))
    compiled = match.compile(network, "gap9", l1=l1, fuse=False)
    (layer,) = [layer for layer in compiled.layers if layer.op == "resize"]
    assert layer.module == "cluster"
    limits = np.iinfo(dtype)
    values = {"x": np.random.default_rng(1).integers(limits.min, limits.max, (1, *shape), dtype, endpoint=True)}
    given, traces = compiled.trace(values, sanitize=True)
    expected = match.compile(network, "gap9", modules=[]).run(values)
    assert np.array_equal(next(iter(given.values())), next(iter(expected.values())))
    assert layer.plan is not None
    assert l1 is None or len(layer.plan.schedule.loops) > 0
    assert compiled.simulate(layer).actions in [trace.actions for trace in traces]


def test_what_is_no_resize_stays() -> None:
    """Other roundings, weights that are no interpolation's, batches, and no resize at all."""
    x = relay.var("x", shape=(1, 4, 5, 3), dtype="uint8")
    resize = resize_of((4, 5), (8, 7), 3, "uint8")
    whole = resized(resize, x)
    floor = relay.cast(relay.right_shift(whole.args[0].args[0].args[0], relay.const(20)), "uint8")
    two = relay.var("x", shape=(2, 4, 5, 3), dtype="uint8")
    for variable, body, known in (
        (x, whole, True),
        (x, resized(replace(resize, zero=0), x), True),
        (x, floor, False),
        (x, relay.cast(relay.right_shift(relay.cast(x, "int32"), relay.const(20)), "uint8"), False),
        (two, resized(resize, two), False),
    ):
        module = tvm.IRModule.from_expr(relay.Function([variable], body))
        found = read_resize(relay.transform.InferType()(module)["main"].body)
        assert (found is not None) == known
