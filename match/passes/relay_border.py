"""Relay modules with other inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from match.errors import OptionError
from match.frontend.model import Model, ModelTensor, Quantization
from match.passes.border import Border, given_input, moved, wanted_output
from match.relay import relay, tvm
from match.relay.graph import users
from match.relay.rewrite import dtype, is_call, rebuild, scalar


@dataclass(frozen=True)
class _Read:
    """An input as a caller gives it, the expression that takes its place, and the calls that this replaces as well."""

    tensor: ModelTensor
    variable: relay.Var
    expr: relay.Expr
    dropped: tuple[relay.Expr, ...]


def relay_with_border(model: Model, network: tvm.IRModule, border: Border) -> Model:
    """A model that is Relay, with other inputs and outputs.

    Raises:
        OptionError: an input or output cannot have the type or layout.
    """
    main = network["main"]
    nodes: list[Any] = []
    relay.analysis.post_order_visit(main.body, nodes.append)
    readers = users(main)
    reads = {
        parameter: _read(tensor, parameter, readers.get(parameter, ()), border)
        for tensor, parameter in zip(model.inputs, main.params, strict=False)
    }
    states = list(main.params[len(model.inputs) :])
    replaced: dict[Any, Any] = {parameter: parameter for parameter in states}
    replaced |= {parameter: read.expr for parameter, read in reads.items()}
    replaced |= {call: read.expr for read in reads.values() for call in read.dropped}

    for node in nodes:
        if node not in replaced:
            replaced[node] = rebuild(node, replaced.__getitem__)
    fields = list(main.body.fields) if isinstance(main.body, relay.Tuple) else [main.body]
    pairs = zip(model.outputs, fields, strict=False)
    written = [_written(tensor, field, replaced[field], border.output_type) for tensor, field in pairs]
    results = [*(expr for _, expr in written), *(replaced[field] for field in fields[len(written) :])]
    body = relay.Tuple(results) if isinstance(main.body, relay.Tuple) else results[0]
    function = relay.Function([*(read.variable for read in reads.values()), *states], body)
    return replace(
        model,
        network=relay.transform.InferType()(tvm.IRModule.from_expr(function)),
        inputs=tuple(read.tensor for read in reads.values()),
        outputs=tuple(tensor for tensor, _ in written),
        original=model,
    )


def _read(tensor: ModelTensor, parameter: relay.Var, readers: Sequence[relay.Expr], border: Border) -> _Read:
    found = given_input(tensor, partial(_quantize_of, tensor, readers), border)
    kind = found.tensor.dtype
    variable = relay.var(parameter.name_hint, shape=found.tensor.shape, dtype=kind)
    expr: relay.Expr = variable if found.axes is None else relay.transpose(variable, found.axes)
    if kind != found.stored and found.quantization is not None:
        if kind == "float32":
            ends = _scale(found.quantization), _zero(found.quantization.zero_point)
            expr = relay.qnn.quantize(expr, *ends, out_dtype=found.stored)
        else:
            assert found.tensor.quantization is not None, "integers have a quantization"
            expr = _requantized(expr, found.tensor.quantization, found.quantization, found.stored)
    dropped = tuple(readers) if tensor.dtype == "float32" != kind else ()
    return _Read(found.tensor, variable, expr, dropped)


def _quantize_of(tensor: ModelTensor, readers: Sequence[relay.Expr]) -> tuple[Quantization, str]:
    """The one quantization of a float input, in which all that read it begin."""
    found = {(*_quantization(call.args[1:3]), dtype(call)) for call in readers if is_call(call, "qnn.quantize")}
    if len(found) != 1 or not all(is_call(call, "qnn.quantize") for call in readers):
        raise OptionError(f"input {tensor.name} is not quantized before all else in the model; leave out --input-type.")
    scale, zero_point, stored = found.pop()
    return Quantization(scale, zero_point), stored


def _written(
    tensor: ModelTensor, field: relay.Expr, expr: relay.Expr, kind: str | None
) -> tuple[ModelTensor, relay.Expr]:
    """An output as the caller gets it; `field` is the model's own, `expr` what became of that."""
    if kind is None or kind == tensor.dtype:
        return tensor, expr
    given, stored = tensor.quantization, tensor.dtype
    if is_call(field, "qnn.dequantize") and is_call(expr, "qnn.dequantize"):
        scale, zero_point = _quantization(field.args[1:3])
        given, stored, expr = Quantization(scale, zero_point), dtype(field.args[0]), expr.args[0]
    wanted = wanted_output(tensor, stored, given, kind)
    if kind == stored or given is None:
        return wanted, expr
    if kind == "float32":
        return wanted, relay.qnn.dequantize(expr, _scale(given), _zero(given.zero_point))
    return wanted, _requantized(expr, given, moved(given, kind), kind)


def _quantization(arguments: Sequence[relay.Expr]) -> tuple[float, int]:
    scale, zero_point = map(scalar, arguments)
    if scale is None or zero_point is None:
        raise OptionError("an input or output of the model has several scales; leave out its type.")
    return float(np.float32(scale)), int(zero_point)


def _requantized(expr: relay.Expr, source: Quantization, wanted: Quantization, kind: str) -> relay.Expr:
    ends = (_scale(source), _zero(source.zero_point), _scale(wanted), _zero(wanted.zero_point))
    return relay.qnn.requantize(expr, *ends, out_dtype=kind)


def _scale(given: Quantization) -> relay.Expr:
    return relay.const(np.float32(given.scale))


def _zero(value: int) -> relay.Expr:
    return relay.const(np.int32(value))
