"""A PULP cluster with 8-bit SIMD dot products, executing the kernels of kernels/pulp.

The formulas are those kernels' loops, and count the cycles of the core with the most work. A block of 4 output channels
x 2 pixels takes 6 loads and 8 dot products a word, 14 instructions for 32 multiply-accumulates in a hardware loop, as
in PULP-NN (Garofalo et al., 2020). What stands around the loops is `pulp_cycles.KernelCycles`, measured on open RTL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from match.cost_models.dma import Mchan
from match.cost_models.pulp_convolution import convolution
from match.cost_models.pulp_cycles import (
    ENOUGH_SIGNS,
    LAST_OUTPUT,
    LINES,
    Form,
    KernelCycles,
    Sharing,
    looked_up,
)
from match.cost_models.pulp_depthwise import Depthwise
from match.cost_models.pulp_elements import (
    concatenation,
    elements,
    gathered,
    lines,
    lines_of_one,
    looked_up_bytes,
    normalization,
    sliced,
)
from match.cost_models.pulp_energy import PulpEnergy
from match.cost_models.pulp_gates import gru, lstm
from match.cost_models.pulp_int16 import INT16_ELEMENTS, Int16Cycles
from match.cost_models.pulp_loops import (
    STRIP_READS,
    WORD,
    align4,
    columns_bytes,
    is_lone,
    is_pointwise,
    seen_rows,
    widened,
)
from match.cost_models.pulp_pooling import float_average, pooling
from match.cost_models.pulp_products import is_fast, matrices, pointwise, product_of, row_of_words
from match.cost_models.pulp_team import Team
from match.cost_models.pulp_transposition import transposition
from match.ir.attributes import Broadcast, ChannelGroups, LookupTable
from match.ir.layer import GATES, Layer, Op
from match.target.cost import (
    Block,
    CostModel,
    Energy,
    Starting,
    Tile,
    ceil_div,
    choose,
)


@dataclass(frozen=True)
class PulpClusterCost(CostModel):
    """Cycles and scratch of the cluster's kernels.

    cores: workers that share out a tile: pairs of pixels by fours of channels (convolutions), strips of channels
        (depthwise), elements (addition, lookup) or channels (others).
    form: of requantization. listed: exceptions of an output channel in the mean.
    banks: what the cluster loses in each cycle in which NE16 computes another operator of a group: they share the banks
        of L1. Read off ten networks on GVSoC.
    kernel: cycles of a kernel call beside the work: filling in the tile's context (about 40 stores), fork and barrier
        of the event unit (tens of cycles, Glaser et al., 2020). Estimated.
    offload: cycles of a layer beside tiles: the control core's task, waking the cluster, the prologue. GVSoC counts
        that for the dense layers of ResNet8 and DS-CNN beyond their tiles (docs/pulp-open.md).
    cycles: of one core; int16: of activations of 16 bits. sharing: what all of them lose.
    ahead: of `kernel`, until the workers begin, where a master that is none of them starts them and goes on; None where
        it works, too, or waits.
    held: cycles that a call of a small kernel in a group takes less, if the kernel was called before and the call in
        front is of a small one, too: caches still hold its instructions.
    consumption: of the chip's units, None where it is not known.
    """

    cores: int = 8
    form: Form = "split"
    listed: float = 0
    banks: float = 0.2
    kernel: int = 150
    offload: int = 920
    cycles: KernelCycles = field(default_factory=KernelCycles.measured)
    int16: Int16Cycles = field(default_factory=Int16Cycles.measured)
    sharing: Sharing = field(default_factory=Sharing.measured)
    dma: Mchan = field(default_factory=Mchan)
    ahead: int | None = None
    held: int = 0
    consumption: PulpEnergy | None = None

    overlap = True
    arrays = True

    @property
    def energy(self) -> Energy | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What all its cores consume in a kernel."""
        return self.consumption and self.consumption.of_cluster(self.cores)

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Bytes, as kernels/pulp/match_pulp.h gives them for each kernel."""
        if layer.op in GATES:
            return align4((5 if layer.op is Op.GRU_RESET_FIRST else 2) * tile.ox * tile.k)
        if layer.input_dtype == "int16":
            return 0
        if layer.op is Op.GROUPED_CONV2D or (layer.op is Op.CONV2D and not is_pointwise(layer)):
            return self.cores * columns_bytes(align4(tile.fy * tile.fx * tile.c) + WORD)
        if layer.op is Op.DEPTHWISE_CONV2D:
            columns = self.cores * align4(tile.fx * seen_rows(layer, tile))
            wide = widened(layer)
            if wide is None:
                return columns
            some = (wide.fy == 5 or wide.stride[0] == 2) and not is_lone(layer)
            narrow = STRIP_READS * tile.iy * tile.k if some else 0
            return columns + align4(wide.fy * wide.fx * tile.k) + narrow
        return 0

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of the busiest core, and what it waits for others."""
        cycles = self.cycles.call + self._work(layer, tile)
        if layer.op is Op.DENSE and self.form in LAST_OUTPUT and layer.input_dtype != "int16":
            length = tile.c
            words = is_fast(self.team, tile) & (length % WORD == 0) & (length >= 2 * WORD)
            cycles = choose(words & (tile.oy * tile.ox == 1), row_of_words(self.team, tile), cycles)
        return cycles * self.sharing.factor(self.cores, layer)

    def sees_padding(self, layer: Layer) -> bool:
        """Depthwise convolutions: narrow tiles have kernels of their own."""
        return layer.op is Op.DEPTHWISE_CONV2D

    def launch(self, layer: Layer) -> float:
        """The same for every kernel."""
        return self.kernel

    def starting(self, layer: Layer, tile: Tile) -> Starting:
        """The master goes on, if it is none of the workers."""
        return super().starting(layer, tile) if self.ahead is None else Starting(self.ahead)

    def beside(self, layer: Layer) -> float:
        """They share the banks of L1."""
        return self.banks

    def transfer(self, layer: Layer, block: Block) -> float:
        """MCHAN's, and what the cores' use of L1's banks adds."""
        return self.dma.transfer(block) * self.sharing.transfer(self.cores, layer.op)

    def issue(self, layer: Layer) -> float:
        """MCHAN's."""
        return self.dma.call

    def overhead(self, layer: Layer) -> float:
        """The offload from the control core, and loading the instructions of all kernels."""
        return self.offload + sum(self.sharing.calls(layer.operators, self.cores))

    def group_overhead(self, layer: Layer) -> float:
        """The offload."""
        return self.offload

    def group_calls(self, layers: Sequence[Layer]) -> Sequence[float]:
        """Loading the instructions of each operator's kernel, or again if others have displaced them."""
        loaded, held = self.sharing.calls(layers, self.cores), self.sharing.held(layers, self.cores)
        return [cycles - self.held * again for cycles, again in zip(loaded, held, strict=True)]

    @property
    def team(self) -> Team:
        """What the formulas of kernels need."""
        return Team(self.cores, self.form, self.listed, self.cycles, self.sharing)

    def _work(self, layer: Layer, tile: Tile) -> float:
        if layer.input_dtype == "int16":
            return self._of_int16(layer, tile)
        team = self.team
        match layer.op:
            case Op.CONV2D:
                return pointwise(team, tile) if is_pointwise(layer) else convolution(team, layer, tile)
            case Op.GROUPED_CONV2D:
                group = convolution(team, layer, tile._replace(k=layer.get(ChannelGroups).outputs))
                begin = self.cycles.group + (self.cycles.group_share if self.cores > 1 else 0)
                return tile.k * (begin + group)
            case Op.DEPTHWISE_CONV2D:
                fetched = self.sharing.phase * (self.cores - 1) / 7
                apart = self.sharing.of_gathered(self.cores)
                depthwise = Depthwise(self.cores, self.form, self.listed, self.cycles, fetched, apart)
                return depthwise.work(layer, tile)
            case Op.DENSE:
                return tile.oy * product_of(team, ceil_div(tile.k, self.cores), tile.c, tile).cycles(tile.ox)
            case Op.MATRICES:
                return matrices(team, tile)
            case Op.ADD | Op.MULTIPLY if layer.get(Broadcast).kind and self.form in LINES and not self.listed:
                return lines_of_one(team, layer, tile)
            case Op.ADD:
                each = {"int32": self.cycles.add, "split": self.cycles.add_split}.get(self.form, self.cycles.add_int64)
                return self.cycles.addition + elements(team, layer, tile, each)
            case Op.LOOKUP if layer.get(LookupTable).turns_signs:
                signs = self.cycles.signs + elements(team, layer, tile, self.cycles.sign)
                enough = tile.oy * tile.ox * tile.k >= ENOUGH_SIGNS * self.cores
                return choose(enough, signs, looked_up_bytes(team, layer, tile))
            case Op.LOOKUP:
                return looked_up_bytes(team, layer, tile)
            case Op.SLICE:
                return sliced(team, layer, tile)
            case Op.REQUANTIZE | Op.LEAKY_RELU | Op.LOGISTIC | Op.TANH:
                return self._of_int16(layer, tile)
            case Op.QUANTIZE | Op.DEQUANTIZE | Op.DEQUANTIZE_SUMS:
                return elements(team, layer, tile, getattr(self.cycles, layer.op))
            case Op.CHANNEL_LOOKUP:
                pixels = tile.oy * tile.ox
                rows = ceil_div(pixels, self.cores) * self.cycles.channel_lookup_pixel
                return rows + elements(team, layer, tile, self.cycles.channel_lookup)
            case Op.MULTIPLY:
                alone = self.cycles.multiply_alone if self.listed and self.form in LINES else 0
                each = team.by_form("multiply") + alone + looked_up(self.listed)
                return self.cycles.addition + elements(team, layer, tile, each)
            case Op.SQUARED_DIFFERENCE:
                each = self.cycles.squared_difference + team.requantize + looked_up(self.listed)
                return self.cycles.addition + elements(team, layer, tile, each)
            case Op.LOOKUP_SUM | Op.ABSOLUTE_DIFFERENCE:
                return elements(team, layer, tile, getattr(self.cycles, layer.op))
            case Op.LOOKUP_LINE:
                return lines(team, layer, tile)
            case Op.CONCATENATE:
                return concatenation(team, layer, tile)
            case Op.TRANSPOSE:
                return transposition(layer, tile, self.cores, self.cycles)
            case Op.GATHER:
                return gathered(team, layer, tile)
            case Op.SOFTMAX:
                row = self.cycles.softmax_row + self.cycles.softmax * tile.k
                return ceil_div(tile.oy * tile.ox, self.cores) * row
            case Op.LOG_SOFTMAX:
                row = self.cycles.logarithm_row + self.cycles.logarithm * tile.k
                return ceil_div(tile.oy * tile.ox, self.cores) * row
            case Op.NORMALIZE:
                return normalization(team, tile)
            case Op.LSTM:
                return lstm(team, tile)
            case Op.GRU | Op.GRU_RESET_FIRST:
                return gru(team, tile, layer.op is Op.GRU_RESET_FIRST)
            case Op.RESIZE:
                pixel = self.cycles.resized_pixel + self.cycles.resized * tile.k
                return ceil_div(tile.oy * tile.ox, self.cores) * pixel
            case Op.AVG_POOL2D | Op.MAX_POOL2D:
                return pooling(team, layer, tile)
            case Op.FLOAT_AVG_POOL2D:
                return float_average(team, tile)
            case Op.OWN:
                raise NotImplementedError(f"{layer.what}: who brings an operator says what it costs")

    def _of_int16(self, layer: Layer, tile: Tile) -> float:
        if layer.op in INT16_ELEMENTS:
            return elements(self.team, layer, tile, getattr(self.int16, layer.op))
        return self.int16.work(layer, tile, self.cores)
