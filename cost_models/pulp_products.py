"""Products of vectors on a PULP cluster: blocks of four output channels by one or two pixels, and what is around them.

Dense layers and pointwise convolutions multiply activations where they lie; `pulp_convolution` lays windows out.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from match.cost_models.pulp_cycles import (
    BLOCK,
    CHANNEL_GROUP,
    LAST_OUTPUT,
    LOOKED_UP_ALONE,
    LOOKED_UP_OF_MATRICES,
    MATRIX_LOADS,
    MATRIX_OUTPUT,
    MATRIX_STEP,
    OUTPUT,
    PAIR,
    SINGLE,
    looked_up,
)
from match.cost_models.pulp_loops import WORD, crossing, even, last_step, short_step, step
from match.cost_models.pulp_team import Team
from match.ir.layer import Layer
from match.target.cost import Tile, ceil_div, choose, smaller


class Product(NamedTuple):
    """Cycles of some output channels of pixels: beside the pixels, of a pair of pixels, of a single one."""

    call: float
    pair: float
    one: float

    def cycles(self, pixels: int) -> float:
        """Cycles of so many pixels, in pairs and at most a single one."""
        pairs, single = divmod(pixels, 2)
        return self.call + pairs * self.pair + single * self.one


def product_of(team: Team, channels: int, length: int, tile: Tile) -> Product:
    """Output channels of pixels, two at a time: blocks of four channels, then the last ones pixel by pixel."""
    blocks, rest = divmod(channels, 4)
    call, pair, one = _blocks(team, blocks, length, tile)
    last = choose(rest > 0, team.cycles.last + _last_channels(team, rest, length, tile), 0)
    call = call + choose(rest > 0, team.cycles.rest, 0)
    short, is_short = _short_pixel(team, channels, length, tile), length < WORD
    asked, corrected = _corrections(team, channels, length, tile)
    return Product(
        choose(is_short, team.cycles.product, call) + asked,
        choose(is_short, 2 * short, pair + 2 * last) + 2 * corrected,
        choose(is_short, short, one + last) + corrected,
    )


def _corrections(team: Team, channels: int, length: int, tile: Tile) -> tuple[float, float]:
    """What exceptions take of a product's channels: beside its pixels, and a pixel."""
    if not team.listed or team.form == "int64":
        return 0, 0
    cycles, found = team.cycles, choose(tile.end, channels * team.listed, 0)
    asked = choose(tile.end, channels * cycles.asked, 0) + found * cycles.exception
    again = cycles.product_again + step(1, 1) * (length // WORD)
    return asked, found * (cycles.compared + cycles.alike * again)


def _blocks(team: Team, blocks: int, length: int, tile: Tile) -> tuple[float, float, float]:
    """The same of blocks of four channels; in int64 they pass through memory."""
    cycles = team.cycles
    two, one = (cycles.pair + blocks * _block(team, 4, pixels, length, tile) for pixels in (2, 1))
    if team.form in BLOCK:
        words = is_fast(team, tile) & (length % WORD == 0) & (length >= 2 * WORD)
        two = choose(words, PAIR + blocks * _words(team, 2, length), two)
        one = choose(words, SINGLE + blocks * _words(team, 1, length), one)
    call, two, one = (choose(blocks > 0, each, 0) for each in (cycles.product, two, one))
    if team.form != "int64":
        return call, two, one
    rare = (blocks * _rare_block(team, pixels, length, tile) for pixels in (2, 1))
    two, one = (choose(tile.end, each, usual) for each, usual in zip(rare, (two, one), strict=True))
    return choose(tile.end, cycles.product, call), two, one


def _words(team: Team, pixels: Literal[1, 2], length: int) -> float:
    """Four channels of a pixel or two whose vectors are two words or more, in assembly (match_pulp_words.h)."""
    form = team.form
    block = BLOCK[form] - (0 if pixels == 2 else 1 if form == "int32" else 4)
    return block + step(4, pixels) * (length // WORD) + 4 * pixels * OUTPUT[form, pixels]


def row_of_words(team: Team, tile: Tile) -> float:
    """A dense layer's single row of outputs, of vectors of two words or more, in assembly (match_words_pixel)."""
    blocks, last = divmod(ceil_div(tile.k, team.cores), 4)
    output, words = LAST_OUTPUT[team.form], tile.c // WORD
    asked, corrected = _corrections(team, ceil_div(tile.k, team.cores), tile.c, tile)
    twos = choose(last >= 2, 4 + 5 * words + 2 * output, 0)
    one = choose(last % 2 > 0, 1 + step(1, 1) * words + output, 0)
    return team.cycles.row_of_words + blocks * _words(team, 1, tile.c) + twos + one + asked + corrected


def is_fast(team: Team, tile: Tile) -> bool:
    """Whether outputs are requantized in a form with loops of its own, and no sums are partial."""
    return tile.begin & tile.end & (team.form in ("int32", "split", "split_signed"))


def _block(team: Team, channels: Literal[1, 2, 4], pixels: Literal[1, 2], length: int, tile: Tile) -> float:
    """Some channels of a pixel or two."""
    beside = team.cycles.single if channels < 4 else team.cycles.block
    output = _finish(team, tile)
    if team.form == "split" and (channels, pixels) == (4, 1):
        output = output + choose(tile.begin, 0, choose(tile.end, team.cycles.taken_alone, 0))
    return beside + _steps(channels, pixels, length, tile) + pixels * channels * output


def _last_channels(team: Team, channels: int, length: int, tile: Tile) -> float:
    """One to three channels of a pixel: blocks of two and of one, or each in memory."""
    two, one = (_block(team, n, 1, length, tile) for n in (2, 1))
    other = team.cycles.other_single + _steps(1, 1, length, tile) + _finish(team, tile)
    return choose(is_fast(team, tile), channels // 2 * two + channels % 2 * one, channels * other)


def _rare_block(team: Team, pixels: Literal[1, 2], length: int, tile: Tile) -> float:
    """Four channels of a pixel or two in int64, which pass through memory."""
    return team.cycles.rare + _steps(4, pixels, length, tile) + 4 * pixels * _finish(team, tile)


def _short_pixel(team: Team, channels: int, length: int, tile: Tile) -> float:
    """A pixel whose vectors are shorter than a word."""
    blocks, rest = divmod(channels, 4)
    cycles, each = team.cycles, _finish(team, tile)
    kept = choose(tile.end, cycles.short_output, 0) if team.form == "int64" else 0
    block = choose(tile.end, cycles.short_block, cycles.short_left)
    if team.form == "sums":
        block = cycles.short_left
    fours = block + short_step(4) * length + 4 * (each + kept)
    ones = cycles.short_single + short_step(1) * length + each
    return cycles.short + blocks * fours + rest * ones


def _steps(channels: int, pixels: int, length: int, tile: Tile) -> float:
    """Loads and dot products of a block.

    Of vectors that are no whole words the last bytes take a step of their own; rows of weights then begin anywhere,
    and words across a border take a cycle more. That is charged for the channels behind the last multiple of
    `CHANNEL_GROUP`: the others can be cut off.
    """
    return block_steps(channels, pixels, length, smaller(length // WORD, tile.c % CHANNEL_GROUP // 4))


def _finish(team: Team, tile: Tile) -> float:
    """An accumulator behind its dot product: it may go on from a partial sum, and be left as one."""
    cycles = team.cycles
    left = cycles.sums + choose(tile.begin, 0, cycles.resumed)
    if team.form == "sums":
        return left
    output = team.requantize
    if team.form == "int64" and team.listed:
        output += looked_up(team.listed) + LOOKED_UP_ALONE
    return choose(tile.end, output + choose(tile.begin, 0, cycles.taken), left)


def share_of(team: Team, rows: int, columns: int, channels: int) -> float:
    """Rows of the busiest core: pairs of pixels by fours of channels are shared out."""
    units = ceil_div(columns, 2) * ceil_div(channels, 4)
    return ceil_div(rows * units, team.cores) / units


def dense(team: Team, _layer: Layer, tile: Tile) -> float:
    """Each core computes some output channels of all rows. A single row has loops of its own."""
    rows = tile.oy * product_of(team, ceil_div(tile.k, team.cores), tile.c, tile).cycles(tile.ox)
    if team.form not in LAST_OUTPUT:
        return rows
    words = is_fast(team, tile) & (tile.c % WORD == 0) & (tile.c >= 2 * WORD)
    row = row_of_words(team, tile) - team.cycles.call  # which is in its constant
    return choose(words & (tile.oy * tile.ox == 1), row, rows)


def pointwise(team: Team, tile: Tile) -> float:
    """Pairs of pixels by fours of channels are shared out."""
    product = product_of(team, tile.k, tile.c, tile)
    if team.cores == 1:
        return product.cycles(tile.oy * tile.ox)
    pixels, begin = even(tile.oy * tile.ox), team.cycles.product
    share = share_of(team, 1, pixels, tile.k)
    products = choose(share * pixels <= 2, 1, 2)
    pairs = choose(tile.oy * tile.ox == 1, product.one, pixels / 2 * product.pair)
    return products * begin + share * (product.call - begin) + share * pairs


def matrices(team: Team, _layer: Layer, tile: Tile) -> float:
    """Units of four rows of the second matrix and two of the first are shared out, those of a four one by one."""
    cycles = team.cycles
    words, rest = divmod(tile.c, WORD)
    pairs = ceil_div(tile.ox, 2)
    units = ceil_div(tile.oy * ceil_div(tile.k, 4) * pairs, team.cores)
    rows = cycles.matrix_rows + cycles.matrix_word * words
    output = cycles.matrix_int64 if team.listed else MATRIX_OUTPUT.get(team.form, cycles.matrix_int64)
    if team.listed:
        output += looked_up(team.listed) + LOOKED_UP_OF_MATRICES
    across = MATRIX_LOADS * crossing(rest)
    unit = cycles.matrix_unit + (MATRIX_STEP + across) * words + choose(rest > 0, cycles.matrix_rest, 0)
    return ceil_div(units, pairs) * rows + units * (unit + 8 * output)


def block_steps(channels: int, pixels: int, length: int, loose: int) -> float:
    """The steps of a block of products; `loose` of its words may lie across borders."""
    words, rest = divmod(length, WORD)
    across = channels * crossing(rest) * (loose + 1)
    broken = step(channels, pixels) + across + last_step(channels, pixels)
    return step(channels, pixels) * words + choose(rest == 0, 0, broken)
