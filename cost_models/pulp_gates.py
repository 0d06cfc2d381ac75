"""Recurrent layers on a PULP cluster: units are shared out, and each sums up the products of its gates."""

from __future__ import annotations

from match.cost_models.pulp_loops import WORD, align4, short_step
from match.cost_models.pulp_products import block_steps
from match.cost_models.pulp_team import Team
from match.ir.layer import Layer
from match.target.cost import Tile, ceil_div, choose


def lstm(team: Team, _layer: Layer, tile: Tile) -> float:
    """Units are shared out; in the first step states are zero and not multiplied."""
    cycles, units = team.cycles, ceil_div(tile.k, team.cores)
    fed, back = (_gate_sums(team, length) for length in (tile.c, tile.k))
    unit = tile.oy * (cycles.lstm_unit + fed) + (tile.oy - 1) * back
    return tile.oy * cycles.lstm_step + tile.ox * units * unit


def gru(team: Team, _layer: Layer, tile: Tile) -> float:
    """As an LSTM; two gates are summed up together, the third by itself."""
    cycles, units = team.cycles, ceil_div(tile.k, team.cores)
    fed, back = _gru_products(tile)
    unit = tile.oy * (cycles.gru_unit + cycles.gru_sums + fed) + (tile.oy - 1) * (cycles.gru_sums + back)
    return tile.oy * cycles.gru_step + tile.ox * units * unit


def gru_reset_first(team: Team, _layer: Layer, tile: Tile) -> float:
    """As another GRU, in two loops, between which all cores meet."""
    cycles, units = team.cycles, ceil_div(tile.k, team.cores)
    fed, back = _gru_products(tile)
    unit = tile.oy * (cycles.reset_first_unit + fed) + (tile.oy - 1) * (cycles.reset_first_back + back)
    step = cycles.reset_first_step + team.sharing.meeting * (team.cores - 1) / 7
    return tile.oy * step + tile.ox * units * unit


def gates_scratch(_team: Team, _layer: Layer, tile: Tile) -> int:
    """Bytes of the units' states."""
    return align4(2 * tile.ox * tile.k)


def reset_first_scratch(_team: Team, _layer: Layer, tile: Tile) -> int:
    """Bytes of the units' states, and of what is reset."""
    return align4(5 * tile.ox * tile.k)


def _gru_products(tile: Tile) -> tuple[float, float]:
    """Cycles of a unit's three gates over a step's features, and over the states before it."""
    fed, back = (sum(_gate_products(gates, length) for gates in (2, 1)) for length in (tile.c, tile.k))
    return fed, back


def _gate_sums(team: Team, length: int) -> float:
    """Cycles of the sums of four gates over a vector, scaled to 16 bits."""
    return team.cycles.lstm_sums + _gate_products(4, length)


def _gate_products(gates: int, length: int) -> float:
    """Cycles of the products of so many gates of recurrent cells over a vector, summed up together."""
    return choose(length < WORD, short_step(gates) * length, block_steps(gates, 1, length, length // WORD))
