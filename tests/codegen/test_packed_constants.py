from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from match.codegen.packed_text import packed_text
from match.dispatch.packed_constants import pack_constants, pieces
from match.errors import ScheduleError, TargetError
from match.ir.constants import Filters
from match.ir.layer import Dim, Op
from match.mapping.schedule import Loop, Placement, Schedule
from tests.codegen.harness import plan
from tests.codegen.layers import Case, make
from tests.codegen.mock_target import PLAIN, SCRATCHPAD, MockModule
from tests.layer_data import data_of

pytestmark = pytest.mark.cc

CASE = make(Op.CONV2D, 2, 10, 4, 4)
PARAMETERS = 16


def packed(loops: list[Loop], depth: int, module: MockModule | None = None, case: Case = CASE) -> bytes:
    module = module or MockModule()
    operands = module.operands(case.layer, PLAIN)
    depths = {"weights": depth}
    placements = tuple(Placement(o.name, SCRATCHPAD.name, depths.get(o.name, 0)) for o in operands)
    schedule = Schedule(case.layer, operands, (SCRATCHPAD,), tuple(loops), placements)
    return pack_constants([module], case.layer, [PLAIN], [case.constants], schedule)


def filters(start: int, stop: int) -> bytes:
    return data_of(CASE.constants, Filters).values[start:stop].tobytes()


def test_each_block_once_however_often_it_is_fetched() -> None:
    """Inside a loop over rows the blocks are fetched again and again; they are stored once, zeros behind the last."""
    data = packed([Loop(Dim.OY, 1, 4), Loop(Dim.K, 4, 10)], depth=2)
    block = 8 + 4 * PARAMETERS
    assert len(data) == 3 * block
    assert [data[i * block :][:8] for i in range(3)] == [filters(0, 4), filters(4, 8), filters(8, 10) + bytes(4)]
    assert data[2 * block + 8 + 2 * PARAMETERS :] == bytes(2 * PARAMETERS)


class Columns(MockModule):
    """Packs the parameters of a tile as one array after another, as some accelerators want them."""

    def pack(self, layer, requantizer, constants, spans):
        weights, parameters = super().pack(layer, requantizer, constants, spans)
        entries = np.frombuffer(parameters, "<i8,<i4,<i4")
        return weights, b"".join(entries[name].tobytes() for name in entries.dtype.names or ())


def test_components_are_packed_tile_by_tile() -> None:
    loops = [Loop(Dim.K, 8, 10), Loop(Dim.K, 3, 8)]
    data = packed(loops, depth=1, module=Columns())
    requant = CASE.constants.requantization
    assert requant is not None
    block = 16 + 8 * PARAMETERS
    assert len(data) == 2 * block
    for start, extent in ((0, 3), (3, 3), (6, 2), (8, 2)):
        offset = start // 8 * block + 16 + start % 8 * PARAMETERS
        biases = np.frombuffer(data, "<i8", extent, offset)
        shifts = np.frombuffer(data, "<i4", extent, offset + 12 * extent)
        assert biases.tolist() == requant.bias[start : start + extent].tolist()
        assert shifts.tolist() == [20] * extent


def test_input_channels_have_blocks_with_parameters_of_their_own() -> None:
    """In the order of first fetch; filters of a tile's channels lie together, also where the last tile has fewer."""
    case = make(Op.CONV2D, 5, 10, 4, 4)
    weights = data_of(case.constants, Filters).values.reshape(10, 5)
    block = 4 * 2 + 4 * PARAMETERS
    k, c = Loop(Dim.K, 4, 10), Loop(Dim.C, 2, 5)
    ranges = {k: [(0, 4), (4, 8), (8, 10)], c: [(0, 2), (2, 4), (4, 5)]}
    for order in ((k, c), (c, k)):
        data = packed([Loop(Dim.OY, 1, 4), *order], depth=3, case=case)
        assert len(data) == 9 * block
        spans = itertools.product(*(ranges[loop] for loop in order))
        for number, pair in enumerate(spans):
            (k0, k1), (c0, c1) = pair if order[0] is k else pair[::-1]
            content = weights[k0:k1, c0:c1].tobytes()
            assert data[number * block :][:8] == content + bytes(8 - len(content))
            assert any(data[number * block + 8 : (number + 1) * block])


def test_output_channels_inside_a_block_are_a_tile_apart() -> None:
    case = make(Op.CONV2D, 5, 10, 4, 4)
    weights = data_of(case.constants, Filters).values.reshape(10, 5)
    data = packed([Loop(Dim.C, 3, 5), Loop(Dim.K, 4, 10)], depth=1, case=case)
    block = 32 + 10 * PARAMETERS
    for number, (c0, c1) in enumerate(((0, 3), (3, 5))):
        for k0 in (0, 4, 8):
            content = weights[k0 : k0 + 4, c0:c1].tobytes()
            assert data[number * block + k0 * 3 :][: len(content)] == content


def test_a_module_that_packs_too_much_is_found_out() -> None:
    class Greedy(MockModule):
        def pack(self, layer, requantizer, constants, spans):
            weights, parameters = super().pack(layer, requantizer, constants, spans)
            return weights + b"\0", parameters

    with pytest.raises(TargetError, match=r"makes 21 bytes of filter for 10 output channels .* its operands have 20;"):
        packed([], depth=0, module=Greedy())


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (lambda spans: {**spans, Dim.K: (0, 10)}, "makes 20 bytes of filter for 4 output channels .* have 8;"),
        (lambda spans: {**spans, Dim.K: (0, min(spans[Dim.K][1], 2))}, "makes 4 bytes of filter for 4 output"),
        (lambda spans: {**spans, Dim.C: (0, 1)}, "makes 4 bytes of filter for 4 output channels .* have 8;"),
    ],
)
def test_every_tile_has_the_bytes_of_its_operand(other: Callable[[Any], Any], sentence: str) -> None:
    """Also where the module packs right what is one tile, such as the layers of `match check-target`."""

    class Elsewhere(MockModule):
        def pack(self, layer, requantizer, constants, spans):
            return super().pack(layer, requantizer, constants, spans if spans[Dim.K][1] == 10 else other(spans))

    packed([], depth=0, module=Elsewhere())
    with pytest.raises(TargetError, match=sentence):
        packed([Loop(Dim.K, 4, 10)], depth=1, module=Elsewhere())


def test_a_tile_that_does_not_end_where_channels_lie_together() -> None:
    case = make(Op.CONV2D, 2, 32, 4, 4)

    class Grouped(MockModule):
        def operands(self, layer, requantizer):
            first, weights, output = super().operands(layer, requantizer)
            channels, *rest = weights.components[0].axes
            grouped = replace(weights.components[0], axes=(replace(channels, multiple=16), *rest))
            return first, replace(weights, components=(grouped, *weights.components[1:])), output

        def pack(self, layer, requantizer, constants, spans):
            weights, parameters = super().pack(layer, requantizer, constants, spans)
            return weights.ljust(-(-spans[Dim.K][1] // 16) * 32, b"\0"), parameters

    assert packed([Loop(Dim.K, 16, 32)], depth=0, module=Grouped(), case=case)
    with pytest.raises(ScheduleError, match="tiles must be multiples of what lies together"):
        packed([Loop(Dim.K, 8, 32)], depth=0, module=Grouped(), case=case)


def test_a_layer_without_constants_has_no_bytes() -> None:
    assert plan(make(Op.MAX_POOL2D, 4, 4, 5, 6, window=(2, 2))).constants == b""


def test_channels_must_be_the_slowest_axis() -> None:
    module = MockModule()
    operands = module.operands(CASE.layer, PLAIN)
    weights = operands[1]
    turned = replace(weights.components[0], axes=weights.components[0].axes[::-1])
    operands = (operands[0], replace(weights, components=(turned, weights.components[1])), operands[2])
    placements = tuple(Placement(o.name, SCRATCHPAD.name, 0) for o in operands)
    schedule = Schedule(CASE.layer, operands, (SCRATCHPAD,), (), placements)
    with pytest.raises(ScheduleError, match="slowest axis"):
        pack_constants([module], CASE.layer, [PLAIN], [CASE.constants], schedule)


def test_pieces_of_nested_tiles() -> None:
    assert list(pieces(0, 11, [7, 4])) == [(0, 4), (4, 3), (7, 4)]
    assert list(pieces(5, 3, [])) == [(5, 3)]


@pytest.mark.parametrize("loops", [[], [Loop(Dim.K, 4, 11)], [Loop(Dim.C, 4, 10), Loop(Dim.K, 3, 11)]])
def test_constants_are_printed_in_their_order_and_labelled(loops: list[Loop]) -> None:
    case = make(Op.CONV2D, 10, 11, 6, 5, window=(3, 3))
    item = plan(case, loops, {"weights": len(loops)})
    text = packed_text(item)
    printed = re.sub(r"/\*.*?\*/", "", text).replace(",", " ").split()
    assert bytes(map(int, printed)) == item.constants
    first = [line.strip() for line in text.splitlines() if "/*" in line][:2]
    channels = loops[-1].tile if loops else 11
    assert first[0].startswith(f"/* filter, output channels 0 to {channels - 1}, input channels 0 to ")
    assert first[1].startswith("/* 0 */ ")
