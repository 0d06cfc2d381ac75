"""Cases of every operator that TFLite Micro has an int8 kernel for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from tests.tflite.case import Case
from tests.tflite.cases import activations, elementwise, moving, products, recurrent, reductions

MODULES = (activations, elementwise, moving, products, recurrent, reductions)


def by_operator() -> Mapping[str, tuple[Case, ...]]:
    """The cases of each operator."""
    ordered = sorted((case for module in MODULES for case in module.CASES), key=lambda case: case.operator)
    return {name: tuple(chosen) for name, chosen in groupby(ordered, key=lambda case: case.operator)}
