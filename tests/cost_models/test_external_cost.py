"""A module's cost model where a schedule's first memory is the main memory."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, replace

import pytest

from match.analysis.simulate import Kind, simulate
from match.cost_models.dma import IoDma, Mchan
from match.errors import NoMappingError
from match.ir.layer import Dim, Layer, Op
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule
from match.prediction.predict import predict
from match.target.cost import Block, CostModel, MappingView, Tile
from match.target.external_cost import external_cost
from match.target.hardware import External
from match.targets.pulp.cluster import COST
from tests.codegen.mock_target import EXTERNAL_API
from tests.mapping.random_schedules import SteppedCost, operands_of, random_layer, random_schedule
from tests.search.problems import searched
from tests.seeds import seeded

pytestmark = pytest.mark.unit

EXTERNAL = External(Memory("L3", 1 << 23), EXTERNAL_API, IoDma(100e6))
MODULE = SteppedCost(kernel_scratch=2)
LAYER = Layer("dense", Op.DENSE, 64, 300, 1, 1, 1, 1)


def test_only_blocks_into_main_memory_have_another_price() -> None:
    model, tile = external_cost(MODULE, EXTERNAL, "L2"), Tile(3, 4, 5, 6, 7, 8, 1, 1)
    block = Block("weights", (3, 4), 100, 2, 1, "L1")
    assert model.transfer(LAYER, block) == MODULE.transfer(LAYER, block)
    outer = block._replace(memory="L2")
    assert model.transfer(LAYER, outer) == 2 * 44 + 100 != MODULE.transfer(LAYER, outer)
    assert (model.overlap, model.arrays, model.energy) == (MODULE.overlap, MODULE.arrays, MODULE.energy)
    assert model.compute(LAYER, tile) == MODULE.compute(LAYER, tile)
    assert model.scratch(LAYER, tile) == MODULE.scratch(LAYER, tile) > 0
    for method in ("launch", "issue", "overhead"):
        assert getattr(model, method)(LAYER) == getattr(MODULE, method)(LAYER) > 0


@seeded(20)
def test_prediction_and_simulation_ask_it(seed: int) -> None:
    rng = random.Random(seed)
    model = external_cost(MODULE, EXTERNAL, "L2")
    schedule = random_schedule(rng, random_layer(rng), 5, (Memory("L2", 1 << 30), Memory("L1", 1 << 30)))
    timeline = simulate(schedule, model)
    assert timeline.cycles == pytest.approx(predict(schedule, model).cycles, rel=1e-12)
    moves = [e for e in timeline.events if e.action.memory == "L2" and e.action.kind is not Kind.WAIT]
    assert moves
    assert all(event.end - event.begin >= event.action.bytes for event in moves)


@pytest.mark.parametrize("dma", [Mchan(), IoDma(100e6)])
def test_every_constant_of_a_dma_is_in_the_prediction(dma: Mchan | IoDma) -> None:
    layer = Layer("conv", Op.CONV2D, 8, 16, 10, 10, 12, 12, 3, 3)
    memories = (Memory("L2", 1 << 20), Memory("L1", 1 << 20))
    loops = (Loop(Dim.OX, 5, 10, 0), Loop(Dim.OX, 2, 5, 1))
    operands = operands_of(layer)
    placed = (
        Placement(operand.name, memory.name, level + (Dim.OX in operand.dims))
        for operand in operands
        for level, memory in enumerate(memories)
    )
    schedule = Schedule(layer, operands, memories, loops, tuple(placed))

    def cycles(chosen: Mchan | IoDma) -> float:
        module = replace(COST, dma=chosen) if isinstance(chosen, Mchan) else COST
        external = replace(EXTERNAL, dma=chosen) if isinstance(chosen, IoDma) else EXTERNAL
        return predict(schedule, external_cost(module, external, "L2")).cycles

    for name in (field.name for field in fields(dma)):
        assert cycles(replace(dma, **{name: 3 * getattr(dma, name)})) != cycles(dma), name


def test_searches_see_a_latency_of_the_module() -> None:
    @dataclass(frozen=True)
    class Whole(SteppedCost):
        def latency(self, view: MappingView) -> float | None:
            return view.cycles + 1

    memories = (Memory("L2", 8000, holds=frozenset({"weights"})), Memory("L1", 4000))
    arguments = LAYER, operands_of(LAYER), memories
    found = searched("exact", *arguments, external_cost(MODULE, EXTERNAL, "L2"))
    assert found.memories == memories
    model = external_cost(Whole(), EXTERNAL, "L2")
    assert type(model).latency is not CostModel.latency
    with pytest.raises(NoMappingError, match="leaves the latency of mappings to the engine"):
        searched("exact", *arguments, model)
