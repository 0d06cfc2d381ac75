"""NE16, the 9x9x16 bit-serial array in GAP9's cluster, driven by kernels/ne16.

A sub-tile is 3x3 output pixels of 32 channels (depthwise: 16), from 5x5 input pixels of 16 channels at a time; memory
is 256 bits wide. What its phases take beside pixels, weights and parameters is in `PUBLISHED` and `SIMULATED`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from match.cost_models.dma import Mchan
from match.cost_models.pulp_cycles import (
    REQUANTIZATION,
    REQUANTIZATION_CALL,
    REQUANTIZATION_CHANNEL,
    REQUANTIZATION_EXCEPTIONS,
    Form,
    KernelCycles,
    Sharing,
)
from match.cost_models.pulp_energy import PulpEnergy
from match.cost_models.pulp_loops import align4
from match.ir.attributes import ChannelGroups
from match.ir.layer import WIDEST_WEIGHTS, Layer, Op
from match.target.cost import Block, CostModel, Energy, Starting, Tile, ceil_div, choose, larger, smaller

PIXELS = 3
"""Output rows and columns of a sub-tile."""

INPUT_CHANNELS = 16
OUTPUT_CHANNELS = 32
PORT_BYTES = 32

BANKS_BYTES = 64
"""Bytes that lie in all banks of L1, words of 4 in turn."""


class Latencies(NamedTuple):
    """Cycles of a sub-tile beside those of its pixels, weights and parameters, a word of memory each.

    conv, pointwise, depthwise: for each group of input channels, by the filter's mode; and for each channel, depthwise.
    requantized: behind the last group, and `left` where accumulators leave NE16. pixels: of a 1x1 filter, which loads
    and stores no fewer. biases: words of biases, of which none are fewer. multipliers: channels whose multipliers a
    depthwise block has read beside its own, where another block follows. bank: a bank of L1 that a word is stored in.
    """

    conv: int
    pointwise: int
    depthwise: int
    channel: int
    requantized: int
    left: int
    pixels: int
    biases: int = 0
    multipliers: int = 0
    bank: int = 1


PUBLISHED = Latencies(conv=20, pointwise=24, depthwise=20, channel=1, requantized=29, left=4, pixels=0)
"""By the latency model that is published with MATCH."""

SIMULATED = Latencies(
    conv=18,
    pointwise=22,
    depthwise=28,
    channel=0,
    requantized=1,
    left=0,
    pixels=9,
    biases=4,
    multipliers=INPUT_CHANNELS,
    bank=4,
)
"""As the public simulator (GVSoC) has them, which stores a word as four bytes, one after the other in its bank.

Jobs from their start to their end are within 2 % but for what cores take of L1's banks beside them.
"""

TILE_WORDS, CHANNELS_WORDS, ADDRESS_WORDS, JOB_WORDS, PLACE_WORDS = 24, 8, 6, 7, 2
"""Registers of jobs: the first in its place of a tile; the first of a group, beside addresses; the only one of a group;
one with other columns or rows; others.

There are two places, each with registers that keep what is written (kernels/ne16/ne16_driver.h).
"""

PLACES = 2

PART_BYTES = 8192
"""Bytes of what lies between NE16 and the cluster, if that is more than the rows of a sub-tile or a strided job."""

STRIDED_ROWS = 2


@dataclass(frozen=True)
class Ne16Cost(CostModel):
    """Cycles and scratch of NE16's jobs.

    Cycles are fitted to 56 layers on GVSoC's open PULP platform, which has GAP9's cluster (docs/pulp-open.md), unless a
    field says otherwise.
    """

    stream_out: bool = False
    """Whether 32-bit accumulators leave NE16, and the cluster requantizes them, a part of a tile behind it."""
    laid_out: bool = False
    """Whether the cluster lays out the windows of a convolution as pixels, a part of a tile in front of NE16.

    NE16 has no such filter, or takes longer for it.
    """
    form: Form = "int64"
    """The form in which the cluster requantizes."""
    listed: float = 0
    """Exceptions of an output channel in the mean."""
    multiplier_bytes: int = 4
    """Bytes of a multiplier where NE16 requantizes."""
    latencies: Latencies = PUBLISHED
    cores: int = 8
    """Cores of the cluster."""
    access: int = 15
    """A register access through the peripheral interconnect."""
    tile: int = 520
    """The driver works out all registers of a tile's first job. On RTL, as the next one."""
    arithmetic: int = 130
    """The driver works out the registers of a job with other rows or columns than the one that had its place."""
    row: int = 85
    """More for the first job of each row of jobs behind the first."""
    place: int = 90
    """The driver works out the registers of a job that differs from the one before in addresses alone."""
    group: int = 150
    """The driver works out the registers of a job that is all of another group. Seven layers of RegNet."""
    part: int = 1200
    """The driver works out a part whose accumulators leave NE16, and writes the registers of its first job."""
    start: int = 2800
    """As `part`, for a tile's first part: other code has put the instructions out of the cache."""
    conflicts: float = 0.25
    """What NE16 loses in each cycle in which the cluster requantizes beside it: they share L1's banks."""
    banks: float = 0.4
    """What NE16 loses in each cycle in which the cluster computes another operator of a group.

    Read off ten networks on GVSoC: 0.3 beside depthwise layers, 0.4 to 0.6 beside pooling and concatenations.
    """
    kernel: int = 100
    """A tile beside its jobs: its context, the event that ends it. Estimated."""
    ahead: int = 0
    """What of `kernel` the core takes until it starts the driver, beside calls before."""
    fork: int = 200
    """Starting and joining the cluster for requantization, or to lay out windows."""
    both: int = 600
    """More where the cluster does both: their instructions put one another out of the caches. Three layers on GVSoC."""
    first: int = 500
    """A layer's first call of the driver, whose code is not in the instruction cache."""
    displaced: int = 0
    """A call of the driver in a group behind the cluster's kernels, whose code has displaced the driver's."""
    offload: int = 920
    """A layer beside its tiles, as for the cluster's own layers."""
    cycles: KernelCycles = field(default_factory=KernelCycles.measured)
    """Those of a core of the cluster that lays out windows."""
    sharing: Sharing = field(default_factory=Sharing.measured)
    """What the cores of the cluster lose, as in its own kernels."""
    dma: Mchan = field(default_factory=Mchan)
    consumption: PulpEnergy | None = None
    """What the chip's units consume, None where it is not known."""
    weight_bits: int = WIDEST_WEIGHTS
    """Those whose energy is asked for; cycles are asked for a layer, which has its own."""

    overlap = True
    arrays = True

    @property
    def energy(self) -> Energy | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """With the master, or with all cores where these lay out windows or requantize beside it."""
        cores = self.cores if self.stream_out or self.laid_out else 1
        return self.consumption and self.consumption.of_ne16(cores, self.weight_bits)

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Bytes of two parts of a tile or all of it: int32 accumulators or windows. A smaller tile needs no more."""
        windows = accumulators = 0
        least = PIXELS if self.laid_out else _least_rows(layer)
        if self.laid_out:
            row = _window_bytes(layer, tile)
            windows = smaller(tile.oy * row, 2 * larger(PART_BYTES, least * row))
        if self.stream_out:
            groups, outputs = _groups(layer, tile)
            row = 4 * tile.ox * _part_channels(layer, tile)
            part = smaller(tile.oy * row, larger(PART_BYTES, least * row))
            accumulators = smaller(4 * tile.oy * tile.ox * groups * outputs, 2 * part)
        return align4(windows) + accumulators if self.stream_out else windows

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of all jobs of a tile."""
        if self.laid_out:
            return self._of_windows(layer, tile)
        rows, columns = self._jobs(layer, tile)
        if self.stream_out:
            return self._streamed(layer, tile, rows, columns)
        groups, _ = _groups(layer, tile)
        execution = self._blocks(layer, tile, rows, columns)
        return self._programmed(rows.jobs, columns.jobs, _edges(layer, rows, columns), execution, groups)

    def starting(self, layer: Layer, tile: Tile) -> Starting:
        """The core programs all jobs, of which the last one runs while it goes on.

        What the cluster requantizes beside NE16 keeps it to the end, what it lays out until NE16's last part.
        """
        cycles = self.compute(layer, tile)
        if self.stream_out:
            return Starting(self.ahead, 0.0, cycles)
        if self.laid_out:
            return Starting(self.ahead, 0.0, cycles - self._windows(layer, tile)[0])
        rows, columns = self._jobs(layer, tile)
        groups, _ = _groups(layer, tile)
        before, jobs = self._programming(self.tile, TILE_WORDS), rows.jobs * columns.jobs
        if jobs * groups == 1:
            return Starting(self.ahead, before)
        return Starting(self.ahead, before, cycles - before - self._blocks(layer, tile, rows, columns) / jobs)

    def beside(self, layer: Layer) -> float:
        """They share the banks of L1."""
        return self.banks

    def takes_longer(self, layer: Layer) -> bool:
        """Whether NE16 takes longer for a layer in one tile than for its windows as the cluster lays them out."""
        if layer.op is not Op.CONV2D or (layer.fy, layer.fx) == (1, 1):
            return False
        tile = Tile(layer.k, layer.c, layer.oy, layer.ox, layer.iy, layer.ix, layer.fy, layer.fx)
        return self.compute(layer, tile) > replace(self, laid_out=True).compute(layer, tile)

    def launch(self, layer: Layer) -> float:
        """The same for every tile."""
        return self.kernel

    def transfer(self, layer: Layer, block: Block) -> float:
        """MCHAN's."""
        return self.dma.transfer(block)

    def issue(self, layer: Layer) -> float:
        """MCHAN's."""
        return self.dma.call

    def overhead(self, layer: Layer) -> float:
        """The offload from the control core, and the first calls of the driver and of the cluster's requantization."""
        return self.offload + self.first + (self.sharing.other if self.stream_out or self.laid_out else 0)

    def group_overhead(self, layer: Layer) -> float:
        """The offload."""
        return self.offload

    def group_calls(self, layers: Sequence[Layer]) -> Sequence[float]:
        """The first call of the driver, and of what the cluster does beside it."""
        first, *others = layers
        return [self.overhead(first) - self.offload, *(0.0 for _ in others)]

    def behind_another(self, layer: Layer) -> float:
        """The driver's instructions; `start` has them where the cluster computes beside NE16."""
        return 0 if self.stream_out or self.laid_out else self.displaced

    def _streamed(self, layer: Layer, tile: Tile, rows: _Along, columns: _Along) -> float:
        """Cycles of a tile in parts: the cluster requantizes one while NE16 computes the next.

        A part is some rows of a block of channels, or of some groups.
        """
        groups, outputs = _groups(layer, tile)
        most = _part_channels(layer, tile)
        each = _part_rows(tile.oy, _least_rows(layer), 4 * tile.ox * most)
        parts = ceil_div(tile.oy, each)
        jobs, edges = rows.jobs * columns.jobs, _edges(layer, rows, columns)
        programming = self.part + larger(0, edges / parts - 1) * self._programming(self.arithmetic, JOB_WORDS)
        programming = programming + (jobs - edges) / parts * self._programming(self.place, PLACE_WORDS)
        programming = programming + larger(0, rows.jobs / parts - 1) * self.row

        def part(channels: int) -> tuple[float, float]:
            """Cycles from one part to the next, and those of NE16 or of the cluster alone, whichever takes fewer."""
            together = larger(1, channels // outputs)
            alone = together * self._pass(layer, tile.c, rows, columns, smaller(channels, outputs)) / parts
            taken = self._requantization(tile, parts, channels)
            slower = alone + self.conflicts * smaller(alone, taken)
            further = self._further_group(rows.jobs / parts, jobs / parts, edges / parts)
            programmed = programming + (together - 1) * further
            return larger(larger(slower, programmed), taken), smaller(alone, taken)

        whole_groups = layer.get(ChannelGroups).outputs <= _block(layer)
        full, rest = divmod(groups * outputs if whole_groups else outputs, most)
        (step, around), (step_end, around_end) = part(most), part(rest)
        steps = (1 if whole_groups else groups) * (full * step + choose(rest > 0, step_end, 0))
        # In front of it NE16 computes the first part alone, behind it the cluster requantizes the last.
        cycles: float = self.start + parts * steps + choose(rest > 0, around_end, around)
        return cycles

    def _jobs(self, layer: Layer, tile: Tile) -> tuple[_Along, _Along]:
        """Jobs along rows and columns, of a tile that nothing lays out."""
        odd_channels = layer.get(ChannelGroups).outputs % 2 & (tile.k % 2 | layer.k % 2)
        odd_columns = tile.ox % 2 | layer.ox % 2
        rows = _along(layer, tile.oy, self._together(odd_channels & odd_columns), tile.iy, layer.padding.bottom)
        return rows, _along(layer, tile.ox, self._together(odd_channels), tile.ix, layer.padding.right)

    def _blocks(self, layer: Layer, tile: Tile, rows: _Along, columns: _Along) -> float:
        """Cycles of NE16 on all blocks of output channels of a group."""
        _, outputs = _groups(layer, tile)
        full, rest = divmod(outputs, _block(layer))
        distance = _distance(layer, tile)
        block = self._pass(layer, tile.c, rows, columns, _block(layer), distance)
        cycles: float = full * block + choose(rest > 0, self._pass(layer, tile.c, rows, columns, rest, distance), 0)
        if layer.op is Op.DEPTHWISE_CONV2D:
            further = ceil_div(self.latencies.multipliers * self.multiplier_bytes, 4)
            cycles = cycles + (ceil_div(outputs, _block(layer)) - 1) * rows.subtiles * columns.subtiles * further
        return cycles

    def _windows(self, layer: Layer, tile: Tile) -> tuple[float, int, int]:
        """Cycles of NE16 on a part whose windows are laid out, how many parts there are, and the rows of each."""
        row, left = _window_bytes(layer, tile), 4 * tile.ox * smaller(tile.k, OUTPUT_CHANNELS)
        each = _part_rows(tile.oy, PIXELS, larger(row, left) if self.stream_out else row)
        parts = ceil_div(tile.oy, each)
        rows, columns = (_Along(1, ceil_div(outputs, PIXELS), outputs) for outputs in (tile.oy, tile.ox))
        full, rest = divmod(tile.k, OUTPUT_CHANNELS)
        window = tile.fx * tile.fy * tile.c
        distance = _distance(layer, tile)
        computed = full * self._pass(layer, window, rows, columns, OUTPUT_CHANNELS, distance)
        computed = computed + choose(rest > 0, self._pass(layer, window, rows, columns, rest, distance), 0)
        return computed / parts, parts, each

    def _of_windows(self, layer: Layer, tile: Tile) -> float:
        """Cycles of a tile whose windows the cluster lays out, one part while NE16 computes the part before."""
        alone, parts, each = self._windows(layer, tile)
        full, rest = divmod(tile.k, OUTPUT_CHANNELS)
        layout = self._layout(layer, tile, each * _columns(layer, tile))
        beside = alone + self.conflicts * smaller(alone, layout)
        # In front of NE16's first part the cluster lays that out alone; nothing is beside NE16's last part.
        if not self.stream_out:
            return self.start + layout + (parts - 1) * larger(beside, larger(layout, self.part)) + alone
        blocks = ceil_div(tile.k, OUTPUT_CHANNELS)
        taken = full * self._requantization(tile, parts, OUTPUT_CHANNELS)
        taken = taken + choose(rest > 0, self._requantization(tile, parts, rest), 0)
        cluster = layout - self.fork + taken + self.both
        beside = alone + self.conflicts * smaller(alone, cluster)
        step = larger(beside, larger(cluster, blocks * self.part))
        # Nothing is beside NE16's first block of channels either, nor beside the requantization of the last.
        cycles: float = self.start + layout + parts * step + smaller(alone, taken) / blocks
        return cycles

    def _layout(self, layer: Layer, tile: Tile, columns: int) -> float:
        """Cycles of the cluster on so many columns that windows see, a row's behind those of the row above."""
        share = ceil_div(columns, self.cores)
        calls = 1 + share // _columns(layer, tile)
        each = self.cycles.call + self.cycles.laid_out(layer, tile, share, calls, beside=True)
        return self.fork + each * self.sharing.factor(self.cores)

    def _programmed(self, rows: int, columns: int, edges: int, execution: float, groups: int) -> float:
        """Cycles from programming the first job of a tile to the end of the last, if each is repeated for all groups.

        Two jobs may be queued, so that all but the first are programmed beside the one before. `edges` are jobs whose
        columns or rows may be others than those of the job that had their place.
        """
        first, jobs = self._programming(self.tile, TILE_WORDS), rows * columns
        second = choose(groups > 1, self.access * (TILE_WORDS - ADDRESS_WORDS), 0)  # the first in the other place
        beside = choose(jobs > 1, first + self._further_jobs(rows, jobs, edges), second)
        beside = beside + (groups - 1) * self._further_group(rows, jobs, edges)
        cycles: float = first + larger(groups * execution, beside + execution / jobs)
        return cycles

    def _further_group(self, rows: float, jobs: float, edges: float) -> float:
        """Cycles in which the jobs of a group behind the first are programmed; accumulators need no parameters."""
        addresses = ADDRESS_WORDS // 2 if self.stream_out else ADDRESS_WORDS
        several = PLACES * self._programming(self.arithmetic, addresses + CHANNELS_WORDS)
        several = several + self._further_jobs(rows, jobs, edges)
        cycles: float = choose(jobs > 1, several, self._programming(self.group, addresses))
        return cycles

    def _further_jobs(self, rows: float, jobs: float, edges: float) -> float:
        """Cycles to program all jobs but the first `PLACES`."""
        cycles = (edges - PLACES) * self._programming(self.arithmetic, JOB_WORDS) + (rows - 1) * self.row
        return cycles + (jobs - edges) * self._programming(self.place, PLACE_WORDS)

    def _programming(self, arithmetic: int, words: int) -> int:
        """Cycles in which a job is programmed: what it takes to work it out, an acquisition, registers, the trigger."""
        return arithmetic + self.access * (1 + words + 1)

    def _together(self, odd: int) -> int:
        """Outputs of a strided job: 2, but 1 where the next one may be an odd number of bytes away.

        The driver halves that distance for the job (kernels/ne16/ne16_jobs.c). It is that in the output's block, which
        has the tile's channels and columns or the layer's; a tile does not tell which. Accumulators are an even number
        of bytes apart.
        """
        together: int = choose(odd > 0, 1, 2)
        return 2 if self.stream_out else together

    def _pass(
        self, layer: Layer, inputs: int, rows: _Along, columns: _Along, channels: int, distance: int = 1
    ) -> float:
        """Cycles of all sub-tiles of a block of output channels, requantized pixels so many bytes apart."""
        subtiles = rows.subtiles * columns.subtiles
        computed = rows.outputs * columns.outputs
        groups = ceil_div(inputs, INPUT_CHANNELS)
        wait = self.latencies
        if self.laid_out or layer.fy == 1:
            loaded = stored = larger(computed, wait.pixels * subtiles)
            beside, bits = wait.pointwise, 1
        else:
            loaded = (rows.outputs + 2 * rows.subtiles) * (columns.outputs + 2 * columns.subtiles)
            stored, bits = computed, layer.weight_bits
            beside = wait.conv
            if layer.op is Op.DEPTHWISE_CONV2D:
                beside = wait.depthwise + wait.channel * channels
        accumulate = groups * (subtiles * (beside + channels * bits) + loaded)
        if self.stream_out:
            width = smaller(4 * channels, PORT_BYTES)
            chunks = ceil_div(4 * channels, PORT_BYTES)
            taken = self._taken(layer, rows, columns, chunks, width, width)
            return accumulate + subtiles * wait.left + computed * chunks + taken
        parameters = ceil_div(channels * self.multiplier_bytes, 4) + larger(ceil_div(channels, 8), wait.biases)
        taken = self._taken(layer, rows, columns, 1, channels, distance)
        return accumulate + subtiles * (wait.requantized + parameters) + stored * ceil_div(channels, PORT_BYTES) + taken

    def _taken(self, layer: Layer, rows: _Along, columns: _Along, chunks: int, width: int, distance: int) -> float:
        """Cycles in which stores wait for banks that those before them in a sub-tile have taken.

        Each pixel is stored by `chunks` stores of `width` bytes. A store begins `distance` bytes behind the one before.
        A strided job stores only every second pixel along rows and columns, one pixel in two cycles.
        """
        bank, computed = self.latencies.bank, rows.outputs * columns.outputs
        if _strided(layer) and not self.stream_out:
            pairs = (rows.outputs + rows.jobs) * (columns.outputs - columns.jobs) / 4
            return pairs * choose(_same_banks(distance, width), larger(bank - 2, 0), 0)
        # Where words are not aligned, bytes of one have been stored where the next begins.
        each = (bank - smaller(bank, distance & -distance)) / 2
        for before in range(1, bank):
            each = larger(each, choose(_same_banks(before * distance, width), bank / before - 1, 0.0))
        if _strided(layer):
            return (rows.outputs + rows.jobs) * (columns.outputs + columns.jobs) / 4 * (chunks - 1) * each
        return (computed * chunks - rows.subtiles * columns.subtiles) * each

    def _requantization(self, tile: Tile, parts: int, channels: int) -> float:
        """Cycles of the cluster on some channels of one of equal parts.

        Channels are shared out by fours, as far as all cores then have as many, and pixels to the cores that have the
        same channels (kernels/pulp/match_pulp_requantize.c).
        """
        sharing = 4 * (self.cores & -self.cores)  # four for each core, of those that a power of two divides
        along = larger(np.gcd(sharing, channels) // 4, 1)
        pixels = ceil_div(tile.oy * tile.ox, parts * self.cores // along)
        each = channels / along * (REQUANTIZATION_CHANNEL + pixels * REQUANTIZATION[self.form])
        if self.listed:
            once, channel, output = REQUANTIZATION_EXCEPTIONS
            share = ceil_div(tile.oy * tile.ox, parts * self.cores)
            each = each + once + channels * (channel + self.listed * share * output)
        return self.fork + (REQUANTIZATION_CALL + each) * self.sharing.factor(self.cores)


class _Along(NamedTuple):
    """Jobs, sub-tiles and computed outputs of a tile along rows or columns."""

    jobs: int
    subtiles: int
    outputs: int


def _groups(layer: Layer, tile: Tile) -> tuple[int, int]:
    """Groups of a tile, and output channels of each; a convolution without groups is one."""
    return (tile.k, layer.get(ChannelGroups).outputs) if layer.op is Op.GROUPED_CONV2D else (1, tile.k)


def _distance(layer: Layer, tile: Tile) -> int:
    """Bytes from an output pixel to the next: a block has the channels of its tile or, in a group, those of the layer.

    A tile does not tell which, so this is the greater.
    """
    groups, outputs = _groups(layer, tile)
    distance: int = larger(groups * outputs, layer.output_channels)
    return distance


def _same_banks(distance: int, width: int) -> bool:
    """Whether two words of `width` bytes at such a distance have a bank in common."""
    apart = distance % BANKS_BYTES
    same: bool = smaller(apart, BANKS_BYTES - apart) < width
    return same


def _block(layer: Layer) -> int:
    return INPUT_CHANNELS if layer.op is Op.DEPTHWISE_CONV2D else OUTPUT_CHANNELS


def _part_channels(layer: Layer, tile: Tile) -> int:
    """Output channels of a part whose accumulators leave NE16: a block's, or those of as many groups as that has."""
    groups, outputs = _groups(layer, tile)
    together = larger(1, smaller(groups, _block(layer) // layer.get(ChannelGroups).outputs))
    channels: int = smaller(_block(layer), together * outputs)
    return channels


def _edges(layer: Layer, rows: _Along, columns: _Along) -> int:
    """Jobs that may have other columns or rows than the job before them in the same place of the queue."""
    edges: int = rows.jobs * smaller(columns.jobs, PLACES + 1 + (layer.padding.left > 0))
    return edges


def _least_rows(layer: Layer) -> int:
    """Rows of a sub-tile, or of a strided job."""
    return STRIDED_ROWS if _strided(layer) else PIXELS


def _part_rows(rows: int, least: int, row_bytes: int) -> int:
    """Output rows of a part of `rows`, each of so many bytes between NE16 and the cluster."""
    fitting = larger(1, PART_BYTES // (least * row_bytes))
    subtiles = ceil_div(rows, least)
    return smaller(rows, ceil_div(subtiles, ceil_div(subtiles, fitting)) * least)


def _columns(layer: Layer, tile: Tile) -> int:
    """Columns that a row of a tile's windows sees, padding among them."""
    return (tile.ox - 1) * layer.stride[1] + tile.fx


def _window_bytes(layer: Layer, tile: Tile) -> int:
    """Bytes of a row of a tile's windows, laid out by columns that windows share."""
    return _columns(layer, tile) * tile.fy * tile.c


def _strided(layer: Layer) -> bool:
    return layer.fy == 3 and layer.stride != (1, 1)


def _along(layer: Layer, outputs: int, together: int, seen: int, behind: int) -> _Along:
    """One direction of a tile: `outputs` that see `seen` rows of the input, with `behind` rows of padding behind it.

    A strided job computes 3 outputs at stride 1 and drops the middle one, or computes one alone. Padding behind the
    input exists in the last sub-tile only; where it is larger than that, the last row is a job of its own. Rows that a
    tile does not see are taken for rows behind it, as far as there are such.
    """
    if _strided(layer):
        jobs = ceil_div(outputs, together)
        return _Along(jobs, jobs, outputs + (outputs - jobs))
    missing = smaller(behind, outputs + layer.fy - 1 - seen)
    last = (outputs - 1) % PIXELS + 1
    return _Along(choose((missing > last) & (outputs > 1), 2, 1), ceil_div(outputs, PIXELS), outputs)
