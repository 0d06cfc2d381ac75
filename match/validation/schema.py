"""What a validation found, as types and as JSON; the fields are explained in docs/validate.md."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from match.report.schema import AccuracySummary, Verdict

SCHEMA_VERSION = 1

Reference = Literal["TFLite Micro", "onnxruntime", "integer network"]


class TensorDifference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An output tensor of the network, over all samples.

    `step` is the difference between neighbouring values: 1 for integers, the scale of a tensor that is dequantized
    last; null where float operators compute the tensor. `off_by_one` elements are one step away, `largest` is the
    largest difference, in steps, or as it is where there are none. Elements count as equal up to `tolerance`, which
    is 0 but for results of float operators.
    """

    name: str
    elements: int
    equal: int
    off_by_one: int
    largest: float
    step: float | None
    tolerance: float


class LayerDifference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an operator computed from the integers that it was given, beside the network's own integers from the same.

    `name` is that of the report, or says which operators of the control core these are: what they hand to a layer or
    to an output. `share` is the part of the `elements` that differs. Requantization on the module
    is known to be off by at most `known_steps`; 0: it is exact.
    """

    name: str
    op: str
    module: str
    elements: int
    differing: int
    off_by_one: int
    largest: float
    share: float
    known_steps: int


class ExactSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Predicted cycles of the network as compiled, and compiled with `--numerics exact`."""

    cycles: int
    exact_cycles: int


class Validation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A network's generated C, run on `platform` beside a reference on this PC.

    `seed` is that of the first sample, the next have the next ones; null where inputs were given. `equal` tells whether
    the outputs equal the reference's in every element; `verdict`, if not, whether the differences are those that the
    report announced: each operator alone is off by no more than is known of it. It is unknown where operators cannot be
    compared: the target is not installed, or the project is of another version. `layers` are null where they were not
    asked for. `first` is the name of the first layer that differs by more than is known of it, or else of the first
    that differs. `exact` is null
    where every requantization is exact already, or the target is not installed. `caveat` is a sentence on why outputs
    may differ from the reference though the C is right; null if there is no reason.
    """

    network: str
    target: str
    platform: str
    reference: Reference
    samples: int
    seed: int | None
    equal: bool
    outputs: tuple[TensorDifference, ...]
    layers: tuple[LayerDifference, ...] | None = None
    first: str | None = None
    accuracy: AccuracySummary | None = None
    exact: ExactSummary | None = None
    caveat: str | None = None
    verdict: Verdict = "unknown"
    schema_version: Literal[1] = SCHEMA_VERSION

    def __repr__(self) -> str:
        elements = sum(tensor.elements for tensor in self.outputs)
        equal = sum(tensor.equal for tensor in self.outputs)
        return f"<Validation of {self.network} on {self.platform}: {equal:,} of {elements:,} equal to {self.reference}>"


def encode(validation: Validation) -> bytes:
    """The result as JSON: UTF-8, indented, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(validation), indent=2) + b"\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of the result, made from the types."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Validation)))
