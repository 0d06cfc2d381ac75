"""Layers that no module requantizes: when their sums go to a module, and the rest to the control core."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.plan import LayerDecision
from match.ir.layer import Op
from match.mapping.memory import Memory
from match.partitioning.partitioner import cut
from match.relay import relay, tvm
from match.target.cost import CpuCostModel, Energy
from tests.dispatch.fakes import SHIFT, FakeModule, FakeTarget
from tests.layers_of import graph_of

pytestmark = pytest.mark.tvm

SIDE, CHANNELS = 6, 8
OUTPUTS = SIDE * SIDE * CHANNELS
MACS = OUTPUTS * CHANNELS
BYTES = SIDE * SIDE * CHANNELS + CHANNELS * CHANNELS
"""Bytes of the input and the weights."""


class _Cpu(CpuCostModel):
    """Ten cycles a multiply-accumulate, 50 an output; 2 pJ a multiply-accumulate, 3 an output."""

    energy = Energy(1.4, cycle=0.01, kernel=0.05)

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        return 10.0 * macs + 50.0 * outputs


class _Summing(FakeModule):
    """A module that requantizes by powers of two alone, and hands out sums."""

    sums = frozenset({Op.CONV2D})


def network(channels: int) -> Any:
    """A pointwise convolution of as many channels to as many, with a factor that is no power of two."""

    def each(value: int) -> Any:
        return relay.const(np.full(channels, value, np.int64), dtype="int64")

    x = relay.var("x", shape=(1, SIDE, SIDE, channels), dtype="uint8")
    weights = np.random.default_rng(4).integers(-128, 128, (1, 1, channels, channels)).astype(np.int8)
    sums = relay.nn.conv2d(
        x,
        relay.const(weights),
        channels=channels,
        kernel_size=(1, 1),
        data_layout="NHWC",
        kernel_layout="HWIO",
        out_dtype="int32",
    )
    total = relay.add(relay.multiply(relay.cast(sums, "int64"), each(70001)), each(5 << 22))
    body = relay.cast(relay.clip(relay.right_shift(total, each(25)), 0, 255), "uint8")
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))


def decisions(
    mac: float,
    main_bytes: int = 1 << 20,
    objective: str = "latency",
    energy: Energy | None = None,
    channels: int = CHANNELS,
) -> tuple[LayerDecision, ...]:
    unit = _Summing("unit", mac, (SHIFT,))
    unit.cost_model.energy = energy
    target = FakeTarget(unit)
    target.cpu_cost_model = _Cpu()
    target.main_memory = Memory("L2", main_bytes)
    options = Options.parse(objective=objective, numerics="exact")
    return cut(graph_of(network(channels)), target, options, "net", Stopwatch()).decisions


def test_sums_on_the_module_and_the_rest_on_the_core() -> None:
    layer, rest = decisions(mac=1)
    assert (layer.name, layer.module, layer.macs) == ("conv2d_0", "unit", MACS)
    assert layer.plan is not None
    assert layer.plan.layer.output_dtype == "int32"
    assert (rest.name, rest.module, rest.macs, rest.cycles) == ("requantize_0", "cpu", 0, 50 * OUTPUTS)
    assert [candidate.module for candidate in rest.candidates] == ["unit", "cpu"]
    assert rest.candidates[0].refusal == "unit has no form of requantization that comes near its own"


@pytest.mark.parametrize(("mac", "apart"), [(8, True), (10, False)])
def test_both_together_take_fewer_cycles_than_the_core_alone(mac: float, apart: bool) -> None:
    """With 10 the sums alone would: the core saves its 10 for each product, and requantizes all the same."""
    found = decisions(mac)
    assert sum(decision.cycles for decision in found) <= 10 * MACS + 50 * OUTPUTS
    assert [decision.module for decision in found] == (["unit", "cpu"] if apart else ["cpu"])


@pytest.mark.parametrize(
    ("mac", "picojoules", "objective", "apart"),
    [
        (1, 2.5, "latency", True),
        (1, 2.5, "bytes", True),
        (1, 2.5, "energy", False),
        (10, 1.5, "latency", False),
        (10, 1.5, "bytes", True),
        (10, 1.5, "energy", True),
    ],
)
def test_what_was_asked_for_decides(mac: float, picojoules: float, objective: str, apart: bool) -> None:
    """The first is quick and takes much energy, the second slow and frugal; both move fewer bytes than the core.

    The energy of an output is the same.
    """
    found = decisions(mac, 1 << 20, objective, Energy(picojoules, {"L1": 0.001}))
    assert [decision.module for decision in found] == (["unit", "cpu"] if apart else ["cpu"])


@pytest.mark.parametrize(("channels", "apart"), [(3, False), (4, True)])
def test_few_products_an_output_do_not_outweigh_the_bytes_of_its_sum(channels: int, apart: bool) -> None:
    """The core moves 2 bytes a product and 1 an output; apart, the sums take 4 an output and the rest 2 more."""
    outputs = SIDE * SIDE * channels
    together = 2 * outputs * channels + outputs
    assert apart == (outputs + channels**2 + (4 + 2) * outputs < together)
    assert len(decisions(1, objective="latency", channels=channels)) == 2
    assert len(decisions(1, objective="bytes", channels=channels)) == (2 if apart else 1)


def test_energy_of_both_together_is_less_than_that_of_the_core_alone() -> None:
    """Moving the sums, four bytes an output, leaves a part of the 2 pJ that the core takes for each product."""
    saved = 2.0 * MACS / (BYTES + 4 * OUTPUTS)
    for byte, modules in ((0.99 * saved, ["unit", "cpu"]), (1.01 * saved, ["cpu"])):
        found = decisions(1, 1 << 20, "energy", Energy(0.0, {"L1": byte}))
        assert [decision.module for decision in found] == modules


@pytest.mark.parametrize(("room", "apart"), [(16 * OUTPUTS, True), (16 * OUTPUTS - 4, False)])
def test_sums_take_a_quarter_of_main_memory_at_most(room: int, apart: bool) -> None:
    assert len(decisions(1, room)) == (2 if apart else 1)
