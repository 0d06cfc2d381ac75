"""What kernels/pulp computes: for each operator its kernel, and what the layers have to be.

A new kernel is a record here, a C file in the folder and its cycles in `match.cost_models.pulp_cluster`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from match.ir.layer import Op
from match.target.constraints import no_dilation, uint8_input
from match.target.hardware import Constraint
from match.targets.pulp.constraints import accumulator_fits, matrices_fit, states_like_input


@dataclass(frozen=True)
class PulpOperator:
    """An operator of kernels/pulp.

    kernel: its function in match_pulp.h, without the end that tells a form of requantization or 16 bits.
    constraints: what layers have to be.
    int16: whether there is a kernel for activations of 16 bits, too.
    sums: whether the kernel keeps partial sums, and hands out sums that nothing requantizes.
    wide: whether accumulators have too many bits for halves of multipliers; such a kernel knows no exceptions.
    """

    kernel: str
    constraints: tuple[Constraint, ...] = ()
    int16: bool = False
    sums: bool = False
    wide: bool = False


OPERATORS = MappingProxyType(
    {
        Op.CONV2D: PulpOperator("match_pulp_conv2d", (uint8_input, accumulator_fits), int16=True, sums=True),
        Op.DEPTHWISE_CONV2D: PulpOperator("match_pulp_depthwise_conv2d", (uint8_input, accumulator_fits), int16=True),
        Op.GROUPED_CONV2D: PulpOperator("match_pulp_grouped_conv2d", (uint8_input, accumulator_fits), int16=True),
        Op.DENSE: PulpOperator("match_pulp_dense", (uint8_input, accumulator_fits), int16=True, sums=True),
        Op.MATRICES: PulpOperator("match_pulp_matrices", (uint8_input, matrices_fit)),
        Op.ADD: PulpOperator("match_pulp_add", (uint8_input,), int16=True),
        Op.AVG_POOL2D: PulpOperator("match_pulp_avg_pool2d", (uint8_input,), int16=True),
        Op.FLOAT_AVG_POOL2D: PulpOperator("match_pulp_float_avg_pool2d", (uint8_input, no_dilation)),
        Op.MAX_POOL2D: PulpOperator("match_pulp_max_pool2d", (uint8_input, no_dilation), int16=True),
        Op.LOOKUP: PulpOperator("match_pulp_lookup"),
        Op.CHANNEL_LOOKUP: PulpOperator("match_pulp_channel_lookup"),
        Op.MULTIPLY: PulpOperator("match_pulp_multiply", (uint8_input,), int16=True),
        Op.SQUARED_DIFFERENCE: PulpOperator("match_pulp_squared_difference", (uint8_input,), wide=True),
        Op.ABSOLUTE_DIFFERENCE: PulpOperator("match_pulp_absolute_difference", (uint8_input,)),
        Op.LOOKUP_SUM: PulpOperator("match_pulp_lookup_sum", (uint8_input,)),
        Op.LOOKUP_LINE: PulpOperator("match_pulp_lookup_line", (uint8_input,)),
        Op.CONCATENATE: PulpOperator("match_pulp_concatenate"),
        Op.SLICE: PulpOperator("match_pulp_lookup"),
        Op.TRANSPOSE: PulpOperator("match_pulp_transpose"),
        Op.GATHER: PulpOperator("match_pulp_gather"),
        Op.SOFTMAX: PulpOperator("match_pulp_softmax", (uint8_input,), int16=True),
        Op.LOG_SOFTMAX: PulpOperator("match_pulp_log_softmax", (uint8_input,)),
        Op.NORMALIZE: PulpOperator("match_pulp_normalize", (uint8_input,), wide=True),
        Op.LSTM: PulpOperator("match_pulp_lstm", (uint8_input, states_like_input), int16=True),
        Op.GRU: PulpOperator("match_pulp_gru", (uint8_input, states_like_input)),
        Op.GRU_RESET_FIRST: PulpOperator("match_pulp_gru_reset_first", (uint8_input, states_like_input)),
        Op.RESIZE: PulpOperator("match_pulp_resize", (uint8_input,)),
        Op.QUANTIZE: PulpOperator("match_pulp_quantize"),
        Op.DEQUANTIZE: PulpOperator("match_pulp_dequantize"),
        Op.DEQUANTIZE_SUMS: PulpOperator("match_pulp_dequantize_sums"),
        Op.REQUANTIZE: PulpOperator("match_pulp_requantize", int16=True),
        Op.LEAKY_RELU: PulpOperator("match_pulp_leaky_relu", int16=True),
        Op.LOGISTIC: PulpOperator("match_pulp_logistic", int16=True),
        Op.TANH: PulpOperator("match_pulp_tanh", int16=True),
    }
)
