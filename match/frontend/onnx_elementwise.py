"""ONNX's functions of each element that TVM's importer lacks, or writes otherwise than they are defined.

Each takes an operator's inputs, its attributes and the model's parameters, and returns Relay, as importers of TVM do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from match.relay import relay, tvm
from match.relay.qnn import real_constant
from match.relay.rewrite import scalar

Inputs = Sequence[relay.Expr | None]
Converter = Callable[[Any, Any, Any], relay.Expr]


def _passed_on(inputs: Inputs, _attributes: Any, _params: Any) -> relay.Expr:
    """Identity, and Dropout outside training."""
    (x, *_) = inputs
    assert x is not None
    return x


def _clip(inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    """Clip; before opset 11 its bounds were attributes. TVM's own loses a smallest value without a largest one."""
    x, low, high = [*inputs, None, None][:3]
    assert x is not None
    low, high = (
        relay.const(np.float32(attributes[name])) if name in attributes else bound
        for name, bound in (("min", low), ("max", high))
    )
    if low is not None and high is not None:
        least, most = scalar(low), scalar(high)
        if least is not None and most is not None:
            return relay.clip(x, float(least), float(most))
    x = x if low is None else relay.maximum(x, low)
    return x if high is None else relay.minimum(x, high)


def _gelu(inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    """Gelu, with the error function or, approximately, with tanh, which TVM's own does not know."""
    (x,) = inputs
    if attributes.get("approximate", b"none").decode() == "tanh":
        cubic = _times(0.044715, relay.multiply(x, relay.multiply(x, x)))
        share = relay.tanh(_times(math.sqrt(2 / math.pi), relay.add(x, cubic)))
    else:
        share = relay.erf(_times(math.sqrt(0.5), x))
    return relay.multiply(_times(0.5, x), relay.add(share, _number(1)))


def _swish(inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    """Swish: ``x * sigmoid(alpha * x)``."""
    (x,) = inputs
    factor = attributes.get("alpha", 1.0)
    return relay.multiply(x, relay.sigmoid(x if factor == 1 else _times(factor, x)))


def _quick_gelu(inputs: Inputs, attributes: Any, params: Any) -> relay.Expr:
    """QuickGelu of onnxruntime, which it makes of SiLU, too: Swish with another factor where the file says none."""
    return _swish(inputs, {"alpha": 1.702, **attributes}, params)


def _prelu(inputs: Inputs, _attributes: Any, _params: Any) -> relay.Expr:
    """PReLU, with slopes that are broadcast to x, constant or not; TVM's own repeats them for each element."""
    x, slope = inputs
    return relay.where(relay.greater(x, _number(0)), x, relay.multiply(slope, x))


def _batch_normalization(inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    """BatchNormalization outside training: a factor and an addend for each channel, as onnxruntime computes them."""
    x, gain, bias, mean, variance = (None if one is None else _folded(one) for one in inputs)
    spread = relay.sqrt(relay.add(variance, _number(attributes.get("epsilon", 1e-5))))
    factor = relay.multiply(relay.divide(_number(1), spread), gain)
    addend = relay.subtract(bias, relay.multiply(mean, factor))
    behind = len(relay.transform.InferTypeLocal(x).shape) - 2
    factor, addend = (relay.reshape(values, (-1, *[1] * behind)) for values in (factor, addend))
    return relay.add(relay.multiply(x, factor), addend)


def _softsign(inputs: Inputs, _attributes: Any, _params: Any) -> relay.Expr:
    """``x / (1 + |x|)``, as onnxruntime computes it: with a reciprocal."""
    (x,) = inputs
    return relay.multiply(relay.divide(_number(1), relay.add(_number(1), relay.abs(x))), x)


def _mean(inputs: Inputs, _attributes: Any, _params: Any) -> relay.Expr:
    """Mean of tensors that are broadcast to each other; TVM's own takes those of one shape."""
    total = inputs[0]
    for x in inputs[1:]:
        total = relay.add(total, x)
    assert total is not None
    return total if len(inputs) == 1 else _times(float(np.float32(1) / np.float32(len(inputs))), total)


def _triangle(inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    """Trilu: a choice between a matrix and zeros."""
    x, given = [*inputs, None][:2]
    diagonal = 0 if given is None else scalar(relay.frontend.common.fold_constant(given))
    if diagonal is None:
        raise tvm.error.OpNotImplemented("not implemented: Trilu with a diagonal that depends on the inputs")
    rows, columns = (int(extent) for extent in relay.transform.InferTypeLocal(x).shape[-2:])
    mask = np.tri(rows, columns, int(diagonal) - int(attributes.get("upper", 1)), dtype=bool)
    zeros: relay.Expr = relay.const(np.zeros((), relay.transform.InferTypeLocal(x).dtype))
    return relay.where(relay.const(~mask if attributes.get("upper", 1) else mask), x, zeros)


def _folded(expr: relay.Expr) -> relay.Expr:
    """The numbers of a constant that is dequantized, as onnxruntime's quantizer leaves parameters."""
    values = real_constant(expr)
    return expr if values is None else relay.const(values)


def _number(value: float) -> relay.Expr:
    return relay.const(np.float32(value))


def _times(factor: float, x: relay.Expr | None) -> relay.Expr:
    return relay.multiply(_number(factor), x)


CONVERTERS: MappingProxyType[str, Converter] = MappingProxyType(
    {
        "BatchNormalization": _batch_normalization,
        "Identity": _passed_on,
        "Dropout": _passed_on,
        "Clip": _clip,
        "Gelu": _gelu,
        "PRelu": _prelu,
        "QuickGelu": _quick_gelu,
        "Softsign": _softsign,
        "Swish": _swish,
        "Mean": _mean,
        "Trilu": _triangle,
    }
)
