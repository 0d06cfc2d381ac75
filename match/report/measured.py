"""Which layers of the report the calls of a run belong to, and what these cost.

A layer on a module is one C function with the layer's number in its name. TVM makes functions of what is left, by rules
of its own: an addition may become a part of the convolution in front of it, padding a function beside it, and where
branches meet functions come in another order. They are told apart by their multiply-accumulates and operators.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from match.codegen.network import Call
from match.dispatch.plan import CPU, WITHOUT_CODE
from match.errors import MatchError
from match.report.file import read_report, write_report
from match.report.schema import REPORT, LayerSummary, MeasuredLayers, Measurement, Report
from match.run.counts import Counts

_ON_MODULE = re.compile(r"(?!tvmgen_)\w+_(?P<number>\d+)_[a-z]\w*")

_TELLING = {
    "avg_pool2d": ("nn.avg_pool2d", "sum"),
    "max_pool2d": ("nn.max_pool2d",),
    "lookup": ("take",),
    "softmax": ("max",),
    "normalize": ("sum",),
}
"""By operator of a layer, the Relay operators that show it: a C function that computes it has one of them."""

_LIKE = {
    "add": ("multiply", "cast", "multiply", "add"),
    "quantize": ("divide", "clip"),
    "dequantize": ("subtract", "cast", "multiply"),
    "dequantize_sums": ("cast", "multiply", "add"),
}
"""What is somewhere in a function that computes such a layer on the control core."""


@dataclass
class _Group:
    """Calls and the layers that they compute, both by number."""

    calls: list[int]
    layers: list[int] = field(default_factory=list[int])
    by_tvm: bool = True


def measurement(layers: Sequence[LayerSummary], counts: Counts) -> Measurement:
    """What a run of the network with these layers counted, layer by layer."""
    calls = [counted.call for counted in counts.calls]
    return Measurement(
        platform=counts.platform,
        unit=counts.unit,
        command=counts.command,
        samples=counts.samples,
        total=counts.total,
        layers=tuple(
            MeasuredLayers(
                tuple(layers[number].name for number in sorted(group.layers)),
                tuple(calls[number].function for number in group.calls),
                sum(counts.calls[number].count for number in group.calls),
                tuple(layers[number].source for number in sorted(group.layers)),
            )
            for group in _groups(layers, calls)
        ),
        counted=counts.counted,
    )


def measured(report: Report, found: Measurement) -> Report:
    """The report with a measurement, in the place of an older one on the same platform."""
    others = (other for other in report.measured if other.platform != found.platform)
    return msgspec.structs.replace(report, measured=(*others, found))


def with_earlier(report: Report, project: Path) -> Report:
    """The report with the measurements and sizes in that of a project of the same C, if this can be read."""
    try:
        before = read_report(project / REPORT)
    except MatchError:
        return report
    return msgspec.structs.replace(report, measured=before.measured, sizes=before.sizes)


def add_to_report(path: Path, counts: Counts) -> Report:
    """Write what a run counted into the report of its project, which is returned.

    Raises:
        InputError: if there is no report.
        ModelError: if it is of another version.
        OutputError: if it cannot be written.
    """
    report = read_report(path)
    new = measured(report, measurement(report.layers, counts))
    write_report(path, new)
    return new


def _groups(layers: Sequence[LayerSummary], calls: Sequence[Call]) -> list[_Group]:
    """Every call in one group, in order; a layer that only gives a tensor another shape, which no call does, in none.

    A layer that no call tells of is a part of the one in front of it. A call that tells of no layer belongs to the one
    in front of it, but for padding, which belongs to the next.
    """
    groups: list[_Group] = []
    waiting: list[int] = []
    missing = [number for number, layer in enumerate(layers) if layer.module == CPU and layer.op not in WITHOUT_CODE]
    # Names are numbered as the graph was; a layer whose sums the core requantizes has become two.
    on_modules = {int(layer.name.rpartition("_")[2]): n for n, layer in enumerate(layers) if layer.module != CPU}

    def share(passed: list[int]) -> None:
        if groups and groups[-1].by_tvm:
            groups[-1].layers += passed
        elif passed and waiting:
            groups.append(_Group(list(waiting), passed))
            waiting.clear()

    for number, call in enumerate(calls):
        module = _ON_MODULE.fullmatch(call.function)
        found = [on_modules[int(module["number"])]] if module else _told_of(call, layers, missing)
        if found:
            passed = [other for other in missing if other < found[0] and not layers[other].macs]
            missing = [other for other in missing if other not in (*passed, *found)]
            share(passed)
            groups.append(_Group([*waiting, number], found, by_tvm=module is None))
            waiting.clear()
        elif groups and groups[-1].by_tvm and "nn.pad" not in call.operators:
            groups[-1].calls.append(number)
        else:
            waiting.append(number)
    share(missing)
    if waiting:
        groups.append(_Group(waiting))
    return groups


def _told_of(call: Call, layers: Sequence[LayerSummary], missing: Sequence[int]) -> list[int]:
    """The layers, of those that are missing, that a call on the control core computes as far as it tells."""
    if call.macs:
        return [number for number in missing if layers[number].macs == call.macs][:1]
    found: list[int] = []
    begin = 0
    for number in missing:
        if layers[number].macs:
            continue
        end = _end_of(layers[number].op, call.operators, begin)
        if end:
            found.append(number)
            begin = end
        elif found:
            break
    return found


def _end_of(op: str, operators: Sequence[str], begin: int) -> int:
    """Where, among a function's operators from `begin`, those of a layer end; 0 if they are not there."""
    rest = list(operators[begin:])
    if op in _TELLING:
        return next((begin + place + 1 for place, name in enumerate(rest) if name in _TELLING[op]), 0)
    own = list(_LIKE.get(op, op.split("+")))
    places = range(len(rest)) if op in _LIKE else range(1)
    return next((begin + place + len(own) for place in places if rest[place : place + len(own)] == own), 0)
