"""NE16: the convolution accelerator inside the cluster, on weights of 2 to 8 bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from match.cost_models.ne16 import Ne16Cost
from match.ir.attributes import ChannelGroups
from match.ir.constants import Filters, LayerConstants
from match.ir.layer import WIDEST_WEIGHTS, Dim, Layer, Op, Operand
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.target.cost import CostModel, ceil_div
from match.target.hardware import ComputeApi, HwModule, ModuleApi, Pattern, PlatformApi, SyncApi
from match.target.operands import (
    exception_components,
    filter_component,
    input_operand,
    output_operand,
    requantization_component,
    weights_operand,
)
from match.target.tile_constants import exceptions, listed_exceptions, output_spans, requantization
from match.targets.gap9 import packing
from match.targets.gap9.constraints import NE16, NE16_CHAINS, has_filter
from match.targets.gap9.memory import L1
from match.targets.pulp.kernels import INT64, INT64_EXCEPT, INT64_SIGNED, SPLIT, SPLIT_EXCEPT, SPLIT_SIGNED
from match.targets.pulp.memory import L1_API

COST = Ne16Cost()
"""With the vendor's SDK."""


def _norm_quant(name: str, multiplier_bits: int) -> Requantizer:
    """``(int32)(acc * M + B) >> S`` with unsigned M, as the accelerator's output stage computes it."""
    return Requantizer(
        name=name,
        multiplier_bits=multiplier_bits,
        signed_multiplier=False,
        sum_bits=32,
        bias_bits=32,
        shift=(0, 31),
        per_channel_shift=True,
        negative_step=False,
        parameter_bytes=4 + multiplier_bits // 8 + 1,
        approximates=True,
        clips=((0, 255),),
    )


NORM_QUANT = (_norm_quant("norm_quant_8", 8), _norm_quant("norm_quant_16", 16), _norm_quant("norm_quant_32", 32))
"""The output stage's forms."""

STREAM_OUT_SPLIT = tuple(replace(form, name=f"stream_out_{form.name}") for form in (SPLIT, SPLIT_SIGNED, SPLIT_EXCEPT))
STREAM_OUT = tuple(
    replace(form, name=form.name.replace("int64", "stream_out")) for form in (INT64, INT64_SIGNED, INT64_EXCEPT)
)
"""32-bit accumulators that the cluster requantizes, by halves of multipliers where that is exact."""

_KERNEL_SUFFIX = {
    **{form.name: suffix for form, suffix in zip(NORM_QUANT, ("_m8", "_m16", ""), strict=True)},
    **{form.name: "_exact_split" for form in STREAM_OUT_SPLIT},
    **{form.name: "_exact" for form in STREAM_OUT},
}


class Ne16(HwModule):
    """NE16 with the driver of kernels/ne16."""

    name = "ne16"
    requantizers = (*NORM_QUANT, *STREAM_OUT_SPLIT, *STREAM_OUT)
    peak_macs = 9 * 9 * 16 // 8  # 9 blocks of 9 by 16 multipliers of 8 by 1 bit
    groups = True
    settled = frozenset({"cost_model"})
    api = ModuleApi(
        headers=("match_gap9_chip.h", "match_ne16.h"),
        platform=PlatformApi(offload="match_pulp_cluster_offload"),
        memory=L1_API,
        sync=SyncApi(wait_transfer="match_pulp_dma_wait", wait_compute="match_gap9_ne16_wait"),
        compute=ComputeApi(start="match_gap9_ne16_start", under_way=2),
    )

    def __init__(self, l1: Memory = L1, cost: Ne16Cost = COST) -> None:
        """With `l1` as its scratchpad, GAP9's, if nothing is said, and what a chip's driver and DMA cost."""
        self.memories = (l1,)
        self._costs = {
            **{form.name: replace(cost, multiplier_bytes=form.multiplier_bits // 8) for form in NORM_QUANT},
            **{
                form.name: replace(cost, stream_out=True, form="split_signed" if form.negative_step else "split")
                for form in STREAM_OUT_SPLIT
            },
            **{form.name: replace(cost, stream_out=True) for form in STREAM_OUT},
        }
        self.cost_model = self._costs[NORM_QUANT[-1].name]

    def patterns(self) -> tuple[Pattern, ...]:
        """Convolutions and dense layers, and some chains of convolutions; see `constraints`."""
        chains = (Pattern(last, before=tuple(before)) for *before, last in NE16_CHAINS)
        return (*(Pattern(op, constraints) for op, constraints in NE16.items()), *chains)

    def operands(self, layer: Layer, requantizer: Requantizer | None) -> tuple[Operand, ...]:
        """Dense HWC activations, filters as bit planes of 16 channels, and the form's parameters.

        The accelerator's own parameters are one array after another, for all channels of the tile.
        """
        if layer.op is Op.DEPTHWISE_CONV2D:
            weights = filter_component(layer, packing.GROUP)
        else:
            positions = 1 if self._lays_out(layer, requantizer) else layer.fy * layer.fx
            groups = ceil_div(layer.fy * layer.fx * layer.c // positions, packing.GROUP)
            planes = layer.get(ChannelGroups).outputs * groups * layer.weight_bits
            weights = filter_component(layer)
            weights = replace(weights, axes=weights.axes[:1], element_bytes=planes * positions * packing.PLANE_BYTES)
        parameters = requantization_component(layer, requantizer.parameter_bytes if requantizer else 0)
        if requantizer in NORM_QUANT:
            parameters = replace(parameters, divisible=False)
        exceptions = exception_components(layer, requantizer)
        return input_operand(layer), weights_operand(weights, parameters, *exceptions), output_operand(layer)

    def pack(
        self,
        layer: Layer,
        requantizer: Requantizer | None,
        constants: LayerConstants,
        spans: Mapping[Dim, tuple[int, int]],
    ) -> tuple[bytes, ...]:
        """Filters as bit planes, then parameters in the form's layout."""
        weights = constants.get(Filters)
        if weights is None or requantizer is None:
            raise ValueError(f"layer {layer.name} has no weights or no requantization, and NE16 needs both")
        pack_parameters = packing.norm_quant if requantizer in NORM_QUANT else requantization
        spans = output_spans(layer, spans)
        if layer.op is Op.DEPTHWISE_CONV2D:
            filters = packing.depthwise_bit_planes(weights.values, spans)
        elif self._lays_out(layer, requantizer):
            filters = packing.laid_out_bit_planes(weights.values, spans, layer.weight_bits)
        else:
            filters = packing.bit_planes(weights.values, spans, layer.weight_bits)
        return (
            filters,
            pack_parameters(constants, requantizer, spans),
            *exceptions(constants, requantizer, spans),
        )

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        """A kernel of match_ne16.h; a dense layer is a 1x1 convolution of one row of pixels."""
        if requantizer is None:
            raise ValueError(f"layer {layer.name} has no requantization, and NE16 needs one")
        if self._lays_out(layer, requantizer):
            return f"match_ne16_conv2d_laid_out{_KERNEL_SUFFIX[requantizer.name]}"
        kind = "depthwise" if layer.op is Op.DEPTHWISE_CONV2D else "conv2d"
        return f"match_ne16_{kind}_{layer.fy}x{layer.fx}{_KERNEL_SUFFIX[requantizer.name]}"

    def fewest_weight_bits(self, layer: Layer) -> int:
        """As many as the array takes; of depthwise filters 8, as 16 channels share each plane and lie together."""
        return WIDEST_WEIGHTS if layer.op is Op.DEPTHWISE_CONV2D else packing.FEWEST_BITS

    def cost(self, layer: Layer, requantizer: Requantizer | None) -> CostModel:
        """Wider multipliers take longer to load; what the cluster lays out or requantizes, time and scratch."""
        cost = self._cost_of(layer, requantizer)
        if layer.weight_bits < WIDEST_WEIGHTS:
            cost = replace(cost, weight_bits=layer.weight_bits)
        return replace(cost, laid_out=True) if self._lays_out(layer, requantizer) else cost

    def _cost_of(self, layer: Layer, requantizer: Requantizer | None) -> Ne16Cost:
        """With the array's own filters."""
        if requantizer is None:
            return self._costs[NORM_QUANT[-1].name]
        model = self._costs[requantizer.name]
        return replace(model, listed=listed_exceptions(layer, requantizer)) if requantizer.listed else model

    def _lays_out(self, layer: Layer, requantizer: Requantizer | None) -> bool:
        """Whether the cluster lays out windows as pixels, as the array has no such filter, or takes longer for it."""
        return not has_filter(layer) or self._cost_of(layer, requantizer).takes_longer(layer)

    def alone(self, layer: Layer, requantizer: Requantizer | None) -> bool:
        """Where the cluster lays out windows or requantizes."""
        return requantizer not in NORM_QUANT or self._lays_out(layer, requantizer)

    def tile_multiples(self, layer: Layer) -> Mapping[Dim, int]:
        """Tiles of depthwise channels are whole groups of 16, which share their bit planes.

        Those of strided convolutions are even, so that pixels lie an even number of bytes apart and a job makes 2x2.
        """
        if layer.op is Op.DEPTHWISE_CONV2D:
            return {Dim.K: packing.GROUP}
        odd = layer.get(ChannelGroups).outputs % 2 == 1
        return {Dim.K: 2} if odd and layer.fy == 3 and layer.stride != (1, 1) else {}
