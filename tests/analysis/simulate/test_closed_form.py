"""The closed form (`predict`) against the timeline, and so the order in which it ranks schedules."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from match.analysis.simulate import Timeline, simulate
from match.ir.layer import Layer
from match.prediction.predict import predict
from match.target.cost import Cost
from tests.mapping.random_schedules import random_cost, random_layer, random_memories, random_schedule
from tests.search.networks import auto_encoder, ds_cnn, mobilenet, resnet8
from tests.search.test_networks import searches
from tests.seeds import seeded

pytestmark = pytest.mark.unit

NETWORKS = [resnet8, mobilenet, ds_cnn, auto_encoder]


def check(cost: Cost, timeline: Timeline) -> None:
    """Equal in every figure; only the order of additions differs."""
    assert cost.cycles == pytest.approx(timeline.cycles, rel=1e-12)
    assert cost.compute == pytest.approx(timeline.compute, rel=1e-12)
    assert cost.transfer == pytest.approx(timeline.transfer, rel=1e-12)
    assert cost.overhead == pytest.approx(timeline.overhead, rel=1e-12)
    assert cost.moved == timeline.moved


@pytest.mark.parametrize("levels", [1, 2, 3])
@seeded(100, 400)
def test_random_schedules(levels: int, seed: int) -> None:
    """All figures of valid schedules are equal, and then so are all ranks."""
    rng = random.Random(seed)
    layer = random_layer(rng, 12)
    schedule = random_schedule(rng, layer, 4 + levels, random_memories(rng, layer, levels))
    model = random_cost(rng)
    check(predict(schedule, model), simulate(schedule, model))


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(
    "size",
    [
        12288,
        *(pytest.param(size, marks=pytest.mark.sweep) for size in (8192, 16384, 24576, 32768, 65536, 131072)),
    ],
)
def test_chosen_schedules(network: Callable[[], list[Layer]], size: int) -> None:
    found = list(searches(network(), size))
    assert found
    for module, layer, schedule, cost in found:
        check(cost, simulate(schedule, module.cost(layer, module.requantizers[0])))
