"""ONNX's normalizations that TVM's importer lacks, written out as `match.rewrites.quantized_groups` reads them."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_elementwise import Converter, Inputs
from match.relay import relay
from match.relay.qnn import real_constant


def _instances(inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    """InstanceNormalization: each channel is a group."""
    x, gain, bias = inputs
    return _groups(x, gain, bias, _extents(x)[1], attributes)


def _group_normalization(inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    """GroupNormalization since opset 21; ONNX has dropped the one before, whose gains were of groups."""
    x, gain, bias = inputs
    return _groups(x, gain, bias, int(attributes["num_groups"]), attributes)


def _groups(x: Any, gain: Any, bias: Any, groups: int, attributes: Any) -> relay.Expr:
    batch, channels, *rest = _extents(x)
    rows = relay.reshape(x, (batch, groups, channels // groups * math.prod(rest)))
    mean = relay.mean(rows, -1, keepdims=True)
    epsilon = relay.const(np.float32(attributes.get("epsilon", 1e-5)))
    variance = relay.add(relay.variance(rows, -1, keepdims=True, with_mean=mean), epsilon)
    inverse = relay.divide(relay.const(np.float32(1)), relay.sqrt(variance))
    normal = relay.reshape(relay.multiply(relay.subtract(rows, mean), inverse), (batch, channels, *rest))
    gain, bias = (relay.reshape(_known(values), (channels, *[1] * len(rest))) for values in (gain, bias))
    return relay.add(relay.multiply(normal, gain), bias)


def _known(values: Any) -> Any:
    """Constants that are quantized as constants in floating point, which the normalization is computed in."""
    numbers = real_constant(values)
    return values if numbers is None else relay.const(numbers)


def _root_mean_square(inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    """RMSNormalization."""
    x, gain = inputs
    rank = len(_extents(x))
    axes = list(range(int(attributes.get("axis", -1)) % rank, rank))
    mean = relay.mean(relay.multiply(x, x), axes, keepdims=True)
    root = relay.sqrt(relay.add(mean, relay.const(np.float32(attributes.get("epsilon", 1e-5)))))
    return relay.multiply(relay.divide(x, root), _known(gain))


def _by_length(inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    """LpNormalization: rows over the root of the sum of their squares, or over the sum of their magnitudes.

    Rows of zeros stay what they are, as in onnxruntime.
    """
    (x,) = inputs
    axis, euclidean = int(attributes.get("axis", -1)), attributes.get("p", 2) == 2
    total = relay.sum(relay.multiply(x, x) if euclidean else relay.abs(x), axis, keepdims=True)
    least = relay.const(np.float32(np.finfo(np.float32).tiny))
    return relay.divide(x, relay.maximum(relay.sqrt(total) if euclidean else total, least))


def _extents(x: Any) -> tuple[int, ...]:
    relay.transform.InferTypeLocal(x)
    return tuple(int(extent) for extent in x.checked_type.shape)


NORMALIZATIONS: MappingProxyType[str, Converter] = MappingProxyType(
    {
        "InstanceNormalization": _instances,
        "GroupNormalization": _group_normalization,
        "RMSNormalization": _root_mean_square,
        "LpNormalization": _by_length,
    }
)
