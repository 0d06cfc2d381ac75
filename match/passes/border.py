"""What goes in and out of a network: another type or layout of inputs and outputs than the model has.

A quantize in front of all else, a dequantize after it or a change of layout then is the caller's, who knows the scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from match.errors import OptionError
from match.frontend.model import Model, ModelTensor, Quantization
from match.relay import relay, tvm
from match.relay.graph import users
from match.relay.rewrite import dtype, is_call, rebuild, scalar
from match.target.arguments import is_one_of, shown

TYPES = ("int8", "uint8", "float32")
LAYOUTS = ("nhwc", "nchw")

_STORED = (*TYPES, "int16")
"""Types of a model's inputs and outputs that may become others."""


@dataclass(frozen=True)
class Border:
    """What was asked for, of all inputs and of all outputs; None keeps what the model has."""

    input_type: str | None = None
    output_type: str | None = None
    input_layout: str | None = None

    @classmethod
    def parse(cls, input_type: str | None, output_type: str | None, input_layout: str | None) -> Border:
        """Checked. Raises OptionError if one of them does not exist."""
        for what, given, known in (
            ("input type", input_type, TYPES),
            ("output type", output_type, TYPES),
            ("input layout", input_layout, LAYOUTS),
        ):
            if given is not None and not is_one_of(given, known):
                raise OptionError(f"{what} {shown(given)} is unknown; choose one of: {', '.join(known)}.")
        return cls(input_type, output_type, input_layout)

    @classmethod
    def between(cls, model: Model, inputs: Sequence[ModelTensor], outputs: Sequence[ModelTensor]) -> Border:
        """What a model must have been given for its inputs and outputs to be these. Raises OptionError as `parse`."""
        pairs = list(zip(model.inputs, inputs, strict=False))
        return cls.parse(
            _other((own.dtype, given.dtype) for own, given in pairs),
            _other((own.dtype, given.dtype) for own, given in zip(model.outputs, outputs, strict=False)),
            _other((own.layout.lower(), given.layout.lower()) for own, given in pairs),
        )


def _other(pairs: Iterable[tuple[str, str]]) -> str | None:
    """The first that is given in place of another."""
    return next((given for own, given in pairs if given != own), None)


@dataclass(frozen=True)
class _Read:
    """An input as a caller gives it, the expression that takes its place, and the calls that this replaces as well."""

    tensor: ModelTensor
    variable: relay.Var
    expr: relay.Expr
    dropped: tuple[relay.Expr, ...]


def with_border(model: Model, border: Border) -> Model:
    """The model with other inputs and outputs; what it computes in between stays.

    Raises:
        OptionError: an input or output cannot have the type or layout.
    """
    if border == Border():
        return model
    main = model.module["main"]
    nodes: list[Any] = []
    relay.analysis.post_order_visit(main.body, nodes.append)
    readers = users(main)
    reads = {
        parameter: _read(tensor, parameter, readers.get(parameter, ()), border)
        for tensor, parameter in zip(model.inputs, main.params, strict=True)
    }
    replaced: dict[Any, Any] = {parameter: read.expr for parameter, read in reads.items()}
    replaced |= {call: read.expr for read in reads.values() for call in read.dropped}

    for node in nodes:
        if node not in replaced:
            replaced[node] = rebuild(node, replaced.__getitem__)
    fields = list(main.body.fields) if isinstance(main.body, relay.Tuple) else [main.body]
    pairs = zip(model.outputs, fields, strict=True)
    written = [_written(tensor, field, replaced[field], border.output_type) for tensor, field in pairs]
    results = [expr for _, expr in written]
    body = relay.Tuple(results) if isinstance(main.body, relay.Tuple) else results[0]
    function = relay.Function([read.variable for read in reads.values()], body)
    return replace(
        model,
        module=relay.transform.InferType()(tvm.IRModule.from_expr(function)),
        inputs=tuple(read.tensor for read in reads.values()),
        outputs=tuple(tensor for tensor, _ in written),
        original=model,
    )


def _read(tensor: ModelTensor, parameter: relay.Var, readers: Sequence[relay.Expr], border: Border) -> _Read:
    kind = border.input_type or tensor.dtype
    shape, axes, layout = tensor.shape, None, tensor.layout
    if border.input_layout is not None and len(tensor.shape) == 4:
        if not tensor.layout:
            raise OptionError(f"input {tensor.name} has axes of no known meaning; leave out --input-layout.")
        layout = border.input_layout.upper()
        axes = None if layout == tensor.layout else tuple(layout.index(axis) for axis in tensor.layout)
        shape = tuple(tensor.shape[tensor.layout.index(axis)] for axis in layout)
    given = tensor.quantization
    dropped: tuple[relay.Expr, ...] = ()
    stored = tensor.dtype
    if kind != tensor.dtype:
        if tensor.dtype == "float32":
            given, stored = _quantize_of(tensor, readers)
            dropped = tuple(readers)
        elif tensor.dtype not in _STORED or given is None:
            raise OptionError(f"input {tensor.name} is {tensor.dtype} without a scale; leave out --input-type.")
        _check_fits(f"input {tensor.name}", stored, kind, "--input-type")
    variable = relay.var(parameter.name_hint, shape=shape, dtype=kind)
    expr: relay.Expr = variable if axes is None else relay.transpose(variable, axes)
    quantization = given if kind != "float32" else None
    if kind != stored and given is not None:
        if kind == "float32":
            expr = relay.qnn.quantize(expr, _scale(given), _zero(given.zero_point), out_dtype=stored)
        else:
            quantization = _moved(given, kind)
            expr = _requantized(expr, quantization, given, stored)
    given_so = replace(tensor, shape=shape, dtype=kind, quantization=quantization, layout=layout)
    return _Read(given_so, variable, expr, dropped)


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
    if given is None or stored not in _STORED:
        raise OptionError(
            f"output {tensor.name} is {tensor.dtype}, and there are no integers with a scale behind it; leave out "
            "--output-type."
        )
    if kind == stored:
        return replace(tensor, dtype=kind, quantization=given), expr
    _check_fits(f"output {tensor.name}", stored, kind, "--output-type")
    if kind == "float32":
        real = relay.qnn.dequantize(expr, _scale(given), _zero(given.zero_point))
        return replace(tensor, dtype=kind, quantization=None), real
    moved = _moved(given, kind)
    return replace(tensor, dtype=kind, quantization=moved), _requantized(expr, given, moved, kind)


def _check_fits(what: str, stored: str, kind: str, option: str) -> None:
    """Refuse 8 bits for what a model stores in 16.

    Raises:
        OptionError: that is asked for.
    """
    if stored == "int16" and kind != "float32":
        raise OptionError(f"{what} has 16 bits, which {kind} does not hold; choose float32, or leave out {option}.")


def _quantization(arguments: Sequence[relay.Expr]) -> tuple[float, int]:
    scale, zero_point = map(scalar, arguments)
    if scale is None or zero_point is None:
        raise OptionError("an input or output of the model has several scales; leave out its type.")
    return float(np.float32(scale)), int(zero_point)


def _moved(given: Quantization, kind: str) -> Quantization:
    """The same real numbers in the other type of 8 bits."""
    return Quantization(given.scale, given.zero_point + (128 if kind == "uint8" else -128))


def _requantized(expr: relay.Expr, source: Quantization, wanted: Quantization, kind: str) -> relay.Expr:
    ends = (_scale(source), _zero(source.zero_point), _scale(wanted), _zero(wanted.zero_point))
    return relay.qnn.requantize(expr, *ends, out_dtype=kind)


def _scale(given: Quantization) -> relay.Expr:
    return relay.const(np.float32(given.scale))


def _zero(value: int) -> relay.Expr:
    return relay.const(np.int32(value))
