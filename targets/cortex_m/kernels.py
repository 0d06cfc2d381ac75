"""The core of a Cortex-M as a module: kernels of kernels/cortex_m, and those of kernels/pulp in C for all others."""

from __future__ import annotations

from dataclasses import replace

from match.cost_models.cortex_m import CortexMCost
from match.cost_models.pulp_cluster import PulpClusterCost
from match.ir.constants import LayerConstants
from match.ir.layer import Axis, Component, Dim, Layer, Op, Operand
from match.ir.requantization import Requantizer
from match.target import tile_constants
from match.target.cost import CostModel
from match.target.hardware import DirectApi
from match.target.operands import ADDEND, FILTER, INPUT, REQUANTIZATION, standard_operands
from match.target.tile_constants import Spans, pack, parameter_bytes
from match.targets.cortex_m import packing
from match.targets.cortex_m.cores import Core
from match.targets.pulp.kernels import INT64, INT64_SIGNED, PulpKernels

HIGH = tile_constants.HIGH
INT32 = tile_constants.INT32

_WINDOWS = frozenset({Op.CONV2D, Op.DENSE, Op.DEPTHWISE_CONV2D, Op.AVG_POOL2D})
"""Operators whose accumulators match_arm_requant_t or match_arm_requant_long_t make outputs of."""

_OWN = _WINDOWS | {Op.ADD, Op.MAX_POOL2D, Op.LOOKUP}


class CortexM(PulpKernels):
    """A Cortex-M with the DSP extension or MVE, which computes out of its RAM and flash."""

    name = "core"
    memories = ()
    api = DirectApi(("match_arm.h", "match_pulp.h"))

    def __init__(self, core: Core, cost: CortexMCost) -> None:
        """A core with the cycles that are given."""
        super().__init__(PulpClusterCost(cores=1))
        self.peak_macs = None
        self._mve = core.mve
        self._own = cost

    def forms(self, layer: Layer) -> tuple[Requantizer, ...]:
        """By words where layers have such a form, which nearly all of them do; else by sums of 64 bits."""
        if not _is_own(layer):
            return super().forms(layer)
        return (INT32, INT64) if layer.op is Op.ADD else (HIGH, INT64, INT64_SIGNED)

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        """A kernel of match_arm.h, by operator and form, or of match_pulp.h."""
        if not _is_own(layer):
            return super().kernel(layer, requantizer)
        weighted = layer.op in _WINDOWS and layer.op is not Op.AVG_POOL2D
        family = "mve" if self._mve and weighted else "arm"
        name = "conv2d" if layer.op is Op.DENSE and layer.ox > 1 else layer.op.value
        long = "_long" if requantizer is not None and requantizer.name not in (HIGH.name, INT32.name) else ""
        return f"match_{family}_{name}{long}"

    def operands(self, layer: Layer, requantizer: Requantizer | None) -> tuple[Operand, ...]:
        """Dense HWC activations; weights and parameters as `packing` orders them."""
        if layer.op not in _WINDOWS or requantizer is None:
            if _is_own(layer):
                return standard_operands(layer, parameter_bytes(layer, requantizer), requantizer=requantizer)
            return super().operands(layer, requantizer)
        channels, filters = self._rounded(layer)
        words = packing.WORDS if requantizer.name == HIGH.name else packing.LONG
        sizes = {FILTER: filters, REQUANTIZATION: words.itemsize}

        def own(component: Component) -> Component:
            axis = Axis(Dim.K, layer.k, multiple=channels)
            return replace(component, axes=(axis,), element_bytes=sizes[component.name])

        return tuple(
            replace(operand, components=tuple(map(own, operand.components))) if operand.name == "weights" else operand
            for operand in standard_operands(layer, words.itemsize, requantizer=requantizer)
        )

    def pack(
        self, layer: Layer, requantizer: Requantizer | None, constants: LayerConstants, spans: Spans
    ) -> tuple[bytes, ...]:
        """Weights, if there are any, and parameters."""
        if layer.op not in _WINDOWS or requantizer is None:
            if _is_own(layer):
                return pack(constants, requantizer, spans)
            return super().pack(layer, requantizer, constants, spans)
        line, weights = constants.requantization, constants.weights
        assert line is not None
        shifted = self._mve and layer.op in (Op.CONV2D, Op.DENSE)
        addends = packing.shifted_addends(weights) if shifted and weights is not None else 0
        multiple, _ = self._rounded(layer)
        parameters = (packing.words if requantizer.name == HIGH.name else packing.long)(line, addends, multiple)
        if weights is None:
            return (parameters,)
        if layer.op is Op.DEPTHWISE_CONV2D:
            return ((packing.lanes if self._mve else packing.paired_rows)(weights[..., 0]), parameters)
        return ((packing.vectors if self._mve else packing.pairs)(weights), parameters)

    def _rounded(self, layer: Layer) -> tuple[int, int]:
        """What output channels are rounded up to in weights and parameters, and bytes of the weights of each."""
        window = layer.fy * layer.fx
        if layer.op is Op.AVG_POOL2D:
            return 1, 0
        if layer.op is Op.DEPTHWISE_CONV2D:
            return (packing.VECTOR_LANES, window) if self._mve else (1, 4 * layer.fx * packing.pair_words(layer.fy))
        pairs, vectors = (packing.PAIR_CHANNELS, packing.PAIR_VALUES), (packing.VECTOR_CHANNELS, packing.VECTOR_BYTES)
        channels, values = vectors if self._mve else pairs
        return channels, -(-window * layer.c // values) * values

    def overwritable(self, layer: Layer) -> tuple[str, ...]:
        """Inputs of additions and of lookups."""
        return (INPUT, ADDEND) if _is_own(layer) and layer.op in (Op.ADD, Op.LOOKUP) else ()

    def cost(self, layer: Layer, requantizer: Requantizer | None) -> CostModel:
        """What the kernel takes."""
        return self._own


def _is_own(layer: Layer) -> bool:
    """Whether the kernel is one of kernels/cortex_m: those know neither activations of 16 bits nor sums as outputs."""
    if layer.input_dtype == "int16" or layer.output_dtype == "int32" or layer.op not in _OWN:
        return False
    return layer.op is not Op.ADD or not layer.broadcast
