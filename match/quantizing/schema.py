"""What quantizing a network found, as types and as JSON; the fields are explained in docs/quantize.md."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA_VERSION = 1

Run = Literal["float", "quantized", "hardware", "exact"]


class FormSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How numbers are quantized for the target.

    `symmetric` activations have zero points of 0. Weights are int8 and have a scale for each output channel where they
    are `per_channel`, or one for all. `powers_of_two` are all scales, and `one_scale_for_addends` tells that tensors
    which are added share theirs.
    """

    activations: str
    symmetric: bool
    per_channel: bool
    powers_of_two: bool
    one_scale_for_addends: bool


class RunSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to compute the network, on all samples.

    `run` is the float model, the quantized one by onnxruntime, or the generated C with `hardware` or `exact` numerics.
    `sqnr_db` is the power of the float model's outputs over that of their differences, in dB, null where nothing
    differs; `agreeing` counts the samples to which it gives the float model's class. With labels: how many of the
    samples are classified `right` (largest score), the 95 % confidence `interval` of that share (Wilson), and the
    `confusion` matrix: a row for each class of the labels, a column for each class given. `refusal` says why the C
    could not be run; all else is null then.
    """

    run: Run
    sqnr_db: float | None = None
    agreeing: int | None = None
    right: int | None = None
    interval: tuple[float, float] | None = None
    confusion: tuple[tuple[int, ...], ...] | None = None
    refusal: str | None = None


class LayerError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor of the quantized network beside the float model's, on the same inputs, with all errors before it.

    `op` computes it ("input": nothing does). `sqnr_db` is as in `RunSummary`; `cosine` that of the angle between the
    two. `loss_db` is by how much `sqnr_db` is below that of the worst tensor that the operator reads. `alone_db` is by
    how much the outputs' would rise, and `alone_right` how many samples more would be classified right, if this
    operator alone were computed in floating point; null unless that was asked. `weight_bits` are those of its weights;
    null without weights.
    """

    name: str
    op: str
    sqnr_db: float | None
    cosine: float
    loss_db: float | None = None
    alone_db: float | None = None
    alone_right: int | None = None
    weight_bits: int | None = None


class Floating(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Operators of one kind that stay in floating point, and why."""

    op: str
    names: tuple[str, ...]
    why: str


class CoreLayer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A layer that the control core computes, as the report calls it, its predicted cycles, and why."""

    name: str
    op: str
    cycles: int
    why: str


class Narrowing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What narrower weights bring: predicted cycles with 8 bits, and the loss that was allowed and is.

    Losses are shares of the samples that are no more classified right or, without labels, dB of the outputs' SQNR.
    """

    cycles_in_8_bits: int
    allowed: float
    loss: float


class Quantization(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A quantized network: how it was made, what it costs in accuracy, and where it runs.

    `calibrated` and `samples` count the samples that ranges were found with and that it was measured with; `classes` is
    null without labels. `cycles` are predicted for `target`. `layers` are in the order of execution.
    """

    generator: str
    network: str
    target: str
    form: FormSummary
    calibrated: int
    samples: int
    cycles: int
    milliseconds: float
    runs: tuple[RunSummary, ...]
    layers: tuple[LayerError, ...]
    floating: tuple[Floating, ...]
    control_core: tuple[CoreLayer, ...]
    notes: tuple[str, ...]
    classes: int | None = None
    narrowing: Narrowing | None = None
    schema_version: Literal[1] = SCHEMA_VERSION


def encode(result: Quantization) -> bytes:
    """The result as JSON: UTF-8, indented, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of the result, made from the types."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Quantization)))
