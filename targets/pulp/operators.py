"""What kernels/pulp computes: for each operator its kernel, what the layers have to be, and what the kernel costs.

A new kernel is a record here and a C file in the folder. Formulas that several kernels have are in
`match.cost_models.pulp_elements`, `pulp_products` and their like.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType

from match.cost_models.pulp_convolution import columns_scratch, convolution, convolution_scratch, grouped
from match.cost_models.pulp_depthwise import depthwise, depthwise_scratch
from match.cost_models.pulp_elements import (
    addition,
    by_element,
    by_row,
    channel_lookup,
    concatenation,
    elements,
    extremum,
    gathered,
    lines,
    loads_addition,
    lookup,
    multiplication,
    normalization,
    sliced,
    squared_difference,
)
from match.cost_models.pulp_gates import gates_scratch, gru, gru_reset_first, lstm, reset_first_scratch
from match.cost_models.pulp_int16 import Int16Cycles
from match.cost_models.pulp_kernel_cost import KernelCost
from match.cost_models.pulp_loops import is_pointwise, is_small_map, whole, widened
from match.cost_models.pulp_pooling import float_average, pooling
from match.cost_models.pulp_products import dense, matrices
from match.cost_models.pulp_team import Team
from match.cost_models.pulp_transposition import transposition
from match.ir.layer import Layer, Op
from match.target.constraints import no_dilation, uint8_input
from match.target.cost import Tile
from match.target.hardware import Constraint
from match.targets.pulp.constraints import accumulator_fits, matrices_fit, states_like_input


@dataclass(frozen=True)
class PulpOperator:
    """An operator of kernels/pulp.

    kernel: its function in match_pulp.h, without the end that tells a form of requantization or 16 bits.
    cost: of this kernel.
    constraints: what layers have to be.
    int16: the cost of the kernel for activations of 16 bits, None where there is none.
    sums: whether the kernel keeps partial sums, and hands out sums that nothing requantizes.
    wide: whether accumulators have too many bits for halves of multipliers; such a kernel knows no exceptions.
    """

    kernel: str
    cost: KernelCost
    constraints: tuple[Constraint, ...] = ()
    int16: KernelCost | None = None
    sums: bool = False
    wide: bool = False


def kernel_cost(layer: Layer) -> KernelCost:
    """What the kernel of a layer costs."""
    own = OPERATORS[layer.op]
    return own.int16 if own.int16 is not None and layer.input_dtype == "int16" else own.cost


def _loads_convolution(layer: Layer, _cores: int) -> str:
    return "pointwise" if is_pointwise(layer) else "convolution"


def _loads_depthwise(layer: Layer, _cores: int) -> str:
    if is_small_map(layer, whole(layer)):
        return "small_maps"
    return "depthwise" if widened(layer) is None else "widened"


def _loads_dense(layer: Layer, cores: int) -> str:
    """Fours of channels of several rows are computed by the loops of convolutions."""
    return "pointwise" if layer.oy * layer.ox > 1 and layer.k >= 4 * cores else "dense"


def _int16(
    work: Callable[[Int16Cycles, Layer, Tile, int], float], loads: str, waits: str = "waits_int16"
) -> KernelCost:
    """A kernel for activations of 16 bits, by a method of their cycles."""
    return KernelCost(lambda team, layer, tile: work(team.int16, layer, tile, team.cores), loads, waits)


def _int16_elements(cycles: str, loads: str | Callable[[Layer, int], str] = "element_int16") -> KernelCost:
    """A kernel that takes for each element of 16 bits as long as a field of `Int16Cycles` says."""

    def work(team: Team, layer: Layer, tile: Tile) -> float:
        return elements(team, layer, tile, getattr(team.int16, cycles))

    return KernelCost(work, loads, "elements_int16")


def _of_16_bits_alone(operator: Op) -> PulpOperator:
    cost = _int16_elements(operator.value)
    return PulpOperator(f"match_pulp_{operator.value}", cost, int16=cost)


def _extremum(operator: Op) -> PulpOperator:
    return PulpOperator(f"match_pulp_{operator.value}", KernelCost(extremum, "addition"), (uint8_input,))


OPERATORS = MappingProxyType(
    {
        Op.CONV2D: PulpOperator(
            "match_pulp_conv2d",
            KernelCost(convolution, _loads_convolution, scratch=convolution_scratch),
            (uint8_input, accumulator_fits),
            int16=_int16(Int16Cycles.products, "product_int16"),
            sums=True,
        ),
        Op.DEPTHWISE_CONV2D: PulpOperator(
            "match_pulp_depthwise_conv2d",
            KernelCost(depthwise, _loads_depthwise, scratch=depthwise_scratch),
            (uint8_input, accumulator_fits),
            int16=_int16(Int16Cycles.strips, "depthwise_int16"),
        ),
        Op.GROUPED_CONV2D: PulpOperator(
            "match_pulp_grouped_conv2d",
            KernelCost(grouped, _loads_convolution, scratch=columns_scratch),
            (uint8_input, accumulator_fits),
            int16=_int16(Int16Cycles.grouped, "product_int16"),
        ),
        Op.DENSE: PulpOperator(
            "match_pulp_dense",
            KernelCost(dense, _loads_dense),
            (uint8_input, accumulator_fits),
            int16=_int16(Int16Cycles.products, "product_int16"),
            sums=True,
        ),
        Op.MATRICES: PulpOperator("match_pulp_matrices", KernelCost(matrices, "matrices"), (uint8_input, matrices_fit)),
        Op.ADD: PulpOperator(
            "match_pulp_add",
            KernelCost(addition, loads_addition),
            (uint8_input,),
            int16=_int16_elements("add", loads_addition),
        ),
        Op.AVG_POOL2D: PulpOperator(
            "match_pulp_avg_pool2d",
            KernelCost(pooling, "averages"),
            (uint8_input,),
            int16=_int16(Int16Cycles.averages, "averages", "waits"),
        ),
        Op.FLOAT_AVG_POOL2D: PulpOperator(
            "match_pulp_float_avg_pool2d", KernelCost(float_average, "averages"), (uint8_input, no_dilation)
        ),
        Op.MAX_POOL2D: PulpOperator(
            "match_pulp_max_pool2d",
            KernelCost(pooling, "maxima"),
            (uint8_input, no_dilation),
            int16=_int16(Int16Cycles.maxima, "maxima", "waits"),
        ),
        Op.LOOKUP: PulpOperator("match_pulp_lookup", KernelCost(lookup)),
        Op.CHANNEL_LOOKUP: PulpOperator("match_pulp_channel_lookup", KernelCost(channel_lookup)),
        Op.MULTIPLY: PulpOperator(
            "match_pulp_multiply",
            KernelCost(multiplication, loads_addition),
            (uint8_input,),
            int16=_int16_elements("multiply"),
        ),
        Op.SQUARED_DIFFERENCE: PulpOperator(
            "match_pulp_squared_difference", KernelCost(squared_difference, "addition"), (uint8_input,), wide=True
        ),
        Op.ABSOLUTE_DIFFERENCE: PulpOperator(
            "match_pulp_absolute_difference", KernelCost(by_element("absolute_difference"), "addition"), (uint8_input,)
        ),
        **{op: _extremum(op) for op in (Op.MAXIMUM, Op.MINIMUM)},
        Op.LOOKUP_SUM: PulpOperator(
            "match_pulp_lookup_sum", KernelCost(by_element("lookup_sum"), "addition"), (uint8_input,)
        ),
        Op.LOOKUP_LINE: PulpOperator("match_pulp_lookup_line", KernelCost(lines, "addition"), (uint8_input,)),
        Op.CONCATENATE: PulpOperator("match_pulp_concatenate", KernelCost(concatenation, "concatenation")),
        Op.SLICE: PulpOperator("match_pulp_lookup", KernelCost(sliced, "moved")),
        Op.TRANSPOSE: PulpOperator("match_pulp_transpose", KernelCost(transposition, "moved")),
        Op.GATHER: PulpOperator("match_pulp_gather", KernelCost(gathered, "moved")),
        Op.SOFTMAX: PulpOperator(
            "match_pulp_softmax",
            KernelCost(by_row("softmax_row", "softmax")),
            (uint8_input,),
            int16=_int16(Int16Cycles.softmax_rows, "element_int16", "elements_int16"),
        ),
        Op.LOG_SOFTMAX: PulpOperator(
            "match_pulp_log_softmax", KernelCost(by_row("logarithm_row", "logarithm")), (uint8_input,)
        ),
        Op.NORMALIZE: PulpOperator("match_pulp_normalize", KernelCost(normalization), (uint8_input,), wide=True),
        Op.LSTM: PulpOperator(
            "match_pulp_lstm",
            KernelCost(lstm, "lstm", "recurrent", gates_scratch),
            (uint8_input, states_like_input),
            int16=replace(_int16(Int16Cycles.lstm, "lstm", "recurrent"), scratch=gates_scratch),
        ),
        Op.GRU: PulpOperator(
            "match_pulp_gru", KernelCost(gru, "lstm", "recurrent", gates_scratch), (uint8_input, states_like_input)
        ),
        Op.GRU_RESET_FIRST: PulpOperator(
            "match_pulp_gru_reset_first",
            KernelCost(gru_reset_first, "lstm", scratch=reset_first_scratch),
            (uint8_input, states_like_input),
        ),
        Op.RESIZE: PulpOperator("match_pulp_resize", KernelCost(by_row("resized_pixel", "resized")), (uint8_input,)),
        Op.QUANTIZE: PulpOperator("match_pulp_quantize", KernelCost(by_element("quantize"))),
        Op.DEQUANTIZE: PulpOperator("match_pulp_dequantize", KernelCost(by_element("dequantize"))),
        Op.DEQUANTIZE_SUMS: PulpOperator("match_pulp_dequantize_sums", KernelCost(by_element("dequantize_sums"))),
        **{op: _of_16_bits_alone(op) for op in (Op.REQUANTIZE, Op.LEAKY_RELU, Op.LOGISTIC, Op.TANH)},
    }
)
