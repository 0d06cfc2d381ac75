"""Options of TFLite operators that TVM's importer would drop without a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tflite

from match.errors import ModelError

_IGNORED: Mapping[str, tuple[Any, str, Any]] = {
    "FULLY_CONNECTED": (tflite.FullyConnectedOptions, "WeightsFormat", 0),
    "GATHER": (tflite.GatherOptions, "BatchDims", 0),
    "STRIDED_SLICE": (tflite.StridedSliceOptions, "Offset", False),
    "TRANSPOSE_CONV": (tflite.TransposeConvOptions, "FusedActivationFunction", 0),
}
"""By operator: its table of options, one that the importer does not read, and the value that this may have."""


def check_options(name: str, operator: Any, where: str, path: object) -> None:
    """Refuse an operator, called `name`, with an option whose value the importer would not keep.

    Raises:
        ModelError: it has one.
    """
    table = operator.BuiltinOptions()
    if name not in _IGNORED or table is None:
        return
    kind, option, allowed = _IGNORED[name]
    options = kind()
    options.Init(table.Bytes, table.Pos)
    value = getattr(options, option)()
    if value != allowed:
        raise ModelError(
            f"{path} has {where} with the option {option} of {value}, which cannot be compiled; only {allowed} can"
        )
