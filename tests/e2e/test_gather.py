"""Columns in another order on the cluster, in tiles and whole: what NumPy makes of them, and the predicted trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import match
from match.relay import relay, tvm
from tests.sampled import in_turn

pytestmark = pytest.mark.cc

Uint8 = npt.NDArray[np.uint8]
WIDTHS = ((0, 0), (2, 1), (0, 3), (0, 0))


def padded(mode: str) -> Callable[[Any], Any]:
    return lambda x: relay.nn.pad(x, WIDTHS, relay.const(77, "uint8"), mode)


def expected_padding(mode: Any, **values: int) -> Callable[[Uint8], Uint8]:
    return lambda x: np.pad(x, WIDTHS, mode=mode, **values)


CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Uint8], Uint8]]] = {
    "constant": (padded("constant"), expected_padding("constant", constant_values=77)),
    "reflect": (padded("reflect"), expected_padding("reflect")),
    "edge": (padded("edge"), expected_padding("edge")),
    "steps": (
        lambda x: relay.strided_slice(x, [0, 1, 18, 0], [1, 21, -99, 99], [1, 2, -1, 1]),
        lambda x: x[:, 1:21:2, 18::-1],
    ),
    "tile": (lambda x: relay.tile(x, (1, 1, 2, 3)), lambda x: np.tile(x, (1, 1, 2, 3))),
}


@pytest.mark.parametrize(("name", "l1"), in_turn([(name,) for name in CASES], [(None,), (2400,)]))
def test_a_layer_of_the_cluster(name: str, l1: int | None) -> None:
    """An axis after the other; tensors that do not fit the scratchpad are cut along all others."""
    build, numpy = CASES[name]
    shape = (1, 22, 19, 13)
    x = relay.var("x", shape=shape, dtype="uint8")
    module = tvm.IRModule.from_expr(relay.Function([x], build(x)))
    compiled = match.compile(module, "gap9", modules=["cluster"], l1=l1, fuse=False)
    assert {(layer.module, layer.op) for layer in compiled.layers} == {("cluster", "gather")}
    assert len(compiled.layers) == 2
    values = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    outputs, traces = compiled.trace({"x": values}, sanitize=True)
    assert np.array_equal(next(iter(outputs.values())), numpy(values))
    for layer in compiled.layers:
        assert compiled.simulate(layer).actions in [trace.actions for trace in traces]
        assert layer.plan is not None
        assert l1 is None or layer.plan.schedule.loops
