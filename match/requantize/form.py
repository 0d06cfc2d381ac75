"""Chooses the form of requantization in which a module executes a layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from match.compilation.options import Numerics
from match.ir.constants import Addends, LayerConstants, ZeroPoints
from match.ir.exception_lists import with_lists_of
from match.ir.layer import Layer
from match.ir.requantization import Int64Array, Products, Requantization, RequantizationFit, Requantizer
from match.requantize import executes, fit
from match.requantize.rows import rows
from match.target import methods
from match.target.hardware import HwModule

_SAMPLE = 2
"""Channels that tell whether a narrow form is worth fitting."""

Range = tuple[Int64Array, Int64Array]
"""Smallest and largest accumulator that each channel can reach, shape (channels,)."""


@dataclass(frozen=True, eq=False)
class Form:
    """A requantizer, a layer's constants in its form, and how close they are; no requantizer and fit without need."""

    requantizer: Requantizer | None
    constants: LayerConstants
    fit: RequantizationFit | None


def choose_form(
    module: HwModule, layer: Layer, constants: LayerConstants, accumulator: Range | None, numerics: Numerics
) -> Form | str:
    """The form to use, or why there is none, as the end of 'refused because ...'."""
    return choose_among(methods.forms(module, layer), module.name, constants, accumulator, numerics)


def choose_among(
    offered: tuple[Requantizer, ...],
    module: str,
    constants: LayerConstants,
    accumulator: Range | None,
    numerics: Numerics,
) -> Form | str:
    """The form to use of those that a module of this name offers, or why there is none.

    With ``numerics="hardware"`` it is the module's own if that is at most one step off; else, and with
    ``numerics="exact"``, the first that is exact; failing that, with "hardware", the closest one step off. Forms with
    exceptions, which are slow, are for "exact" alone: without them a layer is one step off at most.
    """
    if constants.requantization is None or accumulator is None:
        return Form(None, constants, None)
    hardware = numerics is Numerics.HARDWARE
    inexact: list[tuple[RequantizationFit, Form]] = []
    forms = tuple(form for form in offered if not (hardware and form.exceptions))
    for verdict, form, own in _fitted(forms, constants, accumulator):
        if verdict.exact or (hardware and own and verdict.max_step == 1):
            return form
        inexact.append((verdict, form))
    if not inexact:
        if any(not form.addend_multipliers for form in offered) and not _equal_addends(constants):
            return f"{module} adds its inputs as they are, and these have different scales"
        return f"{module} has no form of requantization that comes near its own"
    verdict, form = min(inexact, key=lambda candidate: (candidate[0].max_step, candidate[0].share))
    if hardware and verdict.max_step == 1:
        return form
    steps = "one step" if verdict.max_step == 1 else f"up to {verdict.max_step} steps"
    off = f"{module} would be off by {steps} for {100 * verdict.share:.3g}% of its accumulators"
    if verdict.max_step > 1 and form.requantizer is not None and not form.requantizer.multiplier_bits:
        clips = " or ".join(f"{low}..{high}" for low, high in form.requantizer.clips) or "any range"
        advice = "quantize with scales that are powers of two, one per tensor"
        return f"{off}, for it can only shift and clip to {clips}; {advice}"
    return off


def _fitted(
    forms: tuple[Requantizer, ...], constants: LayerConstants, accumulator: Range
) -> Iterator[tuple[RequantizationFit, Form, bool]]:
    """The layer in the module's own form, if it has one that may approximate, then in each of the others.

    With whether it is the module's own. Of several that may approximate the widest shows how close they come, and what
    it gives is left to the first of them that executes the same integers.
    """
    approximate = [form for form in forms if form.approximates]
    if approximate:
        widest = max(approximate, key=lambda form: (form.multiplier_bits, form.sum_bits))
        fitted = _fit(constants, accumulator, widest)
        if fitted is not None:
            parameters, verdict, reach = fitted
            same = (form for form in approximate if form is widest or executes(_line(parameters), *reach, form))
            yield verdict, Form(next(same), parameters, verdict), True
    for requantizer in forms:
        line = _line(constants)
        corrects_nothing = requantizer.negative_step and line.negative_below is None
        excepts_nothing = requantizer.exceptions and line.exceptions is None
        if requantizer.approximates or corrects_nothing or excepts_nothing:
            continue
        if requantizer is not forms[-1] and _hopeless(constants, accumulator, requantizer):
            continue
        fitted = _fit(constants, accumulator, requantizer)
        if fitted is None:
            continue
        own = with_lists_of(requantizer, _line(fitted[0]))
        if own.exceptions <= requantizer.exceptions:
            yield fitted[1], Form(own, fitted[0], fitted[1]), False


def _hopeless(constants: LayerConstants, accumulator: Range, requantizer: Requantizer) -> bool:
    """Whether a narrow form is not exact for some channels already, those that reach the most accumulators.

    Fitting all channels takes long, and of a form that others follow nobody needs to know how far off it is. Wide forms
    are no narrower than the layer's own, but for products in parts without the step that double rounding takes off.
    """
    line = _line(constants)
    by_parts = requantizer.products is not Products.WHOLE
    lacks_step = by_parts and not requantizer.negative_step and line.negative_below is not None
    if requantizer.sum_bits > 32 and not lacks_step:
        return False
    if executes(line, *accumulator, requantizer) or line.channels <= _SAMPLE:
        return False
    low, high = accumulator
    widest = np.argsort(low - high)[:_SAMPLE]
    fitted = fit(line.take(widest), low[widest], high[widest], requantizer)
    return fitted is None or not fitted[1].exact


def _fit(
    constants: LayerConstants, accumulator: Range, requantizer: Requantizer
) -> tuple[LayerConstants, RequantizationFit, Range] | None:
    """The layer's constants in a form, how close they are, and the range of the accumulator that the form sees."""
    if constants.get(Addends) is not None and not requantizer.addend_multipliers:
        if not _equal_addends(constants):
            return None
        constants, accumulator = _plain_addition(constants, accumulator)
    zero_points = constants.get(ZeroPoints)
    if requantizer.products is Products.ROWS:
        fitted = rows(_line(constants), zero_points, *accumulator, requantizer) if zero_points else None
    else:
        fitted = fit(_line(constants), *accumulator, requantizer)
    if fitted is None:
        return None
    return replace(constants, requantization=fitted[0]), fitted[1], accumulator


def _equal_addends(constants: LayerConstants) -> bool:
    """Whether it is no addition, or one whose inputs count alike and can be added before they are multiplied."""
    addends = constants.get(Addends)
    return addends is None or (addends.input == addends.addend and addends.input > 0)


def _plain_addition(constants: LayerConstants, accumulator: Range) -> tuple[LayerConstants, Range]:
    """An addition of inputs that count alike, as a multiple of their plain sum, and the range of that."""
    addends, line = constants.get(Addends), _line(constants)
    factor = addends.input if addends else 1
    plain = LayerConstants(Addends(1, 1), replace(line, multiplier=line.multiplier * factor))
    return plain, (accumulator[0] // factor, accumulator[1] // factor)


def _line(constants: LayerConstants) -> Requantization:
    if constants.requantization is None:
        raise ValueError("this layer has no requantization to fit")
    return constants.requantization
