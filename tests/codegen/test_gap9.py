"""Generated C of single layers on GAP9's modules: real kernels, driver and DMA, tiles that divide nothing."""

from __future__ import annotations

import numpy as np
import pytest

from match.dispatch.plan import LayerPlan
from match.ir.layer import Dim, Op, Padding
from match.mapping.schedule import Loop
from match.prediction.blocks import largest_tile
from match.target.cost import Tile
from match.target.hardware import HwModule
from match.targets.gap9.memory import L1
from match.targets.gap9.ne16 import STREAM_OUT, Ne16
from match.targets.gap9.target import Gap9
from match.targets.pulp.cluster import Cluster
from match.targets.pulp.kernels import INT64, INT64_SIGNED
from tests.codegen.harness import plan, run
from tests.codegen.layers import Case, make

pytestmark = pytest.mark.cc

TILES = {Dim.OY: 3, Dim.K: 16, Dim.OX: 5}


def cluster_cases() -> list[Case]:
    pads = Padding(1, 2, 1, 0)
    return [
        make(Op.CONV2D, 5, 37, 11, 9, window=(3, 3), stride=(2, 1), padding=pads, negative_step=True),
        make(Op.CONV2D, 19, 33, 7, 6),
        make(Op.CONV2D, 4, 20, 12, 13, window=(3, 2), dilation=(2, 3), padding=Padding(2, 1, 0, 3)),
        make(Op.DEPTHWISE_CONV2D, 35, 35, 9, 11, window=(3, 5), stride=(1, 2), padding=pads, negative_step=True),
        make(Op.DENSE, 130, 50, 1, 1),
        make(Op.ADD, 34, 34, 7, 8),
        make(Op.ADD, 34, 34, 7, 8, broadcast="pixel"),
        make(Op.LOOKUP, 34, 34, 7, 8),
        make(Op.AVG_POOL2D, 33, 33, 8, 12, window=(2, 2), stride=(2, 2)),
        make(Op.MAX_POOL2D, 33, 33, 9, 12, window=(3, 2), stride=(2, 2), padding=Padding(1, 1, 1, 0)),
    ]


def ne16_cases() -> list[Case]:
    pads = Padding(1, 1, 1, 1)
    return [
        make(Op.CONV2D, 21, 50, 9, 8, window=(3, 3), padding=pads, negative_step=True),
        make(Op.CONV2D, 16, 40, 11, 9, window=(3, 3), stride=(2, 2), padding=Padding(0, 0, 1, 1)),
        make(Op.CONV2D, 40, 37, 7, 6),
        make(Op.DEPTHWISE_CONV2D, 37, 37, 9, 8, window=(3, 3), padding=pads),
    ]


def reduced_cases() -> list[Case]:
    """Operators that keep partial sums, over input channels of which the last tile has fewer."""
    pads = Padding(1, 2, 1, 0)
    return [
        make(Op.CONV2D, 37, 21, 11, 9, window=(3, 3), stride=(2, 1), padding=pads, negative_step=True),
        make(Op.CONV2D, 19, 33, 7, 6),
        make(Op.CONV2D, 33, 20, 9, 8, window=(3, 2), dilation=(2, 3), padding=Padding(2, 1, 0, 3)),
        make(Op.DENSE, 130, 50, 1, 1),
        make(Op.DENSE, 50, 33, 1, 7, negative_step=True),
    ]


def tiled(case: Case, module: HwModule, number: int) -> LayerPlan:
    """Rows, channels and columns cut, or channels and rows; operands as deep as they go, or all at the top."""
    layer = case.layer
    requant = case.constants.requantization
    plain, signed = STREAM_OUT[:2] if isinstance(module, Ne16) else (INT64, INT64_SIGNED)
    requantizer = None if requant is None else signed if requant.negative_step is not None else plain
    order = list(TILES) if number % 2 else [Dim.K, Dim.OY]
    loops = [Loop(dim, TILES[dim], layer.size(dim)) for dim in order if TILES[dim] < layer.size(dim)]
    operands = module.operands(layer, requantizer)
    depths = {
        o.name: 0 if number % 3 == 2 else max([0, *(d for d, loop in enumerate(loops, 1) if loop.dim in o.dims)])
        for o in operands
    }
    extents = {dim: min(TILES.get(dim, layer.size(dim)), layer.size(dim)) for dim in Dim}
    sizes = {dim.value.lower(): extents[dim] if dim in order else layer.size(dim) for dim in Dim}
    window = layer.window
    rows = (sizes["oy"] - 1) * layer.stride[0] + window[0]
    columns = (sizes["ox"] - 1) * layer.stride[1] + window[1]
    scratch = module.cost(layer, requantizer).scratch(layer, Tile(**sizes, iy=rows, ix=columns, begin=True, end=True))
    return plan(
        case,
        loops,
        depths,
        {o.name: 1 + (number + i) % 2 for i, o in enumerate(operands)},
        symbol=f"layer_{number}",
        scratch=scratch,
        module=module,
        requantizer=requantizer,
    )


def reduced(case: Case, number: int, order: tuple[Dim, ...]) -> LayerPlan:
    """Loops in this order, each operand as deep as it goes, but the output outside the loop over input channels."""
    layer, module = case.layer, Cluster(L1)
    requant = case.constants.requantization
    assert requant is not None
    requantizer = INT64_SIGNED if requant.negative_step is not None else INT64
    tiles = {**TILES, **module.tile_multiples(layer)}
    loops = [Loop(dim, tiles[dim], layer.size(dim)) for dim in order if tiles[dim] < layer.size(dim)]
    operands = module.operands(layer, requantizer)
    depths = {o.name: max([0, *(d for d, loop in enumerate(loops, 1) if loop.dim in o.dims)]) for o in operands}
    outside = loops[: [loop.dim for loop in loops].index(Dim.C)]
    depths["output"] = max([0, *(d for d, loop in enumerate(outside, 1) if loop.dim is not Dim.C)])
    sizes = layer.extents | {loop.dim: loop.tile for loop in loops}
    scratch = module.cost_model.scratch(layer, largest_tile(layer, sizes))
    buffers = {o.name: 1 + (number >> i & 1) for i, o in enumerate(operands)}
    return plan(
        case,
        loops,
        depths,
        buffers,
        symbol=f"layer_{number}",
        scratch=scratch,
        module=module,
        requantizer=requantizer,
    )


def test_partial_sums_equal_the_whole() -> None:
    orders = [(Dim.K, Dim.OY, Dim.C), (Dim.OX, Dim.C, Dim.K), (Dim.C, Dim.OY, Dim.K), (Dim.OY, Dim.C, Dim.OX)]
    repeated = [(case, order) for case in reduced_cases() for order in orders]
    plans = [reduced(case, number, order) for number, (case, order) in enumerate(repeated)]
    cases = [case for case, _ in repeated]
    for item, case, output in zip(plans, cases, run(plans, cases, target=Gap9()), strict=True):
        assert item.schedule.partial_bytes > 0
        assert np.array_equal(output, case.expected()), f"{item.layer} {item.schedule.loops} {item.schedule.placements}"


@pytest.mark.parametrize(
    ("module", "cases"), [(Cluster(L1), cluster_cases()), (Ne16(), ne16_cases())], ids=("cluster", "ne16")
)
def test_layers_equal_their_definition(module: HwModule, cases: list[Case]) -> None:
    repeated = [case for case in cases for _ in range(3)]
    plans = [tiled(case, module, number) for number, case in enumerate(repeated)]
    for item, case, output in zip(plans, repeated, run(plans, repeated, target=Gap9()), strict=True):
        assert np.array_equal(output, case.expected()), f"{item.layer} {item.schedule.loops} {item.schedule.placements}"
