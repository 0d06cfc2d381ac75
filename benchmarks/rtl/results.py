"""What the benchmark writes, as types (schema.json is made from them)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

SCHEMA_VERSION = 1


class Measurement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kernel call on one core.

    group: "required", "fitted" or "tested". cycles: measured. predicted: by the cost model. macs: multiply-accumulates.
    required: of them a cycle, where there is a rate to reach. bound: of them a cycle by the inner loop alone, null for
    kernels that are none of its users.
    """

    group: str
    layer: str
    form: str
    macs: int
    cycles: int
    predicted: float
    required: float | None = None
    bound: float | None = None

    @property
    def rate(self) -> float:
        """Multiply-accumulates a cycle."""
        return self.macs / self.cycles

    @property
    def error(self) -> float:
        """The relative error of the prediction."""
        return self.predicted / self.cycles - 1


class Summary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the predictions of a group compare: mean and largest relative error, Kendall's rank correlation."""

    group: str
    calls: int
    mean_error: float
    worst_error: float
    tau: float


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run of the benchmark on the kernels compiled for `isa`."""

    schema_version: int = SCHEMA_VERSION
    isa: str
    measurements: tuple[Measurement, ...]
    summaries: tuple[Summary, ...]


def summary(group: str, measurements: Sequence[Measurement]) -> Summary:
    """The errors of one group of measurements, at least two."""
    errors = [abs(one.error) for one in measurements]
    pairs = list(itertools.combinations(measurements, 2))
    signs = [(a.cycles - b.cycles) * (a.predicted - b.predicted) for a, b in pairs]
    tau = (sum(sign > 0 for sign in signs) - sum(sign < 0 for sign in signs)) / len(signs)
    return Summary(
        group=group, calls=len(errors), mean_error=sum(errors) / len(errors), worst_error=max(errors), tau=tau
    )


def schema() -> dict[str, Any]:
    """JSON Schema of `Results`."""
    return msgspec.json.schema(Results)
