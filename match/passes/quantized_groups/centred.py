"""A tensor less its means along axes, as in the variance of a map: a product with constants.

Of n elements each is n times itself less their sum, over n.
"""

from __future__ import annotations

import math

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.passes.quantized_groups.quantities import parameters, requantized
from match.relay import integer_form, relay
from match.relay.qnn import dequantized
from match.relay.rewrite import New, is_call, shape

_MOST = 128
"""The most elements: a weight is their number less 1, in int8."""


def centred(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The difference of a tensor and its means along axes, which stay with an extent of 1."""
    mean = expr.args[1] if is_call(expr, "subtract") else None
    if mean is None or not is_call(mean, "mean") or mean.attrs.exclude or not isinstance(expr, relay.Call):
        return None
    real, extents = dequantized(expr.args[0]), shape(expr)
    axes = sorted(int(axis) % len(extents) for axis in mean.attrs.axis or range(len(extents)))
    count = math.prod(extents[axis] for axis in axes)
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(extents))
    if real is None or mean.args[0] != expr.args[0] or shape(mean) != kept or count > _MOST:
        return None
    own_scale, zero = parameters(real.quantization)
    share = np.float32(1) / np.float32(count)
    order = [*(axis for axis in range(len(extents)) if axis not in axes), *axes]
    rows = relay.reshape(relay.transpose(new(real.x), order), (-1, count))
    weights = relay.const((count * np.eye(count) - 1).astype(np.int8))
    sums = relay.qnn.op.dense(rows, weights, zero, relay.const(0, "int32"), own_scale, relay.const(share), count)
    scale = np.asarray(real.quantization.scale * share)
    result = requantized(integer_form.real_sums(sums), scale, output, axis=1)
    return relay.transpose(relay.reshape(result, [extents[axis] for axis in order]), np.argsort(order).tolist())
