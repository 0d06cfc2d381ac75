"""DIANA's cost model against published figures and the promises that the search builds on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.cost_models.diana import DIANA_CORE, DianaDigitalCost
from match.ir.layer import Dim, Layer, Op, Padding
from match.prediction.blocks import Span, tile_of
from match.target.cost import Block

pytestmark = pytest.mark.unit

BARE = DianaDigitalCost(access=0)
SAME = Padding(1, 1, 1, 1)


def conv(k: int, c: int, size: int, **changes: object) -> Layer:
    layer = Layer("conv", Op.CONV2D, k, c, size, size, size, size, 3, 3, padding=SAME)
    return replace(layer, **changes)  # type: ignore[arg-type]


LAYERS = [
    conv(64, 64, 32),
    conv(33, 20, 9),
    conv(20, 3, 24, stride=(2, 2), oy=12, ox=12, padding=Padding(0, 0, 1, 1)),
    conv(20, 3, 24, fy=7, fx=5, padding=Padding(3, 2, 3, 2)),
    conv(20, 3, 24, fy=5, fx=1, stride=(2, 2), oy=12, ox=12, padding=Padding(1, 0, 2, 0)),
    conv(37, 18, 11, fy=1, fx=1, padding=Padding()),
    conv(37, 18, 11, fy=1, fx=1, stride=(2, 2), oy=6, ox=6, padding=Padding()),
    conv(40, 1, 13, op=Op.DEPTHWISE_CONV2D),
    Layer("dense", Op.DENSE, 70, 45, 1, 1, 1, 1),
    Layer("dense", Op.DENSE, 13, 640, 1, 3, 1, 3),
    Layer("add", Op.ADD, 20, 1, 11, 13, 11, 13, weight_dtype=""),
]


def compute(model: DianaDigitalCost, layer: Layer) -> float:
    return model.compute(layer, tile_of(layer, layer.spans))


def test_single_layer_is_as_far_above_the_measured_one_as_published() -> None:
    """C = K = 64, 32x32, 3x3: 146.12 MAC/cycle measured, 5 % under the model (MATCH paper)."""
    layer = conv(64, 64, 32)
    assert 146.12 / (layer.macs / compute(DianaDigitalCost(), layer)) == pytest.approx(0.95, abs=0.01)


def test_a_block_takes_its_products_reads_and_store() -> None:
    """C * FY * FX + 2 * C * FY + 23 for 16 channels by 16 columns (MATCH paper)."""
    layer = conv(16, 10, 16, iy=3, oy=1, padding=Padding(0, 1, 0, 1))
    block = 10 * 9 + 2 * 10 * 3 + 23
    assert compute(BARE, layer) == block
    assert compute(BARE, replace(layer, k=17)) == compute(BARE, replace(layer, ox=17, ix=17)) == 2 * block
    assert compute(BARE, replace(layer, oy=2, iy=4)) == 2 * block


def test_rows_of_padding_are_skipped() -> None:
    row = 10 * (3 + 2)
    layer = conv(16, 10, 16)
    assert compute(BARE, layer) == 16 * (3 * row + 23) - 2 * row
    wide = conv(16, 10, 16, fy=7, padding=Padding(3, 1, 3, 1))
    assert compute(BARE, wide) == 16 * (7 * row + 23) - 2 * (3 + 2 + 1) * row
    strided = conv(16, 10, 16, stride=(2, 2), oy=8, ox=8, padding=Padding(0, 0, 1, 1))
    assert compute(BARE, strided) == 8 * (3 * row + 23) - row
    inside = {**layer.spans, Dim.OY: (3, 5)}
    assert BARE.compute(layer, tile_of(layer, inside)) == 5 * (3 * row + 23)


def test_depthwise_convolution_has_no_use_for_the_array() -> None:
    """One channel a job: a sixteenth of the convolution's output channels at a time, and a set-up for each."""
    layer = conv(32, 1, 16, op=Op.DEPTHWISE_CONV2D, iy=18, padding=Padding(0, 1, 0, 1))
    assert compute(BARE, layer) == 32 * 16 * (9 + 2 * 3 + 23)
    assert compute(DianaDigitalCost(access=1), layer) - compute(BARE, layer) == 32 * 25


def test_dense_layer_and_addition() -> None:
    assert compute(BARE, Layer("dense", Op.DENSE, 32, 64, 1, 1, 1, 1)) == 2 * (4 * 3 + 23)
    assert compute(BARE, Layer("add", Op.ADD, 32, 1, 8, 16, 8, 16, weight_dtype="")) == 2 * 8 * (16 * 2 + 23)


def test_transfers_block_and_are_charged_by_piece() -> None:
    """70 cycles for each contiguous piece, 128 bits a cycle."""
    model = DianaDigitalCost()
    assert model.transfer(LAYERS[0], Block("input", (4, 10, 16), 640, 1)) == 70 + 40
    assert model.transfer(LAYERS[0], Block("input", (4, 5, 8), 161, 20, 4)) == 20 * 70 + 11
    assert not model.overlap


@pytest.mark.parametrize(
    ("op", "macs", "outputs", "milliseconds"),
    [("conv2d", 12_501_632, 114_856, 133.1), ("dense", 264_192, 1_672, 2.58)],
    ids=["ResNet", "auto-encoder"],
)
def test_tvms_code_on_the_core(op: str, macs: int, outputs: int, milliseconds: float) -> None:
    """Latencies of whole networks at 260 MHz (MATCH paper, Table III)."""
    assert DIANA_CORE.cycles(op, macs, outputs) / 260e3 == pytest.approx(milliseconds, rel=0.1)


CUT = (Dim.K, Dim.OY, Dim.OX)


@st.composite
def cut_tiles(draw: st.DrawFn) -> tuple[Layer, dict[Dim, Span], Dim, int]:
    """A layer, the spans of a tile of it, and a dimension along which that is cut into tiles of a size."""
    layer = draw(st.sampled_from(LAYERS))
    spans = layer.spans
    for dim in draw(st.sets(st.sampled_from(CUT))):
        start = draw(st.integers(0, layer.size(dim) - 1))
        spans[dim] = (start, draw(st.integers(1, layer.size(dim) - start)))
    dim = draw(st.sampled_from(CUT))
    return layer, spans, dim, draw(st.integers(1, spans[dim][1]))


@settings(max_examples=500)
@given(cut_tiles())
def test_cutting_a_tile_never_pays(cut_tile: tuple[Layer, dict[Dim, Span], Dim, int]) -> None:
    layer, spans, dim, size = cut_tile
    model = DianaDigitalCost()
    start, extent = spans[dim]
    parts = [(first, min(size, start + extent - first)) for first in range(start, start + extent, size)]
    cut = [model.compute(layer, tile_of(layer, {**spans, dim: part})) for part in parts]
    assert model.compute(layer, tile_of(layer, spans)) <= sum(cut)


@pytest.mark.parametrize("layer", LAYERS[:8], ids=lambda layer: f"{layer.op}{layer.fy}x{layer.fx}")
def test_more_input_never_costs_less(layer: Layer) -> None:
    """Nor less than nothing: engines ask for tiles without the rows between windows."""
    tile = tile_of(layer, layer.spans)
    costs = [BARE.compute(layer, tile._replace(iy=iy)) for iy in range(1, layer.iy + 1)]
    assert costs == sorted(costs)
    assert costs[0] >= 0


@st.composite
def padded_layers(draw: st.DrawFn) -> Layer:
    """Convolutions along rows, of which windows may reach over both ends of the input."""
    fy = draw(st.integers(1, 5))
    stride = draw(st.integers(1, min(3, fy)))
    top, bottom = draw(st.integers(0, fy - 1)), draw(st.integers(0, fy - 1))
    iy = draw(st.integers(max(1, fy - top - bottom), 9))
    oy = (iy + top + bottom - fy) // stride + 1
    return conv(16, 3, 16, fy=fy, stride=(stride, 1), iy=iy, oy=oy, padding=Padding(top, 0, bottom, 0))


@settings(max_examples=300)
@given(padded_layers())
def test_tiles_of_a_layer_cost_no_less_than_the_whole_whatever_its_padding(layer: Layer) -> None:
    """Where a window reaches over both ends of the input, a tile's rows do not tell where it lies."""
    for size in range(1, layer.oy):
        parts = [(start, min(size, layer.oy - start)) for start in range(0, layer.oy, size)]
        cut = [BARE.compute(layer, tile_of(layer, {**layer.spans, Dim.OY: part})) for part in parts]
        assert compute(BARE, layer) <= sum(cut), size
