"""ONNX's reductions and running sums. Where the axes are an input, TVM's own take the first alone or none.

Each takes an operator's inputs, its attributes and the model's parameters, and returns Relay, as importers of TVM do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_elementwise import Converter, Inputs
from match.relay import relay, tvm

Reduction = Callable[[Any, list[int], bool], relay.Expr]
"""What a reduction makes of a tensor and its axes, which it may keep as axes of one element."""


def _reduced(name: str, reduce: Reduction, inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    x, given = [*inputs, None][:2]
    assert x is not None
    axes = attributes.get("axes") if given is None else _numbers(name, given)
    rank = len(relay.transform.InferTypeLocal(x).shape)
    if axes is None or not len(axes):
        if rank == 0 or attributes.get("noop_with_empty_axes", 0):
            return x
        axes = range(rank)
    return reduce(x, sorted(int(axis) % rank for axis in axes), bool(attributes.get("keepdims", 1)))


def _numbers(name: str, expr: relay.Expr) -> list[int]:
    folded: Any = relay.frontend.common.fold_constant(expr)
    if not isinstance(folded, relay.Constant):
        raise tvm.error.OpNotImplemented(f"not implemented: {name} along axes that depend on the inputs")
    return np.asarray(folded.data.numpy()).reshape(-1).tolist()


def _running_sums(inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    x, given = inputs
    assert x is not None
    assert given is not None
    (axis,) = _numbers("CumSum", given)

    def turned(expr: relay.Expr) -> relay.Expr:
        return relay.reverse(expr, axis) if attributes.get("reverse", 0) else expr

    return turned(relay.cumsum(turned(x), axis=axis, exclusive=bool(attributes.get("exclusive", 0))))


def _sum(x: relay.Expr, axes: list[int], keepdims: bool) -> relay.Expr:
    return relay.sum(x, axes, keepdims)


def _mean(x: relay.Expr, axes: list[int], keepdims: bool) -> relay.Expr:
    return relay.mean(x, axes, keepdims)


def _largest(x: relay.Expr, axes: list[int], keepdims: bool) -> relay.Expr:
    return relay.max(x, axes, keepdims)


def _smallest(x: relay.Expr, axes: list[int], keepdims: bool) -> relay.Expr:
    return relay.min(x, axes, keepdims)


def _product(x: relay.Expr, axes: list[int], keepdims: bool) -> relay.Expr:
    return relay.prod(x, axes, keepdims)


def _magnitudes(x: relay.Expr, axes: list[int], keepdims: bool) -> relay.Expr:
    return relay.sum(relay.abs(x), axes, keepdims)


def _squares(x: relay.Expr, axes: list[int], keepdims: bool) -> relay.Expr:
    return relay.sum(relay.multiply(x, x), axes, keepdims)


def _length(x: relay.Expr, axes: list[int], keepdims: bool) -> relay.Expr:
    return relay.sqrt(_squares(x, axes, keepdims))


def _logarithm(x: relay.Expr, axes: list[int], keepdims: bool) -> relay.Expr:
    return relay.log(relay.sum(x, axes, keepdims))


def _exponentials(x: relay.Expr, axes: list[int], keepdims: bool) -> relay.Expr:
    """The logarithm of a sum of exponentials, scaled so that none of these is larger than 1."""
    largest = relay.max(x, axes, True)
    total = relay.sum(relay.exp(relay.subtract(x, largest)), axes, True)
    result = relay.add(relay.log(total), largest)
    return result if keepdims else relay.squeeze(result, axes)


_REDUCTIONS: MappingProxyType[str, Reduction] = MappingProxyType(
    {
        "ReduceSum": _sum,
        "ReduceMean": _mean,
        "ReduceMax": _largest,
        "ReduceMin": _smallest,
        "ReduceProd": _product,
        "ReduceL1": _magnitudes,
        "ReduceL2": _length,
        "ReduceSumSquare": _squares,
        "ReduceLogSum": _logarithm,
        "ReduceLogSumExp": _exponentials,
    }
)

REDUCTIONS: MappingProxyType[str, Converter] = MappingProxyType(
    {**{name: partial(_reduced, name, reduce) for name, reduce in _REDUCTIONS.items()}, "CumSum": _running_sums}
)
