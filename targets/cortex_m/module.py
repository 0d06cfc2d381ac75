"""The core of a Cortex-M as a module: kernels of kernels/cortex_m, and those of kernels/pulp in C for all others."""

from __future__ import annotations

from dataclasses import replace

from match.cost_models.cortex_m import CortexMCost
from match.cost_models.pulp_cluster import PulpClusterCost
from match.ir.attributes import Broadcast, ChannelGroups
from match.ir.constants import LayerConstants
from match.ir.layer import GATES, Layer, Op, Operand
from match.ir.requantization import Requantizer
from match.target.cost import CostModel, Tile
from match.target.hardware import DirectApi
from match.target.operands import ADDEND, INPUT, standard_operands
from match.target.tile_constants import Spans, pack, parameter_bytes
from match.targets.cortex_m.operators import FORMS, LONG, LONG_SIGNED, WEIGHTED, Kernels
from match.targets.pulp.kernels import PulpKernels
from match.targets.pulp.operators import kernel_cost

_OF_BYTES = frozenset({Op.MAX_POOL2D, Op.LOOKUP, Op.OWN})
"""Operators whose kernels requantize nothing, and those that an author adds."""


class CortexM(PulpKernels):
    """A Cortex-M with the DSP extension or MVE, which computes out of its RAM and flash."""

    name = "core"
    memories = ()
    api = DirectApi(("match_arm.h", "match_pulp.h"))

    def __init__(self, cost: CortexMCost) -> None:
        """A core with the cycles that are given."""
        super().__init__(PulpClusterCost(cores=1, kernels=kernel_cost), cost)
        self.peak_macs = None
        self._kernels = Kernels(cost.vectors)
        self._cost = cost

    def forms(self, layer: Layer) -> tuple[Requantizer, ...]:
        """By words where layers have such a form, which nearly all of them do; else by sums of 64 bits.

        Few layers are exact with exceptions alone, which kernels of kernels/pulp know.
        """
        forms = super().forms(layer)
        if layer.op not in FORMS or not _is_own(layer, None):
            return forms
        return (*FORMS[layer.op], *(form for form in forms if form.exceptions))

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        """A kernel of match_arm.h, by operator and form, or of match_pulp.h."""
        kernels = self._kernels if _is_own(layer, requantizer) else super()
        return kernels.kernel(layer, requantizer)

    def operands(self, layer: Layer, requantizer: Requantizer | None) -> tuple[Operand, ...]:
        """Dense HWC activations; weights and parameters as the kernels read them."""
        if not _is_own(layer, requantizer):
            return super().operands(layer, requantizer)
        if requantizer is None or layer.op is Op.ADD:
            return standard_operands(layer, parameter_bytes(layer, requantizer), requantizer=requantizer)
        return self._kernels.operands(layer, requantizer)

    def pack(
        self, layer: Layer, requantizer: Requantizer | None, constants: LayerConstants, spans: Spans
    ) -> tuple[bytes, ...]:
        """The constants of the channels in `spans`."""
        if not _is_own(layer, requantizer):
            return super().pack(layer, requantizer, constants, spans)
        if requantizer is None or layer.op is Op.ADD:
            return pack(constants, requantizer, spans)
        return self._kernels.pack(layer, requantizer, constants, spans)

    def overwritable(self, layer: Layer, requantizer: Requantizer | None) -> dict[str, int]:
        """The inputs of kernels that go through the output pixel by pixel."""
        if not _is_own(layer, requantizer):
            return {}
        lag = self._kernels.lag(layer)
        return {} if lag is None else dict.fromkeys((INPUT, ADDEND)[: 1 + layer.two_inputs], lag)

    def cost(self, layer: Layer, requantizer: Requantizer | None) -> CostModel:
        """What the kernel takes; one of kernels/pulp needs the scratch that it needs there."""
        if not _is_own(layer, requantizer):
            return _Portable(self._cost, super().cost(layer, requantizer))
        long = requantizer is not None and requantizer.name in (LONG.name, LONG_SIGNED.name)
        return replace(self._cost, long=True) if long else self._cost


_CALL, _PIXEL, _COPIED, _PRODUCT, _SUM, _OUTPUT = 500.0, 100.0, 10.0, 2.9, 10.0, 50.0
"""Instructions of a layer, pixel, byte of a window, multiply-accumulate, sum and output of kernels/pulp in C.

Fitted to 40 dense layers and convolutions of 1x1 that return sums, and to 8 convolutions, under QEMU: within a fifth.
Those of 16 bits are taken to be no slower.
"""


class _Portable(CostModel):
    """The cycles of a kernel of kernels/pulp on a Cortex-M."""

    overlap = False

    def __init__(self, own: CortexMCost, theirs: CostModel) -> None:
        self._own = own
        self._theirs = theirs

    def scratch(self, layer: Layer, tile: Tile) -> int:
        return self._theirs.scratch(layer, tile)

    def compute(self, layer: Layer, tile: Tile) -> float:
        if layer.op not in WEIGHTED | GATES.keys():
            return self._own.compute(layer, tile)
        window, channels = tile.fy * tile.fx, tile.k * layer.get(ChannelGroups).outputs
        pixel = _PIXEL + channels * (_SUM if layer.output_dtype == "int32" else _OUTPUT)
        pixel += _COPIED * window * layer.input_channels if window > 1 else 0
        instructions = _CALL + _PRODUCT * layer.macs + tile.oy * tile.ox * pixel
        return self._own.cycles * instructions + self._own.flash * self._own.constants(layer, tile)


def _is_own(layer: Layer, requantizer: Requantizer | None) -> bool:
    """Whether the kernel is one of kernels/cortex_m: without 16 bits, sums as outputs, and exceptions."""
    if layer.input_dtype == "int16" or layer.output_dtype == "int32" or (requantizer and requantizer.exceptions):
        return False
    if layer.op is Op.ADD:
        return not layer.get(Broadcast).kind
    return layer.op in FORMS or layer.op in WEIGHTED or layer.op in _OF_BYTES
