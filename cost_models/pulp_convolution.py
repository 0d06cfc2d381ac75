"""Convolutions on a PULP cluster: windows that are laid out, or lie in runs, and their products."""

from __future__ import annotations

from functools import partial

from match.cost_models.pulp_loops import (
    WORD,
    align4,
    are_runs,
    are_shared,
    border_rows,
    border_windows,
    columns_bytes,
    even,
    is_pointwise,
    unaligned,
)
from match.cost_models.pulp_products import Product, pointwise, product_of, share_of
from match.cost_models.pulp_team import Team
from match.ir.attributes import ChannelGroups
from match.ir.layer import Layer
from match.target.cost import Tile, at_each, ceil_div, choose, choose_for, smaller


def convolution(team: Team, layer: Layer, tile: Tile) -> float:
    """Windows of one pixel are multiplied where they lie, others are laid out."""
    return pointwise(team, tile) if is_pointwise(layer) else _laid_out_windows(team, layer, tile)


def grouped(team: Team, layer: Layer, tile: Tile) -> float:
    """Groups are computed one after the other."""
    begin = team.cycles.group + (team.cycles.group_share if team.cores > 1 else 0)
    return tile.k * (begin + convolution(team, layer, tile._replace(k=layer.get(ChannelGroups).outputs)))


def columns_scratch(team: Team, _layer: Layer, tile: Tile) -> int:
    """Bytes of the windows that each core lays out."""
    scratch: int = team.cores * columns_bytes(align4(tile.fy * tile.fx * tile.c) + WORD)
    return scratch


def convolution_scratch(team: Team, layer: Layer, tile: Tile) -> int:
    """Bytes of windows, if they are laid out."""
    return 0 if is_pointwise(layer) else columns_scratch(team, layer, tile)


def _laid_out_windows(team: Team, layer: Layer, tile: Tile) -> float:
    """Cores share out blocks of two pixels by four channels; a core that has a row or less has no single pixel.

    A tile is taken to have as many windows beside the input as the layer, and its share of those above and below:
    where it lies changes nothing.
    """
    share = share_of(team, tile.oy, tile.ox, tile.k)
    row = _mean_row(team, layer, tile)
    rows = ceil_div(tile.oy, team.cores) * team.cycles.line
    if team.cores == 1:
        return rows + share * row
    row = choose(tile.oy <= team.cores, _mean_row(team, layer, tile._replace(ox=even(tile.ox))), row)
    return rows + choose_for(tile, share < 1, partial(_part_of_row, team, layer), share * row)


def _part_of_row(team: Team, layer: Layer, tile: Tile) -> float:
    """What a core has of a tile that is less than a row: pairs of pixels, or some channels of one."""

    def channels(some: Tile) -> float:
        pair = some._replace(ox=smaller(2, some.ox))
        return at_each(_units(team, some), lambda units: _mean_row(team, layer, pair._replace(k=4 * units)))

    pairs = ceil_div(tile.oy * ceil_div(tile.ox, 2), team.cores)
    pixels = at_each(smaller(2 * pairs, tile.ox), lambda ox: _mean_row(team, layer, tile._replace(ox=ox)))
    return choose_for(tile, _units(team, tile) < ceil_div(tile.k, 4), channels, pixels)


def _units(team: Team, tile: Tile) -> int:
    """Pairs of pixels by fours of channels that a core has."""
    return ceil_div(tile.oy * ceil_div(tile.ox, 2) * ceil_div(tile.k, 4), team.cores)


def _mean_row(team: Team, layer: Layer, tile: Tile) -> float:
    """A row of outputs, with its share of windows above and below the input; independent of `tile.oy`."""
    product = product_of(team, tile.k, align4(tile.fy * tile.fx * tile.c), tile)
    laid_out = _laid_out(team, layer, tile, tile.ox, product)
    if not are_runs(layer):
        return laid_out
    row = choose(tile.c % WORD == 0, _row_in_place(team, layer, tile, product), laid_out)
    outside = border_rows(layer) / layer.oy
    return row + outside * (laid_out - row)


def _row_in_place(team: Team, layer: Layer, tile: Tile, product: Product) -> float:
    """A row of outputs, whose windows are multiplied where they lie; those beside the input are laid out."""
    beside = smaller(border_windows(layer), tile.ox)
    run = tile.ox - beside
    work = choose(run > 0, product.cycles(run), 0)
    return work + choose(beside > 0, _laid_out(team, layer, tile, beside, product), 0)


def _laid_out(team: Team, layer: Layer, tile: Tile, windows: int, product: Product) -> float:
    """Windows that are laid out by columns of the input, and multiplied, as many at a time as there is room for."""
    cycles = team.cycles
    length = align4(tile.fy * tile.fx * tile.c)
    shared = are_shared(layer, tile)
    distance = choose(shared, layer.stride[1] * tile.fy * tile.c, length)
    room = (columns_bytes(length + WORD) - length - WORD) // distance + 1
    at_once = room // 2 * 2
    whole, some = divmod(windows, at_once)
    times = ceil_div(windows, at_once)
    work = whole * product.cycles(at_once) + choose(some > 0, product.cycles(some), 0)
    longer = choose(shared, unaligned(layer, tile) / 4, 0)
    work = work + windows * ceil_div(tile.k, 4) * (length // WORD) * longer
    calls = times * choose(shared, 1, layer.fx)
    columns = choose(shared, windows * layer.stride[1] + times * (layer.fx - layer.stride[1]), windows * layer.fx)
    return work + cycles.laid_out(layer, tile, columns, calls, shared | (layer.stride[1] == 1))
