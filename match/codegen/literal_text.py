"""Arrays in C: the type of their elements, and these as literals."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

_C_TYPES = {"float32": "float", "float64": "double", "bool": "bool"}


def c_type(dtype: str) -> str:
    """The type in C of elements of a NumPy dtype."""
    return _C_TYPES.get(dtype, f"{dtype}_t")


def numbers(data: npt.NDArray[np.generic]) -> list[str]:
    """Elements as C literals."""
    if data.dtype.kind == "f":
        return [_float(float(value), data.dtype.itemsize) for value in data.flat]
    return [_integer(int(value)) for value in data.flat]


def _float(value: float, size: int) -> str:
    if not math.isfinite(value):
        return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
    return repr(value) + ("f" if size == 4 else "")


def _integer(value: int) -> str:
    return f"({value + 1} - 1)" if value == -(2**63) else str(value)
