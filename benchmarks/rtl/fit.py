"""Fits the cost model's constants to measured kernel calls. The model is linear in them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from benchmarks.rtl.case import Case
from match.cost_models.pulp_cluster import PulpClusterCost
from match.cost_models.pulp_cycles import KernelCycles

COUNTED = ("run", "group_share", "turned_share", "high", "lines_share", "lines_part", "small_share")
"""Constants that no call of the fitted group has."""

LATER = ("short", "short_block", "short_left", "short_single", "short_output")
"""Constants that are fitted when the others are known, to the calls that have them, which leave the others alone."""


def predicted(case: Case, cycles: KernelCycles | None = None, cores: int = 1) -> float:
    """Cycles of the case's kernel call on one of `cores`, with the model's own constants or others."""
    lists = case.tensors.lists
    listed = 0 if lists is None else lists.count / case.layer.output_channels
    model = PulpClusterCost(cores=cores, form=case.form, listed=listed, cycles=cycles or KernelCycles())
    return model.compute(case.layer, case.tile)


def fit(cases: Sequence[Case], measured: Sequence[int]) -> KernelCycles:
    """The constants with the least sum of squared relative errors, none below 0; those up to 10 have two digits."""
    solve: Any = importlib.import_module("scipy.optimize").nnls  # it has no types
    names = [field.name for field in fields(KernelCycles) if field.name not in COUNTED]
    none = dict.fromkeys(names, 0.0)
    loops = np.array([predicted(case, KernelCycles(**none)) for case in cases])
    columns = [[predicted(case, KernelCycles(**{**none, name: 1.0})) for case in cases] for name in names]
    design = np.array(columns).T - loops[:, None]
    target = np.array(measured)
    later = np.array([name in LATER for name in names])
    calls = design[:, later].any(axis=1)
    found = np.zeros(len(names))
    for rows, constants in ((~calls, ~later), (calls, later)):
        left = (target - loops - design @ found)[rows] / target[rows]
        found[constants] = solve(design[np.ix_(rows, constants)] / target[rows, None], left)[0]
    solution: list[float] = found.tolist()
    return KernelCycles(
        **{name: round(value, 1 if value > 10 else 2) for name, value in zip(names, solution, strict=True)}
    )
