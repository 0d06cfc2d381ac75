"""TVM's C on a scalar RISC-V control core."""

from __future__ import annotations

from dataclasses import dataclass

from match.ir.layer import Op
from match.target.cost import CpuCostModel

_EXPONENTIAL = frozenset({"nn.softmax", "nn.log_softmax", "sigmoid", "tanh", "exp", "log", "erf", "power", "nn.lrn"})
"""Operators in floating point that call a function of the mathematical library for each element."""


_OPERATORS = {Op.QUANTIZE: 6, Op.DEQUANTIZE: 4}
"""Operators on numbers that are or become float32, in plain Relay."""


@dataclass(frozen=True)
class RiscvCoreCost(CpuCostModel):
    """Cycles of an operator as TVM's C, 8-bit operands, no SIMD; the defaults are GAP9's control core.

    The first three follow from TVM's column of the MATCH paper's Table III, at 260 MHz: `convolution` and `output` are
    the line through its two networks of convolutions with the most and the least products for each output (ResNet8
    and MobileNet), `dense` is what they leave of the auto-encoder. The third network of convolutions (DS-CNN) is 2 %
    above the line. `element` and the rest are counted in TVM's C for MLPerf Tiny networks (GCC 12, -O3, RV32IMC, with
    RI5CY's stalls).

    convolution: cycles of a multiply-accumulate of a convolution.
    dense: of a dense layer.
    output: of an output of either beside them: 64-bit requantization, clip, store, the loop.
    add: of an element of an addition of two requantized operands, of a multiplication or a difference.
    element: of an element read by pooling or looked up in a table.
    other: of an element of any other operator, of a reduction one that it reads.
    softmax, softmax_row: of an element and of a row of softmax in integers: instructions counted under QEMU (992 for a
        row of 10, 1111 for one of 12), times 1.5 for stalls as for `add`.
    normalized, normalized_row: the same of a normalization: 70 for an element and 355 for a row, likewise.
    lstm: of a unit in a step of an LSTM beside its products: 1,067 instructions counted under QEMU (three layers of 16
        and 32 units), likewise. gru: the same of a GRU, 1,129 instructions.
    float_operator: of an element of an operator in floating point without an FPU: 85,767 cycles of the demo's first
        operators, seven on 256 elements, on the RTL of a core (docs/running.md).
    exponential: of an element of an operator that needs exponentials there: instructions counted under QEMU (26,646 for
        softmax of 10 scores with its casts), times 1.5.
    transposed: of an element that a transposition moves.
    resize: of an element of a bilinear interpolation in integers: 64.5 instructions counted under QEMU (8x8x16 to
        16x16x16), times 1.5.
    """

    convolution: float = 6.7
    dense: float = 5.7
    output: float = 46.0
    add: float = 28.0
    element: float = 10.0
    other: float = 20.0
    softmax: float = 90.0
    softmax_row: float = 600.0
    normalized: float = 105.0
    normalized_row: float = 530.0
    lstm: float = 1600.0
    gru: float = 1700.0
    float_operator: float = 48.0
    exponential: float = 3500.0
    transposed: float = 20.0
    resize: float = 97.0

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        """By kind of operator; `macs` of pooling are its windows' elements, functions of a pixel are of one."""
        match op:
            case Op.CONV2D | Op.DEPTHWISE_CONV2D | Op.GROUPED_CONV2D:
                return self.convolution * macs + self.output * outputs
            case Op.DENSE | Op.MATRICES:
                return self.dense * macs + self.output * outputs
            case Op.AVG_POOL2D | Op.MAX_POOL2D:
                return self.element * macs + self.output * outputs
            case Op.FLOAT_AVG_POOL2D:
                return self.float_operator * (macs + 6 * outputs)
            case Op.ADD | Op.MULTIPLY | Op.SQUARED_DIFFERENCE | Op.ABSOLUTE_DIFFERENCE | Op.LOOKUP_SUM | Op.LOOKUP_LINE:
                return self.add * outputs
            case Op.LOOKUP | Op.CHANNEL_LOOKUP:
                return self.element * outputs
            case Op.QUANTIZE | Op.DEQUANTIZE:
                return _OPERATORS[op] * self.float_operator * outputs
            case "transpose":
                return self.transposed * outputs
            case Op.RESIZE:
                return self.resize * outputs
            case Op.SOFTMAX:
                return self.softmax_row + self.softmax * outputs
            case Op.LSTM:
                return self.dense * macs + self.lstm * outputs
            case Op.GRU | Op.GRU_RESET_FIRST:
                return self.dense * macs + self.gru * outputs
            case Op.NORMALIZE:
                return self.normalized_row + self.normalized * outputs
            case _:
                return self.other * max(macs, outputs)

    def floating(self, op: str, outputs: int) -> float:
        """By the operators that are joined in `op`."""
        names = op.split("+")
        exponentials = sum(name in _EXPONENTIAL for name in names)
        return (self.exponential * exponentials + self.float_operator * (len(names) - exponentials)) * outputs
