"""TVM's C on a scalar RISC-V control core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from match.ir.layer import Op
from match.target.cost import SOFTMAX_OF_16_BITS, CpuCostModel, Energy

_EXPONENTIAL = frozenset({"nn.softmax", "nn.log_softmax", "sigmoid", "tanh", "exp", "log", "erf", "power", "nn.lrn"})
"""Operators in floating point that call a function of the mathematical library for each element."""


_OPERATORS: dict[str, int] = {
    Op.QUANTIZE: 6,
    Op.DEQUANTIZE: 4,
    Op.DEQUANTIZE_SUMS: 6,
    "requantize_real": 7,
    **dict.fromkeys((Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D, Op.DENSE, Op.MATRICES), 4),
}
"""Operators on numbers that are or become float32: how many they are in plain Relay.

A product and its sum take what four do, 417 to 533 cycles on GVSoC (dense layers of a GRU in float32).
"""


@dataclass(frozen=True)
class RiscvCoreCost(CpuCostModel):
    """Cycles of an operator as TVM's C, 8-bit operands, no SIMD; the defaults are GAP9's control core.

    The first three follow from TVM's column of the MATCH paper's Table III, at 260 MHz: `convolution` and `output` are
    the line through its two networks of convolutions with the most and the least products for each output (ResNet8
    and MobileNet), `dense` is what they leave of the auto-encoder. The third network of convolutions (DS-CNN) is 2 %
    above the line.

    The others are counted in TVM's C for MLPerf Tiny networks (GCC 12, -O3, RV32IMC, with RI5CY's stalls), unless a
    field says otherwise. Instructions that were counted under QEMU are multiplied by 1.5 for stalls, as for `add`.
    """

    convolution: float = 6.7
    """A multiply-accumulate of a convolution."""
    dense: float = 5.7
    """A multiply-accumulate of a dense layer."""
    output: float = 46.0
    """An output of a convolution or dense layer beside these: 64-bit requantization, clip, store, the loop."""
    depthwise: float = 0.0
    """What an output of a depthwise convolution takes more: TVM's C requantizes them in loops of their own."""
    call: float = 25.0
    """An operator beside its elements: on the RTL of a core a function takes 50, and TVM joins two in the mean."""
    add: float = 20.0
    """An element of an addition of two requantized operands, of a multiplication or of a difference.

    On the RTL of a core: rows of 10, 250 to 265 cycles an addition; in 32 bits, as nearly all additions are.
    """
    element: float = 10.0
    """An element that pooling reads, or that is looked up in a table.

    On the RTL of a core 11 to 12, and 6 where a function has other operators, too.
    """
    channel_lookup: float = 10.0
    """An element that is looked up in the table of its channel, taken to be no slower than in one table."""
    sliced: float = 8.0
    """An element of a slice: 7.7 to 10 in a function of its own on the RTL of a core. In others a slice is no code."""
    concatenated: float = 8.5
    """An element of a concatenation: 40,236 cycles of 4,608 on the RTL of a core, 358 of 38."""
    other: float = 20.0
    """An element of any other operator; of a reduction, an element that it reads."""
    softmax: float = 65.0
    """An element of softmax in integers: on the RTL of a core 464 cycles for a row of 4, 525 of 5, 859 of 10."""
    softmax_row: float = 205.0
    """A row of softmax in integers, beside its elements. From the same count."""
    softmax16: float = 135.0
    """An element of softmax of 16 bits: on the RTL of a core 1,625 and 1,743 cycles for rows of 10, 1,902 of 12."""
    softmax16_row: float = 240.0
    """A row of softmax of 16 bits, beside its elements. From the same count."""
    logarithm: float = 232.0
    """An element of a softmax's logarithm, an estimate: a lookup, and two functions of the library for float32."""
    logarithm_row: float = 1300.0
    """A row of it, beside its elements: 3,621 cycles of a row of 10 on the RTL of a core."""
    normalized: float = 105.0
    """An element of a normalization: 70 instructions under QEMU."""
    normalized_row: float = 530.0
    """A row of a normalization, beside its elements: 355 instructions under QEMU."""
    gate: float = 103.0
    """An element of the logistic function or the hyperbolic tangent of 16 bits.

    221,360 and 199,805 cycles of 2,048 elements on the RTL of a core.
    """
    lstm: float = 1600.0
    """A unit in a step of an LSTM, beside its products.

    1,067 instructions under QEMU (three layers of 16 and 32 units).
    """
    gru: float = 1700.0
    """A unit in a step of a GRU, beside its products: 1,129 instructions under QEMU."""
    float_operator: float = 48.0
    """An element of an operator in floating point, without an FPU.

    85,767 cycles of the demo's first operators, seven on 256 elements, on the RTL of a core (docs/running.md).
    """
    probability: float = 320.0
    """An element of a softmax of 8-bit scores that stays in floating point, its exponentials out of a table.

    On the RTL of a core 913 cycles for a row of 3, 3,785 of 12, 65,730 of 200.
    """
    floating_by_name: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)
    """An element of operators in floating point that were counted by name, in place of the two fields around this."""
    exponential: float = 3500.0
    """An element of an operator in floating point that needs exponentials.

    Under QEMU, 26,646 instructions for softmax of 10 scores with its casts.
    """
    transposed: float = 11.6
    """An element that a transposition moves: 26,836 cycles of 2,304 on the RTL of a core."""
    resize: float = 97.0
    """An element of a bilinear interpolation in integers: 64.5 instructions under QEMU (8x8x16 to 16x16x16)."""
    energy: Energy | None = None
    """pJ, where they are known."""

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        """By kind of operator; `macs` of pooling are its windows' elements, functions of a pixel are of one."""
        return self._elements(op, macs, outputs) + (0 if op == Op.SLICE else self.call)

    def _elements(self, op: str, macs: int, outputs: int) -> float:
        """What an operator takes beside its call."""
        match op:
            case Op.DEPTHWISE_CONV2D:
                return self.convolution * macs + (self.output + self.depthwise) * outputs
            case Op.CONV2D | Op.GROUPED_CONV2D:
                return self.convolution * macs + self.output * outputs
            case Op.DENSE | Op.MATRICES:
                return self.dense * macs + self.output * outputs
            case Op.AVG_POOL2D:
                return self.element * macs + self.output * outputs
            case Op.MAX_POOL2D:  # which requantizes nothing
                return self.element * macs + self.other * outputs
            case Op.CHANNEL_LOOKUP:
                return self.channel_lookup * outputs
            case Op.SLICE:
                return self.sliced * outputs
            case Op.CONCATENATE:
                return self.concatenated * outputs
            case Op.FLOAT_AVG_POOL2D:
                return self.float_operator * (macs + 6 * outputs)
            case (
                Op.REQUANTIZE
                | Op.LEAKY_RELU
                | Op.ADD
                | Op.MULTIPLY
                | Op.SQUARED_DIFFERENCE
                | Op.ABSOLUTE_DIFFERENCE
                | Op.LOOKUP_SUM
                | Op.LOOKUP_LINE
            ):
                return self.add * outputs
            case Op.LOOKUP | Op.CHANNEL_LOOKUP:
                return self.element * outputs
            case Op.QUANTIZE | Op.DEQUANTIZE | Op.DEQUANTIZE_SUMS:
                return _OPERATORS[op] * self.float_operator * outputs
            case "transpose":
                return self.transposed * outputs
            case Op.RESIZE:
                return self.resize * outputs
            case Op.SOFTMAX:
                return self.softmax_row + self.softmax * outputs
            case _ if op == SOFTMAX_OF_16_BITS:
                return self.softmax16_row + self.softmax16 * outputs
            case Op.LOG_SOFTMAX:
                return self.logarithm_row + self.logarithm * outputs
            case Op.LOGISTIC | Op.TANH:
                return self.gate * outputs
            case Op.LSTM:
                return self.dense * macs + self.lstm * outputs
            case Op.GRU | Op.GRU_RESET_FIRST:
                return self.dense * macs + self.gru * outputs
            case Op.NORMALIZE | "unit_length":
                return self.normalized_row + self.normalized * outputs
            case _:
                return self.other * max(macs, outputs)

    def floating(self, op: str, outputs: int) -> float:
        """By the operators that are joined in `op`."""
        return outputs * sum(map(self._floating, op.split("+")))

    def _floating(self, name: str) -> float:
        each = self.exponential if name in _EXPONENTIAL else self.float_operator * _OPERATORS.get(name, 1)
        each = self.probability if name == "softmax_of_levels" else each
        each = self.concatenated if name == str(Op.CONCATENATE) else each  # words are copied as bytes are
        return self.floating_by_name.get(name, each)
