"""Constant weights of layers of real numbers, which integers stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.relay import relay
from match.relay.rewrite import constant, is_call


@dataclass(frozen=True, eq=False)
class QuantizedWeights:
    """Weights in the layout of their operator; scales and zero points: one, or one for each output channel."""

    values: npt.NDArray[np.integer]
    scales: Float32Array
    zero_points: npt.NDArray[np.int32]


def weights_of(convolution: relay.Call) -> QuantizedWeights | None:
    """The constant weights of a convolution; None if they are not constant, or not of 8 bits."""
    kernel = convolution.args[1]
    if not is_call(kernel, "qnn.dequantize"):
        return None
    values, scale, zero_point = (constant(argument) for argument in kernel.args)
    if values is None or scale is None or zero_point is None or str(values.dtype) not in ("int8", "uint8"):
        return None
    if scale.size == 1:
        scale, zero_point = scale.reshape(()), zero_point.reshape(-1)[:1].reshape(())
    elif int(kernel.attrs.axis) % values.ndim != str(convolution.attrs.kernel_layout).index("O"):
        return None
    zero_points = np.broadcast_to(zero_point, scale.shape).astype(np.int32)
    return QuantizedWeights(values, scale.astype(np.float32), zero_points)
