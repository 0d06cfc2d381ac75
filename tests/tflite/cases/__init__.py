"""Cases of every operator that TFLite Micro has an int8 kernel for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from tests.tflite.case import Case
from tests.tflite.cases import activations, elementwise, moving, products, recurrent, reductions

FLOAT = frozenset(
    {
        *("CEIL", "COS", "EXP", "FLOOR", "FLOOR_DIV", "FLOOR_MOD", "L2_POOL_2D", "LOG", "NEG", "ROUND", "SIN", "SQRT"),
        "SQUARE",
    }
)
"""Operators whose kernels are of real numbers alone."""

BOOL = frozenset({"LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "REDUCE_ALL"})
"""Those whose kernels are of truth values alone."""

MODULES = (activations, elementwise, moving, products, recurrent, reductions)


def by_operator() -> Mapping[str, tuple[Case, ...]]:
    """The cases of each operator."""
    ordered = sorted((case for module in MODULES for case in module.CASES), key=lambda case: case.operator)
    return {name: tuple(chosen) for name, chosen in groupby(ordered, key=lambda case: case.operator)}
