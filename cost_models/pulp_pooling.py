"""Pooling on a PULP cluster."""

from __future__ import annotations

from match.cost_models.pulp_cycles import (
    LOOKED_UP_AVERAGE,
    MANY,
    MANY_SUM4,
    MAXIMUM4,
    MAXIMUM_COLUMNS,
    MAXIMUM_ROW,
    SUM4,
    looked_up,
)
from match.cost_models.pulp_loops import share_of_channels
from match.cost_models.pulp_team import Team
from match.ir.layer import Layer, Op
from match.target.cost import Tile, ceil_div, choose, smaller


def pooling(team: Team, layer: Layer, tile: Tile) -> float:
    """Pixels are shared out or, of fewer than cores, channels, four at a time; fewer take as long."""
    pixels, cycles = tile.oy * tile.ox, team.cycles
    by_pixels = pixels >= team.cores
    share = choose(by_pixels, ceil_div(pixels, team.cores), pixels)
    rows = choose(by_pixels, ceil_div(share, tile.ox), tile.oy)
    fours = share_of_channels(tile.k, team.cores, 0)
    channels = choose(by_pixels, tile.k, smaller(fours, tile.k))
    shared = cycles.pool_share if team.cores > 1 else 0
    if layer.op is Op.AVG_POOL2D:
        last = choose(channels % 4 > 0, cycles.average_last, 0)
        few = tile.fy * tile.fx * (cycles.sum_element + cycles.sum_channel * channels)
        fours = choose(channels < 4, few, ceil_div(channels, 4) * _average(team, layer, tile))
        pixel = cycles.average_pixel + last + fours
        return shared + cycles.average_call + rows * cycles.average_row + share * pixel
    return shared + rows * cycles.maximum_row + share * _maximum(team, layer, tile, channels)


def _average(team: Team, layer: Layer, tile: Tile) -> float:
    """Four channels of a window."""
    elements = tile.fy * tile.fx
    rows = 1 if tile.fx == layer.ix else tile.fy  # rows without gaps between them are one
    long = elements // rows >= MANY
    sums = elements * choose(long, MANY_SUM4, SUM4) + rows * choose(long, team.cycles.sum_many, team.cycles.sum_row)
    sums = sums + choose((elements >= MANY) & (team.form in ("int32", "split")), team.cycles.sum_many, 0)
    outputs = team.by_form("averages")
    if team.listed:
        alone = team.form == "int64"
        outputs = outputs + 4 * LOOKED_UP_AVERAGE if alone else team.cycles.averages_apart
        outputs += 4 * looked_up(team.listed)
    return outputs + sums


def _maximum(team: Team, layer: Layer, tile: Tile, channels: int) -> float:
    """All of some channels of a window; of four or more the last ones are computed with those before them."""
    cycles = team.cycles
    rows, columns = (1, tile.fy * tile.fx) if tile.fx == layer.ix else (tile.fy, tile.fx)
    parts, last = divmod(columns, MAXIMUM_COLUMNS)
    of_parts = [MAXIMUM4 + rows * MAXIMUM_ROW[MAXIMUM_COLUMNS]] * parts
    of_parts += [MAXIMUM4 + rows * MAXIMUM_ROW[last]] if last else []
    fours, rest = divmod(channels, 4)
    call = cycles.maximum_call + (len(of_parts) - 1) * cycles.maximum_part
    whole = call * choose(rest > 0, 2, 1) + (fours + choose(rest > 0, 1, 0)) * sum(of_parts)
    few = rest * (cycles.maximum_one + cycles.maximum_element * tile.fy * tile.fx)
    return cycles.maximum_pixel + choose(fours > 0, whole, few)


def float_average(team: Team, _layer: Layer, tile: Tile) -> float:
    """Cores share out the outputs. Of an even number of values, some means are halves, which float32 computes."""
    cycles, count = team.cycles, tile.fy * tile.fx
    share = ceil_div(tile.oy * tile.ox * tile.k, team.cores)
    halves = (1 - count % 2) / count
    output = cycles.float_average + count * cycles.float_element
    in_float = cycles.float_half + count * cycles.float_sum
    return ceil_div(share, tile.k) * cycles.float_window + share * (output + halves * in_float)
