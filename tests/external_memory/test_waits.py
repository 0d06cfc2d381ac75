"""Cycles and energy that external memory adds to operators."""

from __future__ import annotations

from dataclasses import replace

import pytest

import match
from match.dispatch.plan import LayerDecision, Offer
from match.errors import CostModelError
from match.external_memory.waits import OutsideEnergy, outside_energies, with_waits
from match.placement.latency import Latency
from match.target.cost import Cost, CpuCostModel, Energy
from match.target.registry import get_target

pytestmark = pytest.mark.tvm


def decision(name: str, module: str, cycles: float, energy: float | None = 50.0) -> LayerDecision:
    cost = Cost(cycles, cycles, 0.0, 0.0, (), energy)
    return LayerDecision(name, "conv2d", module, 0, 1, cycles, (Offer("other", refusal="no"), Offer(module, cost=cost)))


def test_waits_and_bytes_from_outside_take_energy() -> None:
    latency = Latency(340.0, (), 0.0, (0.0, 120.0, 340.0), (0.0, 120.0), ())
    decisions = (decision("a", "unit", 100.0), decision("b", "cpu", 200.0))
    energies = {"unit": OutsideEnergy(2.0, 10.0), "cpu": OutsideEnergy(3.0, 10.0)}
    one, other = with_waits(decisions, (0, 1), latency, (7, 0), energies)
    assert (one.cycles, one.waits, one.waits_energy, one.energy) == (120.0, 20.0, 20 * 2.0 + 7 * 10.0, 160.0)
    assert (other.cycles, other.waits, other.waits_energy, other.energy) == (220.0, 20.0, 60.0, 110.0)
    one, _ = with_waits((decision("a", "unit", 100.0, None), decisions[1]), (0, 1), latency, (7, 0), {})
    assert (one.waits, one.waits_energy, one.energy) == (20.0, 0.0, None)


def test_energies_of_what_is_outside() -> None:
    found = outside_energies(get_target("gap8"))
    assert found == dict.fromkeys(("cluster", "core", "cpu"), OutsideEnergy(110.0, 570.0))


def test_a_transfer_that_nothing_waits_for_takes_what_starts_it() -> None:
    network, external = match.zoo.build("autoencoder"), get_target("pulp_open").external
    assert external is not None

    def waits(issue: float | None) -> list[int]:
        target = get_target("pulp_open")
        target.external = replace(external, issue=issue)
        layers = match.predict(network, target, l1=118_784, l2=240_000, fuse=False).layers
        return [layer.wait_cycles for layer in layers if layer.wait_cycles]

    assert min(waits(None)) == 160
    assert min(waits(1000.0)) == 1000
    assert min(waits(external.issue)) == 640


def test_a_model_with_energies_names_external_memory() -> None:
    target = get_target("gap8")

    class Core(CpuCostModel):
        energy = Energy(1.0, {"L1": 1.0})

    target.cpu_cost_model = Core()
    with pytest.raises(CostModelError, match=r"module cpu: its energy has no entry for memory L2, .* it has: L1"):
        outside_energies(target)
    Core.energy = None
    assert set(outside_energies(target)) == {"cluster", "core"}
