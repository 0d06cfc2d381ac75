"""Three-dimensional convolutions as two-dimensional ones, one for each output depth.

What an output depth sees of its input is a map with the depths of all channels as its channels. Depths that lie in the
padding have no part in the sum, and neither have their weights. Each depth has constants of its own.
"""

from __future__ import annotations

import numpy as np

from match.relay import relay, tvm
from match.relay.qnn import dequantized, quantized
from match.relay.rewrite import New, constant, is_call, rewrite, shape


class CutVolumes:
    """Rewrites each `nn.conv3d` (NCDHW) of one volume, in one group, between dequantize and quantize."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if quantized(call) is None:
        return None
    operator, bias = _without_bias(call.args[0])
    if not is_call(operator, "nn.conv3d") or not is_call(operator.args[1], "qnn.dequantize"):
        return None
    source, kernel, attrs = dequantized(operator.args[0]), operator.args[1], operator.attrs
    weights = constant(kernel.args[0])
    layouts = str(attrs.data_layout), str(attrs.kernel_layout)
    if source is None or weights is None or layouts != ("NCDHW", "OIDHW") or int(kernel.attrs.axis) != 0:
        return None
    batch, channels, depth, rows, columns = shape(source.x)
    step, (front, top, left, _, bottom, right) = int(attrs.strides[0]), (int(side) for side in attrs.padding)
    if batch != 1 or int(attrs.groups) != 1 or int(attrs.dilation[0]) != 1:
        return None
    own = source.quantization
    parameters = relay.const(own.scale), relay.const(own.zero_point, "int32")
    x, kernels, maps = new(source.x), dict[tuple[int, int], relay.Expr](), list[relay.Expr]()
    for at in range(shape(operator)[2]):
        start = at * step - front
        begin, end = max(start, 0), min(start + weights.shape[2], depth)
        if begin >= end:
            return None
        seen = begin - start, end - start
        if seen not in kernels:
            part = np.ascontiguousarray(weights[:, :, slice(*seen)])
            part = part.reshape(len(part), -1, *weights.shape[3:])
            kernels[seen] = relay.Call(kernel.op, [relay.const(part), *kernel.args[1:]], kernel.attrs)
        cut = relay.strided_slice(x, [begin], [end], axes=[2])
        cut = relay.reshape(cut, (1, channels * (end - begin), rows, columns))
        sums = relay.nn.conv2d(
            relay.qnn.op.dequantize(cut, *parameters),
            kernels[seen],
            strides=[int(stride) for stride in attrs.strides[1:]],
            padding=(top, left, bottom, right),
            dilation=[int(hole) for hole in attrs.dilation[1:]],
            channels=len(weights),
            kernel_size=weights.shape[3:],
        )
        if bias is not None:
            sums = relay.nn.bias_add(sums, bias)
        plane = relay.Call(call.op, [sums, *call.args[1:]], call.attrs)
        maps.append(relay.expand_dims(plane, 2))
    return relay.concatenate(maps, 2)


def _without_bias(expr: relay.Expr) -> tuple[relay.Expr, relay.Expr | None]:
    """The operand of a bias addition and the bias; the expression itself where there is none."""
    return (expr.args[0], expr.args[1]) if is_call(expr, "nn.bias_add") else (expr, None)
