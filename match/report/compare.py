"""Two reports side by side: totals, layers by what they compute, and what moved: module, cycles, schedule, and why.

The reports may be of two targets, of other options, or of other revisions of the compiler or of the network. The fields
are explained in docs/compare.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from match.errors import InputError, ModelError
from match.report.alignment import aligned
from match.report.layer_rows import bytes_moved
from match.report.schema import REPORT, LayerSummary, OptionsSummary, Report, RequantizationSummary, ScheduleSummary
from match.report.text import decode
from match.target.arguments import path_of, shown

SCHEMA_VERSION = 1

Aspect = Literal[
    "fusion", "macs", "module", "cycles", "waits", "bound", "weight_bits", "bytes", "l1", "schedule", "requantization"
]


class Compiled(Protocol):
    """What has a report, such as a `CompiledModel`."""

    @property
    def report(self) -> Report:
        """The report of the compilation."""
        ...


Source = str | PathLike[str] | Report | Compiled
"""A project folder, a `report.json`, a report, or what was compiled."""


class Side(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the two: the model's name and hash, the target, what was asked for, and the compiler's version."""

    model: str
    sha256: str
    target: str
    options: OptionsSummary
    generator: str


class Total(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A total of both, by the name that it has in a report; null where a report does not have it."""

    name: str
    a: float | None
    b: float | None


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An aspect of a layer that is not the same in both, as text; `why` is the reason, where the reports give one."""

    aspect: Aspect
    a: str
    b: str
    why: str | None = None


class LayerChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Layers that compute the same, mostly one of either: predicted cycles, null where one has none, and what moved.

    Fused in other ways, several of one are one of the other, or several: `a_layers` and `b_layers` are their names,
    which `name` joins. `b_name` is the same of the second, where that is another name.
    """

    name: str
    a_cycles: int | None
    b_cycles: int | None
    changes: tuple[Change, ...]
    b_name: str | None = None
    a_layers: tuple[str, ...] = ()
    b_layers: tuple[str, ...] = ()

    @property
    def difference(self) -> int:
        """Cycles that it takes more in the second."""
        return (self.b_cycles or 0) - (self.a_cycles or 0)

    @property
    def same(self) -> bool:
        """Whether both have it, and nothing moved."""
        return not self.changes and None not in (self.a_cycles, self.b_cycles)


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two compilations: `layers` are those of `a` in the order of execution, then those that only `b` has."""

    a: Side
    b: Side
    totals: tuple[Total, ...]
    layers: tuple[LayerChange, ...]
    schema_version: Literal[1] = SCHEMA_VERSION

    def __repr__(self) -> str:
        moved = sum(not layer.same for layer in self.layers)
        first, second = (f"{side.model} on {side.target}" for side in (self.a, self.b))
        return f"<Comparison of {first} with {second}: {moved} of {len(self.layers)} layers differ>"


def compare(a: Source, b: Source) -> Comparison:
    """Compare two compilations.

    Args:
        a: a project folder, its `report.json`, a report, or what `match.compile` returned.
        b: the same for the second one.

    Raises:
        InputError: if one of the two has no report, or one of another version.
    """
    first, second = report_of(a), report_of(b)
    return Comparison(
        a=_side(first),
        b=_side(second),
        totals=tuple(_totals(first, second)),
        layers=tuple(_layer(one.a, one.b) for one in aligned(first.layers, second.layers)),
    )


def encode(comparison: Comparison) -> bytes:
    """The result as JSON: UTF-8, indented, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(comparison), indent=2) + b"\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of the result, made from the types."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Comparison)))


def report_of(source: Source) -> Report:
    """The report of something that is compared.

    Raises:
        InputError: if it has none, or one of another version.
    """
    if isinstance(source, Report):
        return source
    if isinstance(source, str | PathLike):
        return _report_at(path_of(source, "what is compared"))
    report = getattr(source, "report", None)
    if not isinstance(report, Report):
        raise InputError(
            f"{shown(source)} has no report to compare; give a project folder, its {REPORT}, or what match.compile "
            "returned."
        )
    return report


def _report_at(given: Path) -> Report:
    path = given / REPORT if given.is_dir() else given
    try:
        return decode(path.read_bytes())
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path} cannot be read: {reason}; give a project folder or its {REPORT}.") from error
    except ModelError as error:
        raise InputError(f"{path} is no report of this version; compile the model again.") from error


def _side(report: Report) -> Side:
    return Side(report.model.name, report.model.sha256, report.target.name, report.options, report.generator)


def _totals(a: Report, b: Report) -> list[Total]:
    names = ("cycles", "milliseconds", "macs_per_cycle", "l2_peak_bytes", "constant_bytes", "bytes_moved")
    return [
        Total("macs", a.model.macs, b.model.macs),
        *(
            Total(name, getattr(a.totals, name), getattr(b.totals, name))
            for name in (*names, "energy_pj", "inexact_layers")
        ),
    ]


def _layer(a: Sequence[LayerSummary], b: Sequence[LayerSummary]) -> LayerChange:
    """What moved between layers that compute the same; numbers of several are sums, L1 the most."""
    if not a:
        return LayerChange(_names(b), None, _sum(b, "cycles"), (), b_layers=_each(b))
    if not b:
        return LayerChange(_names(a), _sum(a, "cycles"), None, (), a_layers=_each(a))
    alone = len(a) == len(b) == 1

    def own(text: Callable[[LayerSummary], str]) -> tuple[str, str]:
        """What only one layer has."""
        return (text(a[0]), text(b[0])) if alone else ("", "")

    aspects: tuple[tuple[Aspect, str, str], ...] = (
        ("fusion", "" if alone else _names(a), "" if alone else _names(b)),
        ("macs", f"{_sum(a, 'macs'):,}", f"{_sum(b, 'macs'):,}"),
        ("module", _modules(a), _modules(b)),
        ("cycles", f"{_sum(a, 'cycles'):,}", f"{_sum(b, 'cycles'):,}"),
        ("waits", f"{_sum(a, 'wait_cycles'):,}", f"{_sum(b, 'wait_cycles'):,}"),
        ("bound", *own(lambda layer: layer.bound or "")),
        ("weight_bits", _weight_bits(a), _weight_bits(b)),
        ("bytes", f"{sum(map(bytes_moved, a)):,}", f"{sum(map(bytes_moved, b)):,}"),
        ("l1", f"{max(layer.l1_bytes for layer in a):,}", f"{max(layer.l1_bytes for layer in b):,}"),
        ("schedule", *own(lambda layer: _mapping(layer.schedule))),
        ("requantization", *own(lambda layer: _form(layer.requantization))),
    )
    why = _why(a[0], b[0]) if alone and a[0].module != b[0].module else None
    return LayerChange(
        _names(a),
        _sum(a, "cycles"),
        _sum(b, "cycles"),
        tuple(
            Change(aspect, old, new, why if aspect == "module" else None) for aspect, old, new in aspects if old != new
        ),
        None if _names(a) == _names(b) else _names(b),
        _each(a),
        _each(b),
    )


def _each(layers: Sequence[LayerSummary]) -> tuple[str, ...]:
    return tuple(layer.name for layer in layers)


def _names(layers: Sequence[LayerSummary]) -> str:
    return ", ".join(_each(layers))


def _sum(layers: Sequence[LayerSummary], figure: str) -> int:
    return sum(getattr(layer, figure) for layer in layers)


def _modules(layers: Sequence[LayerSummary]) -> str:
    return "+".join(dict.fromkeys(layer.module for layer in layers))


def _why(a: LayerSummary, b: LayerSummary) -> str | None:
    """Why the second does not run the layer where the first does, or the other way about."""
    for side, other, which in ((b, a, "B"), (a, b, "A")):
        offer = next((offer for offer in side.candidates if offer.module == other.module), None)
        if offer is None:
            return f"{which} has no {other.module}"
        if offer.refusal is not None:
            return f"in {which}, {other.module} refused because {offer.refusal}"
    offer = next(offer for offer in b.candidates if offer.module == a.module)
    return None if offer.cycles is None else f"in B, {a.module} would take {offer.cycles:,} cycles"


def _weight_bits(layers: Sequence[LayerSummary]) -> str:
    """The bits of the weights of each operator that has some, joined as the names of operators are."""
    bits = [operator.weight_bits for layer in layers for operator in layer.operators or (layer,)]
    return "+".join(str(one) for one in bits if one is not None)


def _mapping(schedule: ScheduleSummary | None) -> str:
    """Loops, and how many buffers operands have inside how many of them."""
    if schedule is None:
        return ""
    loops = " ".join(f"{loop.dim} {loop.tile}/{loop.extent}" for loop in schedule.loops) or "whole"
    held = " ".join(
        f"{operand.name} {'+'.join(f'{buffer.buffers}@{buffer.depth}' for buffer in operand.buffers)}"
        for operand in schedule.operands
    )
    return f"{loops}; {held}"


def _form(requantization: RequantizationSummary | None) -> str:
    if requantization is None:
        return ""
    return requantization.form + (", exact" if requantization.exact else f", {requantization.share:.2%} off")
