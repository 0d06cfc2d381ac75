"""How TVM computes layers and reductions of real numbers, where no integers stand for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match.graph.maps import TO_FIRST, TO_LAST
from match.graph.operator import Operator
from match.graph.reals import (
    RealAverage,
    RealConvolution,
    RealMatrices,
    RealProduct,
    RealTransposed,
)
from match.graph.reductions import RealNormalization, RealReduction, RunningSum
from match.graph.resize import RealInterpolation
from match.ir.graph import Tensor
from match.relay import relay


def real_operator(operator: Operator, inputs: Sequence[relay.Expr], tensors: Sequence[Tensor]) -> relay.Expr | None:
    """The Relay expression of an operator on real numbers; None of other operators."""
    match operator:
        case RealConvolution() | RealTransposed():
            return _windows(operator, inputs, tensors)
        case RealProduct():
            return _product(inputs, tensors)
        case RealMatrices():
            return relay.nn.batch_matmul(inputs[0], inputs[1])
        case RealAverage():
            return relay.nn.avg_pool2d(
                inputs[0],
                pool_size=operator.window,
                strides=operator.strides,
                padding=tuple(operator.padding),
                layout="NHWC",
                out_layout="NHWC",
                count_include_pad=operator.counts_padding,
            )
        case RealReduction(axes=axes, keepdims=keepdims):
            reduce = {"mean": relay.mean, "prod": relay.prod, "sum": relay.sum}[operator.function]
            return reduce(inputs[0], axes, keepdims)
        case RealInterpolation():
            return _interpolated(operator, inputs[0], len(tensors[0].shape))
        case RunningSum():
            return _running_sum(operator, inputs[0])
        case RealNormalization():
            return _normalized(operator, inputs[0])
        case _:
            return None


def _windows(
    operator: RealConvolution | RealTransposed, inputs: Sequence[relay.Expr], tensors: Sequence[Tensor]
) -> relay.Expr:
    """A convolution, with channels first, the layout in which TVM has all of them."""
    (x, filters, *bias), window = inputs, tensors[1].shape[2:]
    x = relay.transpose(x, TO_FIRST)
    common = {
        "strides": operator.strides,
        "padding": tuple(operator.padding),
        "groups": operator.groups,
        "kernel_size": window,
    }
    if isinstance(operator, RealConvolution):
        sums = relay.nn.conv2d(x, filters, **common, dilation=operator.dilation, channels=tensors[1].shape[0])
    else:
        channels = tensors[1].shape[1] * operator.groups
        sums = relay.nn.conv2d_transpose(x, filters, **common, output_padding=operator.spare, channels=channels)
    sums = relay.nn.bias_add(sums, bias[0]) if bias else sums
    return relay.transpose(sums, TO_LAST)


def _product(inputs: Sequence[relay.Expr], tensors: Sequence[Tensor]) -> relay.Expr:
    (x, matrix, *bias), extents = inputs, (*tensors[0].shape[:-1], tensors[1].shape[-1])
    rows = x if len(extents) == 2 else relay.reshape(x, (-1, tensors[0].shape[-1]))
    sums = relay.nn.dense(rows, relay.transpose(matrix))
    sums = relay.nn.bias_add(sums, bias[0]) if bias else sums
    return sums if len(extents) == 2 else relay.reshape(sums, extents)


def _running_sum(operator: RunningSum, x: relay.Expr) -> relay.Expr:
    x = relay.reverse(x, operator.axis) if operator.backwards else x
    total = relay.cumsum(x, axis=operator.axis, exclusive=operator.exclusive)
    return relay.reverse(total, operator.axis) if operator.backwards else total


def _interpolated(operator: RealInterpolation, x: relay.Expr, rank: int) -> relay.Expr:
    weight = operator.weight.reshape(-1, *[1] * (rank - 1 - operator.axis))
    parts = (
        relay.multiply(relay.take(x, relay.const(chosen), axis=operator.axis), relay.const(factor))
        for chosen, factor in ((operator.below, np.float32(1) - weight), (operator.above, weight))
    )
    return relay.add(*parts)


def _normalized(operator: RealNormalization, x: relay.Expr) -> relay.Expr:
    if operator.centred:
        x = relay.subtract(x, relay.mean(x, operator.axes, keepdims=True))
    squares = relay.mean(relay.multiply(x, x), operator.axes, keepdims=True)
    least = np.float32(operator.epsilon or np.finfo(np.float32).tiny)
    total = relay.add if operator.epsilon else relay.maximum
    return relay.divide(x, relay.sqrt(total(squares, relay.const(least))))
