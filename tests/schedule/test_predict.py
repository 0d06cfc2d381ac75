from __future__ import annotations

import random

import pytest

from match.schedule.predict import predict
from tests.schedule.random_schedules import random_cost, random_layer, random_schedule
from tests.schedule.walk import walk


def test_equals_a_walk_over_every_event() -> None:
    rng = random.Random(1)
    for _ in range(600):
        layer = random_layer(rng, 12)
        schedule = random_schedule(rng, layer)
        model = random_cost(rng)
        cost, line = predict(schedule, model), walk(schedule, model)
        assert cost.cycles == pytest.approx(line.cycles, rel=1e-12), (schedule, model)
        assert cost.compute == pytest.approx(line.compute, rel=1e-12)
        assert cost.transfer == pytest.approx(line.transfer, rel=1e-12)
        assert cost.overhead == pytest.approx(line.overhead, rel=1e-12)
        assert dict(cost.moved) == line.moved
