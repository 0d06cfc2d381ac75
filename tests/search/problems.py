"""Problems of real networks, and cost models whose calls are counted."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from match.ir.layer import Dim, Layer, Operand
from match.mapping.memory import Memory
from match.mapping.schedule import Schedule
from match.search.engine import Engine, engine
from match.search.problem import SearchProblem
from match.target.cost import Block, CostModel, Tile, choose
from match.targets.gap9.target import Gap9
from tests.mapping.random_schedules import ACCUMULATING, OPS, SteppedCost, operands_of, random_layer, random_operands
from tests.search.brute_force import size_of_search


def gap9_problems(layers: Sequence[Layer], size: int = 131072) -> list[SearchProblem]:
    """Each distinct layer on each module of GAP9 that takes it."""
    problems: dict[tuple[str, Layer], SearchProblem] = {}
    for layer in layers:
        for module in Gap9().modules[:2]:
            if any(pattern.op is layer.op and pattern.check(layer).ok for pattern in module.patterns()):
                form = module.requantizers[0]
                problems[module.name, replace(layer, name="")] = SearchProblem(
                    module=module.name,
                    engine="exact",
                    objective="latency",
                    layer=layer,
                    operands=module.operands(layer, form),
                    memories=(Memory("L1", size),),
                    multiples=tuple(module.tile_multiples(layer).items()),
                    cost_model=module.cost(layer, form),
                )
    return list(problems.values())


def searched(
    name: str | Engine,
    layer: Layer,
    operands: tuple[Operand, ...],
    memories: tuple[Memory, ...],
    model: CostModel,
    objective: str = "latency",
    multiples: Mapping[Dim, int] | None = None,
) -> Schedule:
    """What an engine, or the one of that name, finds."""
    tiles = tuple((multiples or {}).items())
    found_by = engine(name) if isinstance(name, str) else name
    return found_by.search(SearchProblem("unit", "exact", objective, layer, operands, memories, tiles, model))


def small_problem(
    rng: random.Random, most: int, *, reduced: bool = False
) -> tuple[Layer, tuple[Operand, ...], dict[Dim, int]]:
    """A layer with at most so many mappings; `reduced` asks for one whose input channels may be cut."""
    while True:
        layer = random_layer(rng, rng.choice([3, 4, 6, 9]), ACCUMULATING if reduced else OPS)
        operands = random_operands(rng, layer)
        if reduced and layer.c == 1:
            continue
        multiples = {dim: rng.choice([0, 2, 3]) for dim in (Dim.K, Dim.OY, Dim.OX) if rng.random() < 0.3}
        if reduced:
            multiples[Dim.C] = rng.choice([1, 1, 2, 3])
        if 1 < size_of_search(layer, operands, multiples) <= most:
            return layer, operands, multiples


def problem(layer: Layer, model: CostModel, size: int = 700, objective: str = "latency") -> SearchProblem:
    return SearchProblem("unit", "exact", objective, layer, operands_of(layer), (Memory("L1", size),), (), model)


@dataclass(frozen=True)
class Logged(SteppedCost):
    """Writes a line into a file whenever a layer is searched."""

    log: Path = Path("log")

    def overhead(self, layer: Layer) -> float:
        with self.log.open("a") as file:
            file.write(f"{layer.name}\n")
        return super().overhead(layer)


@dataclass(frozen=True)
class Failing(SteppedCost):
    """Fails on layers of one name."""

    name: str = ""

    def compute(self, layer: Layer, tile: Tile) -> float:
        return float("nan") if layer.name == self.name else super().compute(layer, tile)


@dataclass(frozen=True)
class JumpyCost(SteppedCost):
    """Tiles and blocks of even sizes are much cheaper than odd ones, so that cutting may pay; takes arrays."""

    arrays: bool = True

    def compute(self, layer: Layer, tile: Tile) -> float:
        aligned = choose((tile.k % 2 == 0) & (tile.ox % 3 == 0), 0.25, 1.0)
        return super().compute(layer, tile) * aligned

    def transfer(self, layer: Layer, block: Block) -> float:
        return super().transfer(layer, block) * choose(block.bytes % 8 == 0, 0.5, 2.0)
