"""Fits the cost model's constants to measured kernel calls. The model is linear in them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from benchmarks.rtl.case import Case
from match.cost_models.pulp_cycles import KernelCycles
from match.targets.pulp.cluster import COST

COUNTED = (
    *("run", "group_share", "turned_share", "high", "squared_difference"),
    *("strip_row", "gather", "window", "called5"),
    *("wide", "wide_turned", "wide_filter", "wide_weight", "wide_pixel", "wide_word", "phase"),
    *("small_map", "small_share", "small_channel", "small_column"),
    *("words_map", "words_begun", "words_run", "words_left", "words_channel", "words_column", "words_wide"),
    *("average_call", "average_row", "average_pixel", "average_last"),
    *("sum_row", "sum_many", "sum_element", "sum_channel"),
    *("averages", "averages_split", "averages_split_signed", "averages_apart", "averages_int64"),
    *("maximum_row", "maximum_pixel", "maximum_call", "maximum_part", "maximum_one", "maximum_element", "pool_share"),
    *("float_window", "float_average", "float_element", "float_half", "float_sum"),
    *("lookup_gaps", "lookup_rest", "lookup_share", "lookup_fours", "concatenation", "copied_apart"),
    *("lines", "lines_share", "lines_part", "lines_row", "lines_byte", "lines_byte_split", "lines_byte_split_signed"),
)
"""Constants that the fitted group has no call of, or that calls made for them tell apart better."""

LATER = ("short", "short_block", "short_left", "short_single", "short_output")
"""Constants that are fitted when the others are known, to the calls that have them, which leave the others alone."""


def predicted(case: Case, cycles: KernelCycles | None = None, cores: int = 1) -> float:
    """Cycles of the case's kernel call on one of `cores`, with the model's own constants or others."""
    lists = case.tensors.lists
    listed = 0 if lists is None else lists.count / len(lists.begins)
    model = replace(COST, cores=cores, form=case.form, listed=listed, cycles=cycles or KernelCycles.measured())
    return model.compute(case.layer, case.tile)


def fit(cases: Sequence[Case], counts: Sequence[int]) -> dict[str, float]:
    """The constants with the least sum of squared relative errors, none below 0; those up to 10 have two digits.

    Those that no case has are left out: their values stay what they are, as do those of `COUNTED`.
    """
    solve: Any = importlib.import_module("scipy.optimize").nnls  # it has no types
    known = KernelCycles.measured()
    asked = [field.name for field in fields(KernelCycles) if field.name not in COUNTED]
    none = replace(known, **dict.fromkeys(asked, 0.0))
    loops = np.array([predicted(case, none) for case in cases])
    columns = {name: [predicted(case, replace(none, **{name: 1.0})) for case in cases] - loops for name in asked}
    names = [name for name in asked if columns[name].any()]
    design = np.array([columns[name] for name in names]).T
    target = np.array(counts)
    later = np.array([name in LATER for name in names])
    calls = design[:, later].any(axis=1)
    found = np.zeros(len(names))
    for rows, constants in ((~calls, ~later), (calls, later)):
        left = (target - loops - design @ found)[rows] / target[rows]
        found[constants] = solve(design[np.ix_(rows, constants)] / target[rows, None], left)[0]
    solution: list[float] = found.tolist()
    return {name: round(value, 1 if value > 10 else 2) for name, value in zip(names, solution, strict=True)}
