"""What a run of a project computed and counted, as types and as JSON; the fields are explained in docs/json.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from match.report.schema import Measurement

SCHEMA_VERSION = 1


class OutputValues(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An output tensor: `values` are all its elements, the last axis first to move; null where a file has them."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    values: tuple[int | float | bool, ...] | None


class RunResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run of `network` on `platform`: `seed` is that of the random inputs, null where inputs were given.

    `measured` is what the platform counted, null where it counts nothing.
    """

    network: str
    platform: str
    seed: int | None
    outputs: tuple[OutputValues, ...]
    measured: Measurement | None = None
    schema_version: Literal[1] = SCHEMA_VERSION


def output_values(computed: Mapping[str, npt.NDArray[Any]], *, values: bool) -> tuple[OutputValues, ...]:
    """Output tensors by name, with their values or without."""
    return tuple(
        OutputValues(name, str(array.dtype), array.shape, tuple(np.ravel(array).tolist()) if values else None)
        for name, array in computed.items()
    )


def encode(result: RunResult) -> bytes:
    """The result as JSON: UTF-8, indented, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of the result, made from the types."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(RunResult)))
