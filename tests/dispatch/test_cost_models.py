"""What dispatch says of cost models that fail, and how it decides when energy counts."""

from __future__ import annotations

import pytest

from match.compilation.options import Options
from match.dispatch.choice import cpu_cost
from match.dispatch.plan import LayerDecision
from match.dispatch.request import Workload
from match.errors import CostModelError, OptionError, TargetError
from match.ir.constants import LayerConstants
from match.ir.layer import Layer, Op
from match.ir.requantization import Requantizer
from match.target.cost import Energy, Tile
from tests.dispatch.fakes import FakeCpu, FakeModule, FakeTarget, FixedCost
from tests.dispatch.layer_by_layer import dispatch

pytestmark = pytest.mark.unit

POOL = Layer("pool_3", Op.MAX_POOL2D, 8, 1, 6, 6, 12, 12, 2, 2, (2, 2), weight_dtype="")
BYTES = 8 * (12 * 12 + 6 * 6)


def unit(name: str = "unit", mac: float = 1.0, energy: Energy | None = None) -> FakeModule:
    module = FakeModule(name, mac, ops=(Op.MAX_POOL2D,))
    module.cost_model.energy = energy
    return module


def decide(target: FakeTarget, objective: str = "latency") -> LayerDecision:
    work = Workload(POOL, LayerConstants(), None, "f")
    options = Options.parse(objective=objective, jobs=1, cache=False)
    (decision,) = dispatch([work], target, options)
    return decision


def test_the_module_at_fault_is_named() -> None:
    class Broken(FixedCost):
        def compute(self, layer: Layer, tile: Tile) -> float:
            raise ZeroDivisionError("no\nlanes")

    module = unit("array")
    module.cost_model = Broken(1.0)
    with pytest.raises(
        CostModelError,
        match=r"^module array: cost model Broken, layer pool_3: compute\(Tile.* raised ZeroDivisionError: no lanes\.$",
    ):
        decide(FakeTarget(unit(), module))


def test_a_module_without_a_cost_model_is_named() -> None:
    class Lost(FakeModule):
        def cost(self, layer: Layer, requantizer: Requantizer | None) -> FixedCost:
            raise KeyError(requantizer)

    with pytest.raises(TargetError, match=r"^module lost, layer pool_3: cost\(\) raised KeyError: None for a 2x2 max"):
        decide(FakeTarget(Lost("lost", ops=(Op.MAX_POOL2D,))))


def test_the_control_cores_cost_model_is_named() -> None:
    class Negative(FakeCpu):
        def cycles(self, op: str, macs: int, outputs: int) -> float:
            return -1.0

    target = FakeTarget(unit())
    target.cpu_cost_model = Negative()
    with pytest.raises(
        CostModelError,
        match=r"^module cpu: cost model Negative, layer pool_3: cycles\(max_pool2d, 1152, 288\) returned -1.0;",
    ):
        decide(target)


@pytest.mark.parametrize("op", ["reshape", "nn.batch_flatten"])
def test_what_is_no_code_costs_nothing(op: str) -> None:
    cost = cpu_cost(FakeTarget(unit()), f"{op}_3", op, 0, 1000)
    assert (cost.cycles, cost.compute) == (0.0, 0.0)
    assert cpu_cost(FakeTarget(unit()), "cast_3", "cast", 0, 1000).cycles > 0


def test_each_row_of_a_softmax_costs_what_one_does() -> None:
    class Rows(FakeCpu):
        def cycles(self, op: str, macs: int, outputs: int) -> float:
            return 600.0 + 90.0 * outputs

    target = FakeTarget(unit())
    target.cpu_cost_model = Rows()
    assert cpu_cost(target, "softmax_3", "softmax", 0, 162, rows=18).cycles == 18 * (600 + 90 * 9)


class FrugalCpu(FakeCpu):
    """2 pJ an operation."""

    energy = Energy(2.0)


def test_least_energy_wins_when_it_is_the_objective() -> None:
    """A pool has no multiply-accumulates, so its energy on a module is that of the bytes moved."""
    target = FakeTarget(unit("quick", 0.9, Energy(1.0, {"L1": 1.0})), unit("lean", 1.0, Energy(1.0, {"L1": 0.5})))
    target.cpu_cost_model = FrugalCpu()
    assert decide(target).module == "quick"
    decision = decide(target, "energy")
    assert decision.module == "lean"
    energies = {candidate.module: candidate.cost and candidate.cost.energy for candidate in decision.candidates}
    assert energies == {"quick": BYTES, "lean": BYTES / 2, "cpu": 2.0 * 4 * 8 * 36}
    hungry = FakeTarget(unit("unit", 0.9, Energy(1.0, {"L1": 5.0})))
    hungry.cpu_cost_model = FrugalCpu()
    assert decide(hungry, "energy").module == "cpu"


def test_a_target_without_energy_says_what_it_lacks() -> None:
    target = FakeTarget(unit("array"), unit("other", energy=Energy(1.0, {"L1": 1.0})))
    with pytest.raises(
        OptionError, match="target fake does not give that of array, cpu; choose latency or bytes"
    ) as error:
        decide(target, "energy")
    assert ". " not in str(error.value)


def test_the_control_core_is_a_candidate() -> None:
    decision = decide(FakeTarget(unit("array")))
    assert decision.module == "array"
    assert [candidate.module for candidate in decision.candidates] == ["array", "cpu"]
    cost = decision.candidates[-1].cost
    assert cost is not None
    assert cost.cycles == 10 * 1152 + 288
    assert decision.cycles < cost.cycles


def test_decisions_do_not_depend_on_the_number_of_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("match.processes.workers.START_UP", 1e-6)
    layers = [
        Layer(f"pool_{n}", Op.MAX_POOL2D, 8 + n, 1, 6, 6, 12, 12, 2, 2, (2, 2), weight_dtype="") for n in range(5)
    ]
    works = [Workload(layer, LayerConstants(), None, layer.name) for layer in layers]
    decisions = [
        dispatch(
            works,
            FakeTarget(unit(), FakeModule("tiny", ops=(Op.MAX_POOL2D,), size=40)),
            Options.parse(jobs=jobs, cache=False),
        )
        for jobs in (1, 3)
    ]
    assert decisions[0] == decisions[1]
