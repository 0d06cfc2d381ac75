"""Layers that a module requantizes in a form that it lists and takes for none of the ordinary layers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from match.compilation.options import Numerics
from match.devtools.check.probes import Probe, layers_of, probes
from match.dispatch.request import accepts
from match.ir.layer import Layer
from match.ir.requantization import Requantizer
from match.partitioning.pattern import Match
from match.requantize.form import choose_form
from match.target.hardware import HwModule


@dataclass(frozen=True, eq=False)
class FormProbes:
    """One form, the module as if it had no other, and layers that it then takes: at most one of an operator and type.

    No layers: the form is exact for none of those that are tried.
    """

    form: Requantizer
    module: HwModule
    layers: tuple[Probe, ...]


def untried_forms(module: HwModule, types: Sequence[str]) -> Iterator[FormProbes]:
    """Probes of each form that the module lists for a layer and chooses for no ordinary one, in the order of the lists.

    Layers for a form with corrections or exceptions have them: without, the form is chosen for none.
    """
    ordinary = accepted_layers(module, types)
    listed = {form.name: form for _, row in ordinary for form in module.forms(row.layer)}
    chosen = {_chosen(module, row) for _, row in ordinary}
    for name, form in listed.items():
        if name in chosen:
            continue
        alone = _with_one(module, form)
        firsts: dict[tuple[str, str], Probe] = {}
        tried = _found(types, negative_step=form.negative_step, exceptions=form.exceptions > 0)
        for probe, row in _accepted(alone, tried):
            if (probe.name, probe.dtype) not in firsts and _chosen(alone, row) == name:
                firsts[probe.name, probe.dtype] = probe
        yield FormProbes(form, alone, tuple(firsts.values()))


def accepted_layers(module: HwModule, types: Sequence[str]) -> list[tuple[Probe, Match]]:
    """The ordinary small layers with a requantization whose patterns and constraints a module has."""
    return _accepted(module, _found(types))


def _found(
    types: Sequence[str], *, negative_step: bool = False, exceptions: bool = False
) -> Iterator[tuple[Probe, Match]]:
    """The layers that have a requantization, as they are read."""
    layers = [probe for dtype in types for probe in probes(dtype, negative_step=negative_step, exceptions=exceptions)]
    for probe, row in zip(layers, layers_of(layers), strict=True):
        if isinstance(row, Match) and row.constants.requantization is not None:
            yield probe, row


def _accepted(module: HwModule, tried: Iterator[tuple[Probe, Match]]) -> list[tuple[Probe, Match]]:
    return [(probe, row) for probe, row in tried if accepts(module, row.layer).ok]


def _chosen(module: HwModule, row: Match) -> str | None:
    """The name of the form that the module takes for a layer; None if none is exact."""
    form = choose_form(module, row.layer, row.constants, row.accumulator, Numerics.EXACT)
    return None if isinstance(form, str) or form.requantizer is None else form.requantizer.name


def _with_one(module: HwModule, form: Requantizer) -> HwModule:
    """The module with one of its forms, for the layers that it lists the form for."""

    def forms(layer: Layer) -> tuple[Requantizer, ...]:
        return tuple(own for own in module.forms(layer) if own.name == form.name)

    alone = copy.copy(module)
    vars(alone)["forms"] = forms
    return alone
