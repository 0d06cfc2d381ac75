"""Operators on a PULP cluster that compute element by element, copy elements, or normalize the channels of a pixel."""

from __future__ import annotations

from collections.abc import Callable

from match.cost_models.pulp_cycles import (
    COPIED_BYTES,
    COPIED_RUN,
    ENOUGH_SIGNS,
    LINES,
    LOOKUP_BYTES,
    LOOKUP_RUN,
    MANY_RUNS,
    ROUNDED_BEGIN,
    ROUNDED_SLOPES,
    looked_up,
)
from match.cost_models.pulp_loops import WORD, align4
from match.cost_models.pulp_team import Team
from match.ir.attributes import Broadcast, Concatenation, Gathering, LookupTable
from match.ir.layer import Layer
from match.target.cost import Tile, ceil_div, choose, larger, smaller


def by_element(cycles: str) -> Callable[[Team, Layer, Tile], float]:
    """Operators whose elements each take as long as a field of `KernelCycles` says."""
    return lambda team, layer, tile: elements(team, layer, tile, getattr(team.cycles, cycles))


def by_row(row: str, element: str) -> Callable[[Team, Layer, Tile], float]:
    """Operators whose pixels are shared out: fields of `KernelCycles` for a pixel, and for each of its channels."""

    def work(team: Team, _layer: Layer, tile: Tile) -> float:
        pixel: float = getattr(team.cycles, row) + getattr(team.cycles, element) * tile.k
        return ceil_div(tile.oy * tile.ox, team.cores) * pixel

    return work


def addition(team: Team, layer: Layer, tile: Tile) -> float:
    """Of two tensors, or of one with a pixel or channel."""
    if _has_lines(team, layer):
        return lines_of_one(team, layer, tile)
    cycles = team.cycles
    each = {"int32": cycles.add, "split": cycles.add_split}.get(team.form, cycles.add_int64)
    return cycles.addition + elements(team, layer, tile, each)


def multiplication(team: Team, layer: Layer, tile: Tile) -> float:
    """Of two tensors, or of one with a pixel or channel."""
    if _has_lines(team, layer):
        return lines_of_one(team, layer, tile)
    alone = team.cycles.multiply_alone if team.listed and team.form in LINES else 0
    each = team.by_form("multiply") + alone + looked_up(team.listed)
    return team.cycles.addition + elements(team, layer, tile, each)


def squared_difference(team: Team, layer: Layer, tile: Tile) -> float:
    """Of two tensors."""
    each = team.cycles.squared_difference + team.requantize + looked_up(team.listed)
    return team.cycles.addition + elements(team, layer, tile, each)


def extremum(team: Team, layer: Layer, tile: Tile) -> float:
    """Of two tensors, four elements a word, and those of each run behind its words."""
    cycles, elements = team.cycles, tile.oy * tile.ox * tile.k
    runs = _runs_of(layer, tile)
    words = _largest_part(team, elements) * cycles.extremum
    rest = ceil_div(runs, team.cores) * (elements // runs % WORD) * cycles.extremum_rest
    return cycles.extremum_call + _begun(team, runs) * cycles.extremum_run + words + rest


def loads_addition(layer: Layer, _cores: int) -> str:
    """The kernels of additions and multiplications: of two tensors, or of one with a pixel or channel."""
    return "lines" if layer.get(Broadcast).kind else "addition"


def lookup(team: Team, layer: Layer, tile: Tile) -> float:
    """Bytes through a table; where it turns signs, words, if they are many."""
    bytes_of_table = looked_up_bytes(team, layer, tile)
    if not layer.get(LookupTable).turns_signs:
        return bytes_of_table
    signs = team.cycles.signs + elements(team, layer, tile, team.cycles.sign)
    enough = tile.oy * tile.ox * tile.k >= ENOUGH_SIGNS * team.cores
    return choose(enough, signs, bytes_of_table)


def channel_lookup(team: Team, layer: Layer, tile: Tile) -> float:
    """Bytes through a table of each channel."""
    rows = ceil_div(tile.oy * tile.ox, team.cores) * team.cycles.channel_lookup_pixel
    return rows + elements(team, layer, tile, team.cycles.channel_lookup)


def elements(team: Team, layer: Layer, tile: Tile, each: float) -> float:
    """Elements in runs without gaps."""
    elements = tile.oy * tile.ox * tile.k
    return _begun(team, _runs_of(layer, tile)) * team.cycles.run + _largest_part(team, elements) * each


def lines_of_one(team: Team, layer: Layer, tile: Tile) -> float:
    """An input with one pixel or channel: fours of channels of pixels are shared out (match_pulp_lines.c)."""
    cycles, pixels = team.cycles, tile.oy * tile.ox
    of_pixels = layer.get(Broadcast).kind != "pixel"
    fours, rest = divmod(tile.k, 4)

    def shared(blocks: int, each: float, part: float) -> float:
        """So many blocks of each pixel; those with the same lines, of a pixel or a block, are a row."""
        share, row = ceil_div(blocks * pixels, team.cores), blocks if of_pixels else pixels
        parts = choose((share % row == 0) | (row % share == 0), 0, choose(share < row, 1, 2))
        return begin + share * each + ceil_div(share, row) * line + parts * part

    begin, line = cycles.lines + (cycles.lines_share if team.cores > 1 else 0), cycles.lines_row
    if team.form == "rows":
        begin, line = begin + ROUNDED_BEGIN, line + ROUNDED_SLOPES
    whole = choose(fours > 0, shared(larger(fours, 1), LINES[team.form], cycles.lines_part), 0)
    return whole + choose(rest > 0, shared(larger(rest, 1), team.by_form("lines_byte"), 0), 0)


def lines(team: Team, layer: Layer, tile: Tile) -> float:
    """Lines that another tensor chooses; those of one channel are chosen once for each run."""
    if not layer.get(Broadcast).single_channel:
        return elements(team, layer, tile, team.cycles.lookup_line)
    chosen = _begun(team, _runs_of(layer, tile)) * team.cycles.chosen_line
    return chosen + elements(team, layer, tile, team.cycles.same_line)


def looked_up_bytes(team: Team, layer: Layer, tile: Tile) -> float:
    """Bytes through a table, in runs without gaps."""
    return _runs_of_bytes(team, _runs_of(layer, tile), tile.oy * tile.ox * tile.k)


def sliced(team: Team, layer: Layer, tile: Tile) -> float:
    """Bytes through a table that changes nothing."""
    elements = tile.oy * tile.ox * tile.k
    runs, enough = _runs_of(layer, tile), elements >= ENOUGH_SIGNS * team.cores
    copied = team.cycles.signs + _runs_of_bytes(team, runs, elements, copied=True, apart=tile.k % WORD > 0)
    return choose(enough, copied, looked_up_bytes(team, layer, tile))


def _runs_of_bytes(team: Team, runs: int, elements: int, *, copied: bool = False, apart: bool = False) -> float:
    """So many bytes through a table in so many runs, with gaps between them if there are several.

    Those that it does not change are `copied`, word by word; `apart` tells that runs begin inside words.
    """
    cycles, byte = team.cycles, 1.0 if copied else team.sharing.of_tables(team.cores)
    plain = _largest_part(team, elements) * (cycles.sign if copied else cycles.lookup * byte)
    fours, rest = divmod(elements // runs, 4)
    table, run = (COPIED_BYTES, COPIED_RUN) if copied else (LOOKUP_BYTES, LOOKUP_RUN)
    four = table[4] + choose(apart, cycles.copied_apart, 0)
    behind = sum(choose(rest == n, table[n], 0) for n in (1, 2, 3)) * byte
    share = ceil_div(runs, team.cores)
    last = choose(rest > 0, share * (behind + LOOKUP_RUN - 1), 0)
    whole = choose(fours > 0, share * (run + fours * four * byte), 0)
    whole = whole + choose((fours > 0) & (rest > 0), cycles.lookup_rest, 0)
    of_fours = ceil_div(runs * fours, team.cores)
    part = cycles.lookup_fours + ceil_div(of_fours, larger(fours, 1)) * run
    part = part + of_fours * four * byte + choose(rest > 0, cycles.lookup_rest, 0)
    many = (runs >= MANY_RUNS * team.cores) | (fours == 0)
    begin = cycles.lookup_gaps + (cycles.lookup_share if team.cores > 1 else 0)
    return choose(runs == 1, plain, begin + last + choose(many, whole, part))


def concatenation(team: Team, layer: Layer, tile: Tile) -> float:
    """Each input through its table, pixel by pixel."""
    pixels, cycles = tile.oy * tile.ox, team.cycles.concatenation
    both = (layer.input_channels, layer.k - layer.input_channels)
    for channels, same in zip(both, layer.get(Concatenation).unchanged or (False, False), strict=True):
        by_table = _runs_of_bytes(team, pixels, pixels * channels)
        if same:
            words = _runs_of_bytes(team, pixels, pixels * channels, copied=True, apart=layer.k % WORD > 0)
            enough = pixels * channels >= ENOUGH_SIGNS * team.cores
            by_table = choose(enough, team.cycles.signs + words, by_table)
        cycles = cycles + by_table
    return cycles


def gathered(team: Team, layer: Layer, tile: Tile) -> float:
    """Columns of a gather; those of a run are one copy where a tile has all of their channels."""
    pixels = ceil_div(tile.oy * tile.ox, team.cores)
    runs = ceil_div(ceil_div(layer.get(Gathering).runs * tile.ox, layer.ox) * tile.oy, team.cores)
    together = tile.k == layer.k
    copies = choose(together, runs, pixels) * choose(tile.k % (2 * WORD) == 0, 0, team.cycles.gathered_rest)
    apart = pixels * choose(together, 0, team.cycles.gathered_apart)
    column = team.cycles.gathered + team.cycles.gathered_word * ceil_div(tile.k, WORD)
    return runs * team.cycles.gathered_run + pixels * column + copies + apart


def _has_lines(team: Team, layer: Layer) -> bool:
    """Whether an input has one pixel or channel, and the form has a kernel for that."""
    return bool(layer.get(Broadcast).kind) and team.form in LINES and not team.listed


def _begun(team: Team, runs: int) -> int:
    """Runs of a core that lie behind a gap: elements are shared out, and runs with them."""
    return ceil_div(runs, team.cores) - (runs == 1)


def _largest_part(team: Team, elements: int) -> int:
    """Elements of the core that has most, whole words."""
    share: int = smaller(elements, align4(ceil_div(elements, team.cores)))
    return share


def normalization(team: Team, _layer: Layer, tile: Tile) -> float:
    """Rows are shared out; of few rows the channels, whose sums every core makes (match_pulp_normalize.c)."""
    rows = tile.oy * tile.ox
    sums = team.cycles.normalized_row + team.cycles.normalized_sums * tile.k
    output = team.cycles.normalized + team.requantize
    by_rows = ceil_div(rows, team.cores) * (sums + output * tile.k)
    by_channels = rows * (sums + output * ceil_div(tile.k, team.cores))
    return choose((rows == 1) | (3 * rows <= team.cores), by_channels, by_rows)


def _runs_of(layer: Layer, tile: Tile) -> int:
    """Runs without gaps of a tile's elements.

    Whole rows are one run. Of others each row may be one, and each pixel where a tile has some of the channels, or
    another tensor has one pixel for all.
    """
    pixels = tile.oy * tile.ox
    rows = choose(tile.ox == layer.ox, 1, tile.oy)
    runs: int = pixels if layer.get(Broadcast).kind else choose(tile.k == layer.k, rows, pixels)
    return runs
