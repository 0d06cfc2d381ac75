"""The search on the layers of real networks, with GAP9's modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from match.errors import ScheduleError
from match.ir.layer import Layer
from match.mapping.memory import Memory
from match.mapping.schedule import Schedule
from match.prediction.arrays import Floats
from match.prediction.predict import predict
from match.search.exact.bounds import TileGroup
from match.search.exact.search import BoundedResidency, OrderedLoops, Predicted, Search
from match.target.cost import Cost
from match.target.hardware import HwModule
from match.targets.gap8.target import Gap8
from match.targets.gap9.target import Gap9
from tests.mapping.walk import walk
from tests.search.networks import DEEP, WIDE, auto_encoder, ds_cnn, mobilenet, resnet8
from tests.search.problems import searched

pytestmark = pytest.mark.unit

SIZES = [8192, 16384, 32768, 65536, 131072]
LARGE = pytest.mark.parametrize(
    ("layer", "most"),
    [(resnet8()[10], 50), *(pytest.param(layer, 1000, marks=pytest.mark.sweep) for layer in (DEEP, WIDE))],
    ids=lambda value: value.name if isinstance(value, Layer) else "",
)
"""Layers, and the predictions that a search may take: ten times as many mappings and a hundred times as many tiles."""


def searches(
    layers: list[Layer], size: int, objective: str = "latency"
) -> Iterator[tuple[HwModule, Layer, Schedule, Cost]]:
    """Each layer on each module that takes it."""
    for layer in layers:
        for module in Gap9().modules[:2]:
            if not any(pattern.op is layer.op and pattern.check(layer).ok for pattern in module.patterns()):
                continue
            requantizer = module.requantizers[0]
            model = module.cost(layer, requantizer)
            memory = Memory("L1", size)
            try:
                schedule = searched(
                    "exact",
                    layer,
                    module.operands(layer, requantizer),
                    (memory,),
                    model,
                    objective,
                    module.tile_multiples(layer),
                )
            except ScheduleError:  # one layer may be too large, the others must go on
                continue
            yield module, layer, schedule, predict(schedule, model)


class Effort:
    """Counts what a search does: tiles that it bounds, mappings that are left, mappings that it predicts.

    Too many are an error at once: else a bound that is too low would make a search take hours, and no test fail.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = self.most = {"tiles": 0, "mappings": 0, "predictions": 0}
        mappings, predicted = Search.mappings, Search.predicted

        def counted_mappings(search: Search, group: TileGroup, work: Floats) -> Iterator[BoundedResidency]:
            self.count("tiles", group.index.shape[1])
            for mapping in mappings(search, group, work):
                self.count("mappings")
                yield mapping

        def counted_prediction(search: Search, nest: OrderedLoops) -> Predicted:
            self.count("predictions")
            return predicted(search, nest)

        monkeypatch.setattr(Search, "mappings", counted_mappings)
        monkeypatch.setattr(Search, "predicted", counted_prediction)

    def count(self, what: str, number: int = 1) -> None:
        self.left[what] -= number
        assert self.left[what] >= 0, f"more than {self.most[what]} {what}"

    def allow(self, tiles: int, mappings: int, predictions: int) -> None:
        """Begin to count, up to so many."""
        self.most = {"tiles": tiles, "mappings": mappings, "predictions": predictions}
        self.left = dict(self.most)

    @property
    def predicts(self) -> bool:
        """Whether any mapping was predicted: else nothing was counted."""
        return self.left["predictions"] < self.most["predictions"]


@pytest.fixture
def effort(monkeypatch: pytest.MonkeyPatch) -> Effort:
    return Effort(monkeypatch)


@pytest.mark.parametrize("network", [resnet8, pytest.param(mobilenet, marks=pytest.mark.sweep), ds_cnn, auto_encoder])
def test_bounds_leave_few_mappings(network: Callable[[], list[Layer]], effort: Effort) -> None:
    for size in (SIZES[0], SIZES[2], SIZES[-1]):
        effort.allow(4000, 1000, 150)
        for _ in searches(network(), size):
            assert effort.predicts
            effort.allow(4000, 1000, 150)


@LARGE
def test_bounds_leave_few_mappings_of_large_layers(layer: Layer, most: int, effort: Effort) -> None:
    for module in Gap9().modules[:2]:
        effort.allow(100 * most, 10 * most, most)
        search(module, layer, (Memory("L1", 16384),))
        assert effort.predicts


@LARGE
def test_bounds_leave_few_mappings_onto_two_memories(layer: Layer, most: int, effort: Effort) -> None:
    cluster, _ = Gap8().modules
    effort.allow(100 * most, 10 * most, most)
    search(cluster, layer, (Memory("L2", 1 << 17, Gap8().main_memory.alignment), *cluster.memories))
    assert effort.predicts


def search(module: HwModule, layer: Layer, memories: tuple[Memory, ...]) -> Schedule:
    """The best mapping."""
    requantizer = module.requantizers[0]
    operands, model = module.operands(layer, requantizer), module.cost(layer, requantizer)
    return searched("exact", layer, operands, memories, model, multiples=module.tile_multiples(layer))


def test_predictions_of_chosen_schedules_equal_a_walk() -> None:
    for size in (8192, 32768):
        for module, layer, schedule, cost in searches([*resnet8()[3:6], *mobilenet()[-6:-3], *ds_cnn()[-4:]], size):
            line = walk(schedule, module.cost(layer, module.requantizers[0]))
            assert cost.cycles == pytest.approx(line.cycles, rel=1e-12), (module.name, layer.name, size)
            assert dict(cost.moved) == line.moved


def test_more_memory_is_never_slower() -> None:
    found: dict[tuple[str, str], float] = {}
    for size in SIZES[::2]:
        for module, layer, schedule, cost in searches(resnet8(), size):
            key = module.name, layer.name
            assert schedule.used_bytes(schedule.inner_memory) <= size
            assert cost.cycles <= found.get(key, cost.cycles) + 1 / 256
            found[key] = cost.cycles


def test_what_limits_each_kind_of_layer() -> None:
    """Convolutions compute, and a dense layer waits for its weights."""
    bounds = {(module.name, layer.name): cost.bound for module, layer, _, cost in searches(resnet8(), 65536)}
    assert bounds["cluster", "stage1.conv2"] == "compute"
    assert bounds["cluster", "dense"] == "overhead"
    wide = {(module.name, layer.name): cost.bound for module, layer, _, cost in searches(auto_encoder(), 131072)}
    assert wide["cluster", "dense0"] == "dma"


def test_bytes_moved_are_at_least_the_tensors() -> None:
    for _, layer, schedule, cost in searches(resnet8()[:7], 32768, "bytes"):
        moved = dict(cost.moved)
        assert moved["output"] == layer.k * layer.oy * layer.ox
        touched = min(layer.iy, (layer.oy - 1) * layer.stride[0] + layer.window[0])
        assert moved["input"] >= layer.input_channels * touched
        assert set(moved) == {operand.name for operand in schedule.operands}
