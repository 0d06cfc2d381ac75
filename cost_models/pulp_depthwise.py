"""Depthwise convolutions on a PULP cluster: what the loops of its kernels take the core with the most work.

Kernels for 3x3 and 5x5 filters compute strips of outputs; other filters become ones of these, or their windows are
gathered (kernels/pulp/match_pulp_depthwise_*.c).
"""

from __future__ import annotations

from dataclasses import dataclass

from match.cost_models.pulp_cycles import (
    FEW_ROWS_MOVES,
    MANY_ROWS,
    SMALL_FOUR,
    SMALL_OUTPUT,
    SMALL_ROW,
    STRIP_OUTPUT,
    STRIP_ROW,
    STRIP_SUM,
    STRIP_WAIT,
    Form,
    KernelCycles,
    looked_up,
)
from match.cost_models.pulp_loops import (
    LEAST_INNER,
    STRIP_READS,
    WORD,
    align4,
    columns_of_two_words,
    has_two_words,
    is_lone,
    is_narrow,
    is_small_map,
    last_step,
    outer_strips,
    phases,
    seen_rows,
    seen_weights,
    step,
    strip_columns,
    turned,
    widened,
)
from match.cost_models.pulp_team import Team
from match.ir.layer import Layer
from match.target.cost import Tile, ceil_div, choose, larger, smaller


def depthwise(team: Team, layer: Layer, tile: Tile) -> float:
    """Strips of outputs, or windows that are gathered."""
    fetched = team.sharing.phase * (team.cores - 1) / 7
    gathered = team.sharing.of_gathered(team.cores)
    return Depthwise(team.cores, team.form, team.listed, team.cycles, fetched, gathered).work(layer, tile)


def depthwise_scratch(team: Team, layer: Layer, tile: Tile) -> int:
    """Bytes of what cores gather, of a filter that is widened, and of maps that are narrower than strips."""
    columns = team.cores * align4(tile.fx * seen_rows(layer, tile))
    wide = widened(layer)
    if wide is None:
        return columns
    some = (wide.fy == 5 or wide.stride[0] == 2) and not is_lone(layer)
    narrow = STRIP_READS * tile.iy * tile.k if some else 0
    return columns + align4(wide.fy * wide.fx * tile.k) + narrow


@dataclass(frozen=True)
class Depthwise:
    """Cycles of the busiest core beside those of the call, by fields of `Team`.

    fetched: cycles in which instructions arrive for each convolution that a filter with holes is taken apart into.
    gathered: what the cycles of gathered windows are multiplied with.
    """

    cores: int
    form: Form
    listed: float
    cycles: KernelCycles
    fetched: float
    gathered: float

    def work(self, layer: Layer, tile: Tile) -> float:
        """As a map whose rows are words, if it is one, or in other ways."""
        if self.form not in STRIP_OUTPUT:
            return self._work(layer, tile)
        corrected = self._corrected_columns(layer, tile)
        words = choose(has_two_words(layer, tile), self._two_words(layer, tile) + corrected, self._work(layer, tile))
        return choose(is_small_map(layer, tile), self._small_map(layer, tile) + corrected, words)

    def _small_map(self, layer: Layer, tile: Tile) -> float:
        """Channels are shared out."""
        cycles = self.cycles
        column = cycles.small_column + tile.oy * (SMALL_OUTPUT + STRIP_OUTPUT[self.form])
        channel = cycles.small_channel + smaller(tile.iy, seen_rows(layer, tile)) * SMALL_ROW + tile.ox * column
        begin = cycles.small_map + (cycles.small_share if self.cores > 1 else 0)
        return begin + ceil_div(tile.k, self.cores) * channel

    def _two_words(self, layer: Layer, tile: Tile) -> float:
        """Each core has the same number of channels, and of those that are left a share of the columns of outputs."""
        cycles = self.cycles
        channel = cycles.words_channel + 2 * smaller(tile.iy, seen_rows(layer, tile)) * SMALL_ROW
        fours = tile.oy // 4 if layer.stride[0] == 1 else 0
        singles = tile.oy - 4 * fours
        jumps = choose(fours == 0, 2, 0) + choose(singles == 0, 2, 0)
        products = fours * SMALL_FOUR + singles * SMALL_OUTPUT
        column = cycles.words_column + jumps + tile.oy * STRIP_OUTPUT[self.form] + products
        columns = tile.ox * column + columns_of_two_words(layer, tile) * (cycles.words_wide + products)
        each, left = tile.k // self.cores, tile.k % self.cores
        share = ceil_div(left * tile.ox, self.cores)
        parts = choose(tile.ox % larger(share, 1) == 0, 1, 2)
        last = cycles.words_left + parts * (cycles.words_run + channel) + columns * share / tile.ox
        same = choose(each > 0, cycles.words_run, 0) + each * (channel + columns)
        return cycles.words_map + tile.ox * cycles.words_begun + same + choose(left > 0, last, 0)

    def _work(self, layer: Layer, tile: Tile) -> float:
        """In strips, if there is a kernel for them and the tile sees what they read."""
        wide, columns = widened(layer), strip_columns(layer)
        if wide is None and not columns:
            return self._windows(layer, tile)
        if wide is None:
            strips = self._strips(layer, tile, columns) + self._corrected_columns(layer, tile)
            return choose(is_narrow(layer, tile), self._windows(layer, tile), strips)
        cycles = self._widened(layer, wide, tile) + self._corrected_columns(layer, tile)
        return self._turned(layer, tile, cycles)

    def _turned(self, layer: Layer, tile: Tile, cycles: float) -> float:
        """Cycles of a tile of one row as one of one column, whose channels cores share out; else the cycles given."""
        column = turned(layer)
        wide = None if column is None else widened(column)
        if column is None or wide is None:
            return cycles
        turned_tile = tile._replace(oy=tile.ox, ox=1, iy=tile.ix, ix=1, fy=tile.fx, fx=1)
        shared = wide.fy == 5 or 3 * ceil_div(tile.k, self.cores) * self.cores <= 4 * tile.k
        shorter = (tile.iy == 1) & (tile.oy == 1) & shared
        in_column = self._widened(column, wide, turned_tile) + self._corrected_columns(column, turned_tile)
        return choose(shorter, self.cycles.wide_turned + in_column, cycles)

    def _corrected_columns(self, layer: Layer, tile: Tile) -> float:
        """Columns of outputs of channels with exceptions are shared out; few outputs are computed once more."""
        if not self.listed:
            return 0
        cycles = self.cycles
        columns = -(-tile.k * tile.ox * self.listed // self.cores)
        seen = seen_weights(layer)
        again = cycles.window_again + cycles.weight_again * seen + cycles.padding_again * (tile.fy * tile.fx - seen)
        column = cycles.exception + tile.oy * (cycles.compared + cycles.alike * again)
        return 2 * cycles.asked * tile.k + columns * column

    def _widened(self, layer: Layer, wide: Layer, tile: Tile) -> float:
        """Filters, and columns of narrow maps, are laid out, then each convolution without holes computed in strips."""
        cycles, (rows, columns) = self.cycles, phases(layer)
        part = tile._replace(
            oy=ceil_div(tile.oy, rows),
            ox=ceil_div(tile.ox, columns),
            iy=ceil_div(tile.iy, rows),
            ix=ceil_div(tile.ix, columns),
            fy=wide.fy,
            fx=wide.fx,
        )
        strips = self._strips(wide, part, strip_columns(wide))
        filters = ceil_div(tile.k, self.cores) * (cycles.wide_filter + cycles.wide_weight * layer.fy * layer.fx)
        if (layer.fy, layer.fx) == (wide.fy, wide.fx):
            filters = 0
        narrow = wide.ix > layer.ix and not is_lone(layer)
        pixel = cycles.wide_pixel + cycles.wide_word * ceil_div(tile.k, WORD)
        pixels = ceil_div(tile.iy * STRIP_READS, self.cores) * pixel if narrow else 0
        return cycles.wide + filters + pixels + rows * columns * (cycles.phase + self.fetched + strips)

    def _strips(self, layer: Layer, tile: Tile, columns: int) -> float:
        """Strips of `columns` columns of outputs are shared out: of 3x3 filters all of a channel, then of the next.

        The rows of outputs are counted in the assembly (match_pulp_depthwise_strips.c, match_pulp_depthwise_5x5.c).
        """
        cycles = self.cycles
        strips = ceil_div(tile.ox, columns)
        share = ceil_div(tile.k * strips, self.cores)
        row = STRIP_ROW[layer.fy, layer.stride[0]]
        if (layer.fy, layer.stride[0]) == (3, 1):
            row = row + choose(tile.oy <= MANY_ROWS, FEW_ROWS_MOVES, 0)
        each = STRIP_OUTPUT.get(self.form, STRIP_SUM + cycles.called)
        each = each + (STRIP_WAIT.get(self.form, 0) if layer.fy == 3 else 0)
        rows = share * tile.oy * (row + columns * each)
        if layer.fy == 5:
            column = cycles.channel5 + (0 if self.form in STRIP_OUTPUT else cycles.called5)
            return rows + ceil_div(share, tile.k) * cycles.strip5 + share * column
        outer = smaller(outer_strips(layer), strips)  # a tile is taken to see the layer's borders
        inner = choose(strips - outer >= LEAST_INNER, strips - outer, 0) if self.form in STRIP_OUTPUT else 0
        parts = choose(inner > 0, smaller(outer + 1, share), ceil_div(share, tile.k))
        begun = parts * cycles.strip3 + smaller(outer + (strips > outer), parts) * cycles.lanes3
        sharing = share * inner / strips
        again = sharing - smaller(ceil_div(share, strips), sharing)  # strips that are not the first of a channel
        return rows + begun + (share - again) * cycles.channel3 + again * cycles.next3

    def _windows(self, layer: Layer, tile: Tile) -> float:
        """Columns of outputs are shared out; the windows of one are gathered, then multiplied one by one."""
        output = self._gathered_window(layer, tile) + looked_up(self.listed)
        column = self._gathered_strip(layer, tile) + tile.oy * output
        return self.gathered * ceil_div(tile.k * tile.ox, self.cores) * column

    def _gathered_strip(self, layer: Layer, tile: Tile) -> float:
        """What a column of outputs sees."""
        return tile.fx * (self.cycles.strip_row + seen_rows(layer, tile) * self.cycles.gather)

    def _gathered_window(self, layer: Layer, tile: Tile) -> float:
        """A window of it, with the output's requantization."""
        lengths = [tile.fy * tile.fx] if layer.dilation[0] == 1 else [tile.fx] * tile.fy
        rests = last_step(1, 1) if lengths[0] % WORD else 0
        return len(lengths) * (step(1, 1) * ceil_div(lengths[0], WORD) + rests + self.cycles.window)
