"""Softmax over rows in integers, an operator of the cluster's own: what TFLite Micro's kernel computes of each row.

TVM is imported when a network is looked at, not with the target.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from match.arithmetic import tflite_functions
from match.ir.dtypes import value_range
from match.target.own import OwnOperator, Reading

SOFTMAX = "softmax"
CONSTANTS = np.dtype([("sign", "<i4"), ("lowest", "<i4"), ("highest", "<i4"), ("exponentials", "<i4", 256)])
"""match_softmax_t."""


def softmax() -> OwnOperator:
    """The operator; only a whole one, as `match.relay.softmax` builds it, is taken."""
    return OwnOperator(SOFTMAX, _dataflow, _read, _example)


def _relay() -> Any:
    return import_module("match.relay.softmax")


def _dataflow() -> Any:
    return _relay().saturated()


def _read(parts: Mapping[Any, Any]) -> Reading | None:
    found = _relay().read_softmax(parts[_dataflow()])
    if found is None:
        return None
    entry = np.zeros(1, CONSTANTS)
    entry["sign"] = 0x80 if found.x_dtype == "int8" else 0
    entry["lowest"], entry["highest"] = value_range(found.dtype)
    entry["exponentials"] = found.exponentials
    return Reading((found.x,), entry.tobytes())


def _example(x: Any) -> Any:
    exponentials = tflite_functions.exponentials(np.float32(0.1), np.float32(1))
    return _relay().softmax(x, 16, exponentials, x.type_annotation.dtype)
