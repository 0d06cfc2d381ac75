"""NE16's cost model reads and writes as many registers as the driver does to start a tile's jobs."""

from __future__ import annotations

import random
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from match.cost_models.ne16 import Ne16Cost
from match.ir.attributes import ChannelGroups
from match.ir.layer import Layer, Op, Padding
from match.prediction.blocks import tile_of
from match.targets.gap9.target import NE16_SOURCES
from tests.kernels.toolchain import PROJECT, STRICT, compile_c
from tests.seeds import seeded

pytestmark = pytest.mark.cc

SOURCES = [*(PROJECT / name for name in NE16_SOURCES), PROJECT / "tests/cost_models/ne16_jobs.c"]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(SOURCES, tmp_path_factory.mktemp("ne16") / "jobs", *STRICT)


def layers(rng: random.Random, count: int) -> list[Layer]:
    """Whole layers with what decides on jobs: odd and even channels, groups, sizes, strides, all paddings."""
    found: list[Layer] = []
    while len(found) < count:
        op = rng.choice([Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D])
        filter_size = 3 if op is Op.DEPTHWISE_CONV2D else rng.choice([1, 3, 3])
        stride = rng.choice([1, 2])
        most = 2 if filter_size == 3 else 0
        padding = Padding(*(rng.randint(0, most) for _ in range(4)))
        iy, ix = rng.randint(3, 12), rng.randint(3, 12)
        oy = (iy + padding.top + padding.bottom - filter_size) // stride + 1
        ox = (ix + padding.left + padding.right - filter_size) // stride + 1
        k, outputs = rng.randint(1, 40), rng.randint(1, 40) if op is Op.GROUPED_CONV2D else 1
        c = 1 if op is Op.DEPTHWISE_CONV2D else 16
        if min(oy, ox) > 0 and bottom_is_seen(padding, oy, ox, iy, ix, filter_size, stride):
            size = filter_size
            layer = Layer("l", op, k, c, oy, ox, iy, ix, size, size, (stride, stride), padding=padding)
            found.append(replace(layer, attributes=ChannelGroups(outputs)))
    return found


def bottom_is_seen(padding: Padding, oy: int, ox: int, iy: int, ix: int, size: int, stride: int) -> bool:
    """Whether the last window reaches the end of the padding, so that none of what the layer says is idle."""
    rows = (oy - 1) * stride + size == iy + padding.top + padding.bottom
    return rows and (ox - 1) * stride + size == ix + padding.left + padding.right


def predicted(layer: Layer) -> float:
    """Accesses, by what another cycle for each costs."""
    tile = tile_of(layer, layer.spans)
    slow, slower = (Ne16Cost(access=access).compute(layer, tile) for access in (10**6, 10**6 + 1))
    return slower - slow


def fields(layer: Layer) -> tuple[int, ...]:
    """What the program reads behind the mode."""
    padding = layer.padding
    channels = (layer.k, layer.get(ChannelGroups).outputs) if layer.op is Op.GROUPED_CONV2D else (0, layer.k)
    return *channels, layer.oy, layer.ox, layer.stride[0], padding.top, padding.left, layer.iy, layer.ix


@seeded(10)
def test_accesses_are_the_drivers(seed: int, driver: Path) -> None:
    """One run of the program is told of several layers."""
    cases = layers(random.Random(seed), 30)
    lines = [(0 if case.op is Op.DEPTHWISE_CONV2D else case.fy, *fields(case)) for case in cases]
    text = "\n".join(" ".join(map(str, line)) for line in lines)
    result = subprocess.run([driver], input=text, capture_output=True, text=True, check=True)
    counts = [int(line) for line in result.stdout.split()]
    assert len(set(counts)) > 1
    wrong = [(c, got, predicted(c)) for c, got in zip(cases, counts, strict=True) if predicted(c) != pytest.approx(got)]
    assert wrong == []
