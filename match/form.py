"""Chooses the form of requantization in which a module executes a layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from match.fitting import executes, fit
from match.hardware import HwModule, LayerConstants
from match.options import Numerics
from match.plan import RequantizationFit
from match.requantize import Int64Array, Requantizer

Range = tuple[Int64Array, Int64Array]
"""Smallest and largest accumulator that each channel can reach, shape (channels,)."""


@dataclass(frozen=True, eq=False)
class Form:
    """A requantizer, a layer's constants in its form, and how close they are; no requantizer and fit without need."""

    requantizer: Requantizer | None
    constants: LayerConstants
    fit: RequantizationFit | None


def choose_form(
    module: HwModule, constants: LayerConstants, accumulator: Range | None, numerics: Numerics
) -> Form | str:
    """The form to use, or why there is none, as the end of 'refused because ...'.

    With ``numerics="hardware"`` it is the module's own if that is at most one step off; else, and with
    ``numerics="exact"``, the first that is exact; failing that, with "hardware", the closest one step off.
    """
    if constants.requantization is None or accumulator is None:
        return Form(None, constants, None)
    hardware = numerics is Numerics.HARDWARE
    inexact: list[tuple[RequantizationFit, Form]] = []
    for verdict, form, own in _fitted(module, constants, accumulator):
        if verdict.exact or (hardware and own and verdict.max_step == 1):
            return form
        inexact.append((verdict, form))
    if not inexact:
        return f"{module.name} has no form of requantization that comes near its own"
    verdict, form = min(inexact, key=lambda candidate: (candidate[0].max_step, candidate[0].share))
    if hardware and verdict.max_step == 1:
        return form
    steps = "one step" if verdict.max_step == 1 else f"up to {verdict.max_step} steps"
    return f"{module.name} would be off by {steps} for {100 * verdict.share:.2g}% of its accumulators"


def _fitted(
    module: HwModule, constants: LayerConstants, accumulator: Range
) -> Iterator[tuple[RequantizationFit, Form, bool]]:
    """The layer in the module's own form, if it has one that may approximate, then in each of the others.

    With whether it is the module's own. Of several that may approximate the widest shows how close they come, and what
    it gives is left to the first of them that executes the same integers.
    """
    if constants.requantization is None:
        return
    approximate = [form for form in module.requantizers if form.approximates]
    if approximate:
        widest = max(approximate, key=lambda form: (form.multiplier_bits, form.sum_bits))
        fitted = fit(constants.requantization, *accumulator, widest)
        if fitted is not None:
            parameters, verdict = fitted
            same = (form for form in approximate if form is widest or executes(parameters, *accumulator, form))
            yield verdict, Form(next(same), replace(constants, requantization=parameters), verdict), True
    for requantizer in module.requantizers:
        corrects_nothing = requantizer.negative_step and constants.requantization.negative_below is None
        if requantizer.approximates or corrects_nothing:
            continue
        fitted = fit(constants.requantization, *accumulator, requantizer)
        if fitted is not None:
            parameters, verdict = fitted
            yield verdict, Form(requantizer, replace(constants, requantization=parameters), verdict), False
