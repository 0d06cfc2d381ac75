"""The table of targets and the page of supported operators follow from the descriptions."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from match.report.targets import show_targets
from match.target.cost import CostModel, CpuCostModel, Energy
from match.target.registry import get_target
from tests.codegen.mock_target import MockModule, MockTarget

pytestmark = pytest.mark.tvm

TARGETS = ("diana", "gap8", "gap9", "pulp_open")


def test_table_of_targets() -> None:
    console = Console(file=io.StringIO(), width=200)
    show_targets([get_target("gap9")], console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "latency, bytes, energy, edp, ram (energies are estimates)" in " ".join(text.split())
    for part in ("gap9", "260 MHz", "L2 1536 KiB", "cluster", "ne16", "L1 ", "depthwise_conv2d", "cpu"):
        assert part in text


def test_objectives_are_those_that_a_target_has_figures_for() -> None:
    class Core(CpuCostModel):
        energy = Energy(2.0)

        def cycles(self, op: str, macs: int, outputs: int) -> float:
            return macs

    class Unit(CostModel):
        energy = Energy(1.0, {"L1": 1.0})

    knowing, plain, unit = MockTarget(), MockTarget(), MockModule()
    unit.cost_model = Unit()
    knowing.cpu_cost_model, knowing.modules = Core(), (unit,)
    knowing.name = "measured"
    console = Console(file=io.StringIO(), width=200)
    show_targets([knowing, plain], console)
    assert isinstance(console.file, io.StringIO)
    rows = {line.split()[0]: line for line in console.file.getvalue().splitlines() if line.strip()}
    assert "latency, bytes, energy" in rows["measured"]
    assert "latency, bytes, ram " in rows["mock"]
    assert "energy" not in rows["mock"]


def test_memories_of_single_operands_are_listed() -> None:
    console = Console(file=io.StringIO(), width=200)
    show_targets([get_target("diana")], console)
    assert isinstance(console.file, io.StringIO)
    assert "L1 256 KiB, weights 64 KiB" in console.file.getvalue()


@pytest.mark.parametrize("target", TARGETS)
def test_every_condition_is_a_sentence(target: str) -> None:
    conditions = [
        sentence
        for module in get_target(target).modules
        for pattern in module.patterns()
        for constraint in pattern.constraints
        for sentence in [(constraint.__doc__ or "").strip()]
    ]
    assert conditions
    assert all(sentence.endswith(".") for sentence in conditions)
