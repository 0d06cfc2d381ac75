"""NE16's cost model beside jobs that GVSoC counted, from their start to their end, without what programs them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from match.cost_models.ne16 import SIMULATED, Latencies, Ne16Cost
from match.ir.layer import Layer, Op
from match.prediction.blocks import tile_of

pytestmark = pytest.mark.unit


class Job(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A job of whole pixels, outputs as (rows, columns), requantized with multipliers of so many bytes; its cycles."""

    mode: str
    stride: int
    outputs: tuple[int, int]
    inputs: int
    channels: int
    multiplier_bytes: int
    weight_bits: int
    cycles: int

    @property
    def layer(self) -> Layer:
        """What it is all of."""
        size = 1 if self.mode == "1x1" else 3
        op, c = (Op.DEPTHWISE_CONV2D, 1) if self.mode == "depthwise" else (Op.CONV2D, self.inputs)
        oy, ox = self.outputs
        iy, ix = ((outputs - 1) * self.stride + size for outputs in self.outputs)
        stride = self.stride, self.stride
        return Layer("l", op, self.channels, c, oy, ox, iy, ix, size, size, stride, weight_bits=self.weight_bits)


JOBS = msgspec.json.decode(Path(__file__).with_name("ne16_counted.json").read_bytes(), type=list[Job])


def predicted(job: Job, latencies: Latencies = SIMULATED) -> float:
    """Its cycles where nothing programs it."""
    model = Ne16Cost(latencies=latencies, multiplier_bytes=job.multiplier_bytes, access=0, tile=0, arithmetic=0)
    return replace(model, row=0, place=0).compute(job.layer, tile_of(job.layer, job.layer.spans))


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_jobs_are_predicted_as_they_were_counted(job: Job) -> None:
    assert predicted(job) == pytest.approx(job.cycles, rel=0.05)


def test_all_jobs_together_are_predicted_as_they_were_counted() -> None:
    assert sum(map(predicted, JOBS)) == pytest.approx(sum(job.cycles for job in JOBS), rel=0.01)


def test_stores_wait_for_banks() -> None:
    """All pixels of 64 channels begin in the same bank, and all but the first of 18 sub-tiles wait there."""
    free = SIMULATED._replace(bank=1)
    waiting = {job.mode: predicted(job) - predicted(job, free) for job in JOBS if job.outputs == (25, 5)}
    blocks = {"depthwise": 4, "1x1": 2}
    assert waiting == {mode: count * (125 - 18) * 3 for mode, count in blocks.items()}
