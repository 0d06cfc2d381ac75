"""Transpositions on a PULP cluster: what the loops of kernels/pulp/match_pulp_transpose.c take the busiest core."""

from __future__ import annotations

from match.cost_models.pulp_cycles import KernelCycles
from match.cost_models.pulp_loops import WORD, crossing, turned_columns
from match.cost_models.pulp_team import Team
from match.ir.attributes import Transposition
from match.ir.layer import Layer
from match.target.cost import Tile, ceil_div, choose, larger, smaller


def transposition(team: Team, layer: Layer, tile: Tile) -> float:
    """Cycles beside those of the call."""
    size, cores, cycles = layer.get(Transposition).element_bytes, team.cores, team.cycles
    return _bytes(tile, cores, cycles) if size == 1 else _units(size, tile, cores, cycles)


FEW = {2: 9, 3: 12, 4: 8}
"""Cycles of an element of so many bytes, copied byte by byte or as a word. Counted on RTL, of 64 to a pixel."""


def _units(unit: int, tile: Tile, cores: int, cycles: KernelCycles) -> float:
    """Elements of more than one byte; pixels are shared out."""
    element = float(FEW[unit]) if unit in FEW else _element(unit, cycles)
    return ceil_div(tile.oy * tile.ox, cores) * (cycles.turned_pixel + element * tile.k)


def _element(unit: int, cycles: KernelCycles) -> float:
    """One of more than a word: pairs of words in a loop, and what is left behind them, or alone."""
    pairs, rest = divmod(unit, 2 * WORD)
    left = (cycles.turned_left if pairs else cycles.turned_left / 2) if rest else 0
    return cycles.turned_unit + cycles.turned_word * 2 * pairs + left


def _bytes(tile: Tile, cores: int, cycles: KernelCycles) -> float:
    """Fours of pixels are shared out, or of channels, by what the core with most has to do (`turn_bytes`)."""
    in_row, rest = ceil_div(tile.ox, 4), tile.ox % 4
    fours, channel_fours = tile.oy * in_row, ceil_div(tile.k, 4)
    each, each_channels = ceil_div(fours, cores), ceil_div(channel_fours, cores)
    by_channels = fours * each_channels < each * channel_fours
    channels = choose(by_channels, smaller(tile.k, 4 * each_channels), tile.k)
    fours = choose(by_channels, fours, each)
    across = crossing(tile.ox)
    four = turned_columns(channels, across, crossing(tile.k))
    four = choose(tile.k == 3, 13 + 3 * across, choose(tile.k == 2, 7 + 2 * across, four))
    left = choose(tile.ox > 4, cycles.turned_rest, 0) + rest * (3 + 2 * channels)
    rests = choose(rest > 0, choose(left > four, ceil_div(fours, in_row), fours // in_row), 0)
    begun = choose(in_row % larger(fours % in_row, 1) > 0, 1, 0)  # a row that an uneven share begins in
    seen = smaller(tile.oy, ceil_div(fours, in_row) + begun)
    share = cycles.turned_share if cores > 1 else 0
    return share + seen * cycles.turned_row + (fours - rests) * four + rests * left
