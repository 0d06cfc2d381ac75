"""DIANA's digital accelerator: 16 x 16 multiply-accumulate units on 8-bit weights and activations."""

from __future__ import annotations

from collections.abc import Mapping

from match.cost_models.diana import DianaDigitalCost, DianaDma
from match.ir.constants import Filters, LayerConstants
from match.ir.layer import Axis, Component, Dim, Layer, Op, Operand
from match.ir.requantization import Requantizer
from match.target.cost import CostModel, Energy
from match.target.hardware import ComputeApi, HwModule, ModuleApi, Pattern, PlatformApi, SyncApi
from match.target.operands import ADDEND, FILTER, input_operand, output_operand, weights_operand
from match.targets.diana import layout, packing
from match.targets.diana.constraints import DIGITAL
from match.targets.diana.memory import L1, L1_API

_CLIPS = ((-128, 127), (0, 127))
_BIAS_BYTES = 4


def _shift_and_clip(name: str, bias_bits: int) -> Requantizer:
    """``clip((acc + B) >> S)`` with one S for the layer, as the accelerator's output stage computes it."""
    return Requantizer(
        name=name,
        multiplier_bits=0,
        signed_multiplier=False,
        sum_bits=32,
        bias_bits=bias_bits,
        shift=(0, 31),
        per_channel_shift=False,
        negative_step=False,
        parameter_bytes=_BIAS_BYTES if bias_bits else 0,
        approximates=True,
        clips=_CLIPS,
        addend_multipliers=False,
    )


SHIFT = _shift_and_clip("shift", bias_bits=32)
"""The form of convolutions and fully connected layers."""

SHIFT_SUM = _shift_and_clip("shift_sum", bias_bits=0)
"""The form of the sum of two tensors, which has no bias."""

_KERNELS = {
    Op.CONV2D: "match_diana_conv2d",
    Op.DEPTHWISE_CONV2D: "match_diana_depthwise_conv2d",
    Op.DENSE: "match_diana_dense",
    Op.ADD: "match_diana_add",
}


class Digital(HwModule):
    """The digital accelerator with the driver of kernels/diana."""

    name = "digital"
    memories = (L1,)
    requantizers = (SHIFT, SHIFT_SUM)
    peak_macs = 16 * 16  # an array of 16 by 16 multipliers
    api = ModuleApi(
        headers=("match_diana_chip.h", "match_diana.h"),
        platform=PlatformApi(offload="match_diana_offload"),
        memory=L1_API,
        sync=SyncApi(wait_transfer="match_diana_dma_wait", wait_compute="match_diana_wait"),
        compute=ComputeApi(start="match_diana_start"),
    )

    def __init__(self, dma: DianaDma = DianaDma(), energy: Energy | None = None) -> None:
        """With what the chip's DMA costs, and what all of it consumes."""
        self.cost_model: CostModel = DianaDigitalCost(dma=dma, energy=energy)

    def patterns(self) -> tuple[Pattern, ...]:
        """Convolutions, dense layers and additions; see `constraints.DIGITAL`."""
        return tuple(Pattern(op, constraints) for op, constraints in DIGITAL.items())

    def forms(self, layer: Layer) -> tuple[Requantizer, ...]:
        """With a bias for each output channel, or none at all."""
        return (SHIFT_SUM,) if layer.op is Op.ADD else (SHIFT,)

    def operands(self, layer: Layer, requantizer: Requantizer | None) -> tuple[Operand, ...]:
        """Activations as `layout` has them, and weights with their biases in groups of output channels."""
        first, output = layout.stored(input_operand(layer), layer), layout.stored(output_operand(layer), layer)
        if layer.op is Op.ADD:
            return first, layout.stored(input_operand(layer, ADDEND), layer), output
        return first, weights_operand(_weights(layer)), output

    def pack(
        self,
        layer: Layer,
        requantizer: Requantizer | None,
        constants: LayerConstants,
        spans: Mapping[Dim, tuple[int, int]],
    ) -> tuple[bytes, ...]:
        """Weights and biases as the accelerator streams them."""
        filters = constants.get(Filters)
        if filters is None:
            raise ValueError(f"layer {layer.name} has no weights to pack")
        start, extent = spans[Dim.K]
        part = slice(start, start + extent)
        weights, bias = filters.values[part], packing.biases(constants)[part]
        if layer.op is Op.DENSE:
            return (packing.fully_connected(weights.reshape(extent, layer.c), bias),)
        pack = packing.depthwise if layer.op is Op.DEPTHWISE_CONV2D else packing.convolution
        return (pack(weights, bias),)

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        """A kernel of match_diana.h."""
        return _KERNELS[layer.op]

    def tile_multiples(self, layer: Layer) -> Mapping[Dim, int]:
        """Tiles have whole groups of 16 output channels, which the array writes together, and whole rows."""
        return {Dim.K: packing.ARRAY} if layer.op is Op.DENSE else {Dim.K: packing.ARRAY, Dim.OX: 0}


def _group(layer: Layer) -> int:
    """Output channels whose weights and biases lie together."""
    return packing.DEPTHWISE_CHANNELS if layer.op is Op.DEPTHWISE_CONV2D else packing.ARRAY


def _weights(layer: Layer) -> Component:
    """Weights and biases of whole groups of output channels; bytes of an element are those of a channel."""
    if layer.op is Op.DENSE:
        channel_bytes = -(-layer.c // packing.ARRAY) * packing.ARRAY + packing.ARRAY
    else:
        lane = packing.ARRAY // _group(layer)
        channel_bytes = lane * (layer.c * layer.fy * layer.fx + _BIAS_BYTES)
    return Component(FILTER, (Axis(Dim.K, layer.k, multiple=_group(layer)),), channel_bytes)
