"""What a PULP cluster cannot do. The first line of each docstring is a row of the table of supported operators."""

from __future__ import annotations

from match.ir.layer import Layer, Op
from match.target.constraints import no_dilation, uint8_input
from match.target.hardware import Constraint, Verdict

MAX_PRODUCTS = (2**31 - 1) // (255 * 128)


def accumulator_fits(layer: Layer) -> Verdict:
    """An output is the sum of at most 65,793 products (C * FY * FX), so that it fits 32 bits whatever they are.

    Layers of int16 are found only where every sum fits 32 bits.
    """
    products = layer.c * layer.fy * layer.fx
    return Verdict(
        layer.input_dtype == "int16" or products <= MAX_PRODUCTS,
        f"an output is the sum of {products} products, which may overflow 32 bits; {MAX_PRODUCTS} are safe",
    )


def matrices_fit(layer: Layer) -> Verdict:
    """An output of matrices is the sum of at most 33,025 products, so that it fits 32 bits whatever they are."""
    most = (2**31 - 1) // (255 * 255)
    return Verdict(layer.c <= most, f"an output is the sum of {layer.c} products, which may overflow 32 bits")


def states_like_input(layer: Layer) -> Verdict:
    """Outputs, which the next step multiplies as it does its input, have the type of the input."""
    same = layer.output_dtype == layer.input_dtype
    return Verdict(same, f"its states are {layer.output_dtype} and its input {layer.input_dtype}")


CLUSTER: dict[Op, tuple[Constraint, ...]] = {
    Op.CONV2D: (uint8_input, accumulator_fits),
    Op.DEPTHWISE_CONV2D: (uint8_input, accumulator_fits),
    Op.GROUPED_CONV2D: (uint8_input, accumulator_fits),
    Op.DENSE: (uint8_input, accumulator_fits),
    Op.MATRICES: (uint8_input, matrices_fit),
    Op.ADD: (uint8_input,),
    Op.AVG_POOL2D: (uint8_input,),
    Op.FLOAT_AVG_POOL2D: (uint8_input, no_dilation),
    Op.MAX_POOL2D: (uint8_input, no_dilation),
    Op.LOOKUP: (),
    Op.CHANNEL_LOOKUP: (),
    Op.MULTIPLY: (uint8_input,),
    Op.SQUARED_DIFFERENCE: (uint8_input,),
    Op.ABSOLUTE_DIFFERENCE: (uint8_input,),
    Op.LOOKUP_SUM: (uint8_input,),
    Op.LOOKUP_LINE: (uint8_input,),
    Op.CONCATENATE: (),
    Op.SLICE: (),
    Op.TRANSPOSE: (),
    Op.GATHER: (),
    Op.SOFTMAX: (uint8_input,),
    Op.LOG_SOFTMAX: (uint8_input,),
    Op.NORMALIZE: (uint8_input,),
    Op.LSTM: (uint8_input, states_like_input),
    Op.GRU: (uint8_input, states_like_input),
    Op.GRU_RESET_FIRST: (uint8_input, states_like_input),
    Op.RESIZE: (uint8_input,),
    Op.QUANTIZE: (),
    Op.DEQUANTIZE: (),
    Op.DEQUANTIZE_SUMS: (),
    Op.REQUANTIZE: (),
    Op.LEAKY_RELU: (),
    Op.LOGISTIC: (),
    Op.TANH: (),
}

CLUSTER_CHAINS: tuple[tuple[Op, ...], ...] = (
    (Op.DEPTHWISE_CONV2D, Op.CONV2D),
    (Op.CONV2D, Op.DEPTHWISE_CONV2D),
    (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.CONV2D),
    (Op.CONV2D, Op.ADD),
    (Op.DEPTHWISE_CONV2D, Op.CONV2D, Op.ADD),
    (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.CONV2D, Op.ADD),
    (Op.CONV2D, Op.MAX_POOL2D),
    (Op.CONV2D, Op.AVG_POOL2D),
    (Op.DEPTHWISE_CONV2D, Op.CONV2D, Op.AVG_POOL2D),
)
"""Operators that the cluster executes tile by tile, one after the other: separable convolutions and inverted residuals,
what is added to or pooled of a convolution."""
