"""What goes in and out of a network: another type or layout of inputs and outputs than the model has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from match.errors import OptionError
from match.frontend.model import Model, ModelTensor, Quantization
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
class Given:
    """An input as a caller gives it.

    tensor: its type, shape and layout. axes: how it is turned to the model's layout; None if it is not.
    stored, quantization: the integers that the network begins with, and what they stand for; None where it begins with
        what it is given.
    """

    tensor: ModelTensor
    axes: tuple[int, ...] | None
    stored: str
    quantization: Quantization | None


QuantizeOf = Callable[[], tuple[Quantization, str]]
"""The one quantization of a float input, in which all that read it begin, and its type.

Raises:
    OptionError: they do not.
"""


def given_input(tensor: ModelTensor, quantize_of: QuantizeOf, border: Border) -> Given:
    """How a model's input is given.

    Raises:
        OptionError: it cannot have the type or layout.
    """
    kind = border.input_type or tensor.dtype
    shape, axes, layout = tensor.shape, None, tensor.layout
    if border.input_layout is not None and len(tensor.shape) == 4:
        if not tensor.layout:
            raise OptionError(f"input {tensor.name} has axes of no known meaning; leave out --input-layout.")
        layout = border.input_layout.upper()
        axes = None if layout == tensor.layout else tuple(layout.index(axis) for axis in tensor.layout)
        shape = tuple(tensor.shape[tensor.layout.index(axis)] for axis in layout)
    given, stored = tensor.quantization, tensor.dtype
    if kind != tensor.dtype:
        if tensor.dtype == "float32":
            given, stored = quantize_of()
        elif tensor.dtype not in _STORED or given is None:
            raise OptionError(f"input {tensor.name} is {tensor.dtype} without a scale; leave out --input-type.")
        _check_fits(f"input {tensor.name}", stored, kind, "--input-type")
    quantization = None if kind == "float32" else given
    if kind not in (stored, "float32") and given is not None:
        quantization = moved(given, kind)
    own = replace(tensor, shape=shape, dtype=kind, quantization=quantization, layout=layout)
    return Given(own, axes, stored, given)


def wanted_output(tensor: ModelTensor, stored: str, given: Quantization | None, kind: str) -> ModelTensor:
    """An output of another type than the model's.

    `stored` and `given` are type and quantization of its integers, before a dequantize if there is one.

    Raises:
        OptionError: it cannot have the type.
    """
    if given is None or stored not in _STORED:
        raise OptionError(
            f"output {tensor.name} is {tensor.dtype}, and there are no integers with a scale behind it; leave out "
            "--output-type."
        )
    if kind == stored:
        return replace(tensor, dtype=kind, quantization=given)
    _check_fits(f"output {tensor.name}", stored, kind, "--output-type")
    return replace(tensor, dtype=kind, quantization=None if kind == "float32" else moved(given, kind))


def _check_fits(what: str, stored: str, kind: str, option: str) -> None:
    """Refuse 8 bits for what a model stores in 16.

    Raises:
        OptionError: that is asked for.
    """
    if stored == "int16" and kind != "float32":
        raise OptionError(f"{what} has 16 bits, which {kind} does not hold; choose float32, or leave out {option}.")


def moved(given: Quantization, kind: str) -> Quantization:
    """The same real numbers in the other type of 8 bits."""
    return Quantization(given.scale, given.zero_point + (128 if kind == "uint8" else -128))
