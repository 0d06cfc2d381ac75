"""The report on one screen: a line per layer, what the other modules said in footnotes, then the totals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec
from msgspec import UNSET
from rich.console import Console
from rich.text import Text

from match.ir.layer import GATES, GROUP, WIDEST_WEIGHTS, Op
from match.report.advice import moved_text
from match.report.columns import Column, fitted, left_out
from match.report.layer_rows import bytes_moved, peak_share, shapes
from match.report.memory_table import memory_lines, memory_table, program_text
from match.report.pieces import SHARED, shared_cycles
from match.report.schema import (
    CandidateSummary,
    LayerSummary,
    Measurement,
    MemoryPlanSummary,
    OperatorSummary,
    Report,
    RequantizationSummary,
    ScheduleSummary,
)
from match.report.settings import hypothetical, objective_text, settings_text
from match.report.shares import units

FILE_WIDTH = 400
NAME_WIDTH = 40
KIB = 1024
PJ_IN_UJ = 1e6
LEAST_SHARE = 1e-4
INITIALS = {"input": "I", "addend": "A", "weights": "W", "output": "O"}

_MOST_STATES = 6
"""States that are named; of more only how many there are."""


def show(report: Report, console: Console) -> None:
    """Print the report; a terminal is told which columns do not fit it, a file gets all of them."""
    wide = console if console.is_terminal else Console(file=console.file, width=FILE_WIDTH, quiet=console.quiet)
    footnotes = _Footnotes()
    exact = Column[LayerSummary]("exact", exactness, rank=2)
    others = Column[LayerSummary]("other modules", lambda layer: _others(layer, footnotes), rank=4)
    rows = _rows(report.layers)
    columns = [_lined(column) for column in _columns(report, rows, exact, others)]
    table, missing = fitted(columns, [line for row in rows.items() for line in _lines(_as_one(*row))], wide)
    wide.print(Text(_title(report), style="bold"), "", table, "", sep="\n")
    if report.memory is not UNSET:
        steps, missing_steps = memory_table(report.memory, report.target.main_memory, wide)
        wide.print(steps, "", sep="\n")
        missing = (*missing, *missing_steps)
    notes = [] if others.title in missing else footnotes.lines()
    for line in (
        *left_out(missing, "report.json has all of it"),
        *notes,
        *_totals(report, explained=exact.title not in missing),
    ):
        wide.print(line)
    for line in _advice(report):
        wide.print(line, soft_wrap=not console.is_terminal)


class _Line(NamedTuple):
    """A line of the table: a layer, or below it one of its operators, or what the operators of a group share."""

    layer: LayerSummary
    operator: OperatorSummary | None = None


def _lines(layer: LayerSummary) -> list[_Line]:
    shared = shared_cycles(layer)
    rest = () if shared is None else (OperatorSummary(SHARED, macs=0, outputs=0, cycles=shared),)
    return [_Line(layer), *(_Line(layer, operator) for operator in (*layer.operators, *rest))]


def _rows(layers: Sequence[LayerSummary]) -> dict[str, tuple[LayerSummary, ...]]:
    """Layers by the name of their row of the table: the parts of an operator, one after the other, are one."""
    found: dict[str, tuple[LayerSummary, ...]] = {}
    for _, own in groupby(layers, lambda layer: (layer.parts, layer.source if layer.parts > 1 else layer.name)):
        first, *others = own
        found[f"{first.name} in {first.parts} parts" if others else first.name] = (first, *others)
    return found


def _as_one(name: str, pieces: Sequence[LayerSummary]) -> LayerSummary:
    """The parts of an operator as one layer of that name: sums, and the bound of the slowest."""
    if len(pieces) == 1:
        return pieces[0]
    slowest = max(pieces, key=lambda layer: layer.cycles)
    platforms = dict.fromkeys(platform for layer in pieces for platform in layer.platform_cycles)
    return msgspec.structs.replace(
        pieces[0],
        name=name,
        module="+".join(dict.fromkeys(layer.module for layer in pieces if layer.cycles)),
        macs=sum(layer.macs for layer in pieces),
        cycles=sum(layer.cycles for layer in pieces),
        wait_cycles=sum(layer.wait_cycles for layer in pieces),
        bound=slowest.bound,
        output_shapes=pieces[-1].output_shapes,
        constant_bytes=sum(layer.constant_bytes or 0 for layer in pieces) or None,
        removed_channels=sum(layer.removed_channels for layer in pieces),
        exact=all(layer.exact for layer in pieces),
        requantization=_worst(pieces),
        schedule=None,
        operators=(),
        candidates=(),
        platform_cycles={one: sum(layer.platform_cycles.get(one, 0) for layer in pieces) for one in platforms},
    )


def _worst(pieces: Sequence[LayerSummary]) -> RequantizationSummary | None:
    """The requantization of the parts of an operator that moves most outputs."""
    known = [layer.requantization for layer in pieces if layer.requantization]
    return max(known, key=lambda one: (not one.exact, one.share), default=None)


def _lined(column: Column[LayerSummary]) -> Column[_Line]:
    """The column with what it shows of operators."""

    def cell(line: _Line) -> str:
        return column.cell(line.layer) if line.operator is None else _operator_cell(column.title, line.operator)

    return Column[_Line](column.header, cell, column.justify, column.rank, column.folds)


def _operator_cell(title: str, operator: OperatorSummary) -> str:
    if title == "layer":
        return f"  {operator.op}"
    if title == "tensor":
        return _shortened(operator.source)
    if title == "module":
        return operator.module
    if title == "MACs":
        return f"{operator.macs:,}" if operator.macs else ""
    if title == "predicted cycles":
        return "" if operator.cycles is None else f"{operator.cycles:,}"
    if title == "weight bits":
        return _weight_bits(operator)
    if title == "loops (tile/extent)":
        return f"{operator.calls} calls" if operator.calls > 1 else ""
    return ""


def _columns(
    report: Report,
    rows: Mapping[str, Sequence[LayerSummary]],
    exact: Column[LayerSummary],
    others: Column[LayerSummary],
) -> list[Column[LayerSummary]]:
    peaks = {module.name: module.peak_macs for module in report.target.modules}
    return [
        Column[LayerSummary]("layer", lambda layer: _shortened(layer.name), folds=True),
        Column[LayerSummary]("tensor", lambda layer: _shortened(layer.source), rank=1),
        Column[LayerSummary]("shapes", _shapes, rank=1),
        Column[LayerSummary]("module", units),
        Column[LayerSummary]("MACs", lambda layer: f"{layer.macs:,}" if layer.macs else "", "right", rank=6),
        Column[LayerSummary]("predicted\ncycles", lambda layer: f"{layer.cycles:,}", "right"),
        *(_waits(report.memory) if report.memory is not UNSET else ()),
        *(column for measurement in report.measured for column in _compared(measurement, report, rows)),
        Column[LayerSummary](
            "share", lambda layer: f"{_share(layer.cycles, report.totals.cycles):.1%}", "right", rank=7
        ),
        Column[LayerSummary]("ms", lambda layer: f"{1e3 * layer.cycles / report.target.clock_hz:.3f}", "right", rank=1),
        Column[LayerSummary]("MAC per\ncycle", _rate, "right", rank=1),
        Column[LayerSummary]("of\npeak", lambda layer: _of_peak(layer, peaks), "right", rank=1),
        Column[LayerSummary]("bound", lambda layer: layer.bound or "", rank=5),
        Column[LayerSummary](
            "constant\nbytes",
            lambda layer: f"{layer.constant_bytes:,}" if layer.constant_bytes else "",
            "right",
            rank=1,
        ),
        *([Column[LayerSummary]("weight\nbits", _weight_bits, "right", rank=1)] if _has_narrow_weights(report) else []),
        Column[LayerSummary](
            "bytes\nmoved", lambda layer: f"{moved:,}" if (moved := bytes_moved(layer)) else "", "right", rank=1
        ),
        Column[LayerSummary]("loops (tile/extent)", lambda layer: _loops(layer.schedule), rank=3),
        Column[LayerSummary]("buffers", lambda layer: _buffers(layer.schedule), rank=1),
        exact,
        others,
    ]


def _waits(memory: MemoryPlanSummary) -> list[Column[LayerSummary]]:
    """What of the predicted cycles are waits for external memory."""
    header = f"waits\nfor {memory.external_memory.name}"
    return [Column[LayerSummary](header, lambda layer: f"{layer.wait_cycles:,}" if layer.wait_cycles else "", "right")]


def _compared(
    measurement: Measurement, report: Report, rows: Mapping[str, Sequence[LayerSummary]]
) -> list[Column[LayerSummary]]:
    """What was predicted for the platform, if it is less than the chip, and what was counted there."""
    name = measurement.platform

    def predicted(layer: LayerSummary) -> str:
        return f"{layer.platform_cycles[name]:,}" if name in layer.platform_cycles else ""

    own = any(name in layer.platform_cycles for layer in report.layers)
    prediction = [Column[LayerSummary](f"predicted\nfor {name}", predicted, "right", rank=8)] if own else []
    return [*prediction, _measured(measurement, rows)]


def _measured(measurement: Measurement, rows: Mapping[str, Sequence[LayerSummary]]) -> Column[LayerSummary]:
    """What the first of the layers that were counted together shows is what they cost; the others point to it."""
    counts = {group.layers[0]: group.count for group in measurement.layers if group.layers}
    cells: dict[str, str] = {}
    for group in measurement.layers:
        cells |= dict.fromkeys(group.layers[1:], f"in {_shortened(group.layers[0])}" if group.layers else "")
        cells |= dict.fromkeys(group.layers[:1], f"{group.count:,}")
    for name, pieces in rows.items():
        if len(pieces) > 1:
            cells[name] = f"{sum(counts.get(piece.name, 0) for piece in pieces):,}"
    header = f"{measurement.unit}\non {measurement.platform}"
    return Column[LayerSummary](header, lambda layer: cells.get(layer.name, ""), "right", rank=9)


class _Footnotes:
    """Numbers reasons in the order in which they first appear."""

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, str], int] = {}

    def mark(self, module: str, reason: str) -> str:
        number = self._reasons.setdefault((module, reason), len(self._reasons) + 1)
        return f"{module} [{number}]"

    def lines(self) -> list[Text]:
        return [
            Text(f"[{number}] {module} refused because {reason}", style="dim")
            for (module, reason), number in self._reasons.items()
        ]


def _title(report: Report) -> str:
    options = report.options
    settings = f", {text}" if (text := settings_text(options)) else ""
    return (
        f"{report.model.name} on {report.target.name} ({', '.join(options.modules)}; engine {options.engine}, "
        f"objective {objective_text(options)}, numerics {options.numerics}{settings})"
    )


def _shortened(name: str) -> str:
    """Operators that TVM fuses have all their names in one: its beginning and its end are enough here."""
    return name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 15]}...{name[-12:]}"


def _shapes(layer: LayerSummary) -> str:
    removed = f" (-{layer.removed_channels} channels)" if layer.removed_channels else ""
    return f"{shapes(layer.input_shapes)} > {shapes(layer.output_shapes)}{removed}" if layer.output_shapes else ""


def _has_narrow_weights(report: Report) -> bool:
    """Whether a module stores weights in fewer bits than a byte has: else a column would have the same in each line."""
    operators = [operator for layer in report.layers for operator in layer.operators or (layer,)]
    return any(operator.weight_bits not in (None, WIDEST_WEIGHTS) for operator in operators)


def _weight_bits(operator: LayerSummary | OperatorSummary) -> str:
    return "" if operator.weight_bits is None else str(operator.weight_bits)


def _rate(layer: LayerSummary) -> str:
    return f"{layer.macs / layer.cycles:.2f}" if layer.macs and layer.cycles else ""


def _of_peak(layer: LayerSummary, peaks: Mapping[str, int | None]) -> str:
    reached = peak_share(layer, peaks)
    return "" if reached is None else f"{reached:.1%}"


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _loops(schedule: ScheduleSummary | None) -> str:
    if schedule is None:
        return ""
    return " ".join(f"{loop.dim} {loop.tile}/{loop.extent}" for loop in schedule.loops) or "whole"


def _buffers(schedule: ScheduleSummary | None) -> str:
    if schedule is None:
        return ""
    return " ".join(
        f"{INITIALS.get(operand.name, operand.name)}{operand.buffers[-1].buffers}"
        for operand in schedule.operands
        if operand.buffers
    )


def exactness(layer: LayerSummary) -> str:
    """Whether a layer computes the reference's numbers, and how far off it is if not."""
    if layer.exact:
        return "yes"
    if layer.moved is not None:
        return f"moved {layer.moved.mean:.2f}, at most {layer.moved.largest:.0f}"
    if _is_real_in_integers(layer):
        return "within 1"
    if layer.requantization is None:
        return "no"
    share = layer.requantization.share
    return f"{share:.2%} off" if share >= LEAST_SHARE else f"<{LEAST_SHARE:.2%} off"


def _others(layer: LayerSummary, footnotes: _Footnotes) -> str:
    return ", ".join(_other(candidate, footnotes) for candidate in layer.candidates if candidate.module != layer.module)


def _other(candidate: CandidateSummary, footnotes: _Footnotes) -> str:
    if candidate.cycles is None:
        return footnotes.mark(candidate.module, candidate.refusal or "it made no offer")
    return f"{candidate.module} {candidate.cycles:,}"


def _totals(report: Report, *, explained: bool) -> list[Text]:
    totals, target = report.totals, report.target
    phases = totals.compile_seconds
    modules = ", ".join(
        f"{module.name} {_share(module.cycles, totals.cycles):.1%} in {_count(module.layers, 'layer')}"
        for module in target.modules
        if module.layers
    )
    times = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in phases.items())
    return [
        Text(
            f"Predicted: {totals.cycles:,} cycles, {totals.milliseconds:.3f} ms at {target.clock_hz / 1e6:g} MHz, "
            f"{totals.macs_per_cycle:.2f} MAC/cycle for {report.model.macs:,} MACs ({modules}).",
            style="bold",
        ),
        *map(Text, _causes(report)),
        *(line for measurement in report.measured for line in _measured_total(measurement, report)),
        *map(Text, _memory(report)),
        *map(Text, _states(report)),
        *map(Text, _removed(report)),
        *map(Text, _energy(report)),
        *map(Text, _exactness(report, explained=explained)),
        *(Text(f"Validated: {one.compared}. {one.found[0]}") for one in report.validated),
        Text(f"Compiled in {sum(phases.values()):.2f} s ({times})."),
    ]


def warnings(report: Report) -> list[str]:
    """What is no success: sentences about modules that take nothing, and memories that the chip has less of."""
    return [*hypothetical(report), *(one.sentence for one in report.advice if one.warning)]


def _advice(report: Report) -> list[Text]:
    """The advice, ranked; a module that takes nothing is a warning, and so is a chip that does not exist."""
    return [
        *(Text(f"Warning: {sentence}", style="bold yellow") for sentence in hypothetical(report)),
        *(
            Text(f"{'Warning' if one.warning else 'Advice'} {rank}: {one.sentence}", style="bold yellow" * one.warning)
            for rank, one in enumerate(report.advice, 1)
        ),
    ]


def _measured_total(measurement: Measurement, report: Report) -> Iterator[Text]:
    name = measurement.platform
    own = [layer.platform_cycles[name] for layer in report.layers if name in layer.platform_cycles]
    compared = f"{sum(own):,} are predicted for it, which the chip's {report.totals.cycles:,} are not; " if own else ""
    yield Text(
        f"Measured on {name}: {measurement.total:,} {measurement.unit} for one inference (mean of "
        f"{measurement.samples}), {compared}by {measurement.command}."
    )
    if measurement.counted:
        yield Text(measurement.counted)


def _memory(report: Report) -> list[str]:
    totals, main = report.totals, report.target.main_memory
    if report.memory is not UNSET:
        return [*memory_lines(report.memory, main, totals)]
    peak = f"Memory: {main.name} peak {totals.l2_peak_bytes / KIB:.1f} of {main.bytes / KIB:.0f} KiB"
    constants = f"{totals.constant_bytes / KIB:.1f}"
    if (flash := report.target.flash) is not None:
        own = program_text(totals)
        inside = (
            "" if totals.inside_bytes is None else f" ({totals.inside_bytes / KIB:.1f} with inputs and outputs inside)"
        )
        return [f"{peak}{inside}; constants take {constants} of {flash.bytes / KIB:.0f} KiB of {flash.name}{own}."]
    moved = f"{totals.bytes_moved / KIB:.1f} KiB moved between it and the scratchpads"
    return [f"{peak} ({constants} KiB of it constants){program_text(totals)}; {moved}."]


def _causes(report: Report) -> Iterator[str]:
    """What the cycles go into, in one line."""
    total = report.totals.cycles
    outside = "external memory" if report.memory is UNSET else report.memory.external_memory.name
    names = {"offload": "offload and calls", "external memory": f"waits for {outside}"}
    parts = [f"{names.get(cause, cause)} {cycles / total:.0%}" for cause, cycles in report.totals.causes.items()]
    if parts:
        yield f"Cycles: {', '.join(parts)}."


def _states(report: Report) -> Iterator[str]:
    """What the network keeps from one inference to the next."""
    states = report.model.states
    if states:
        named = ", ".join(f"{one.name} {one.bytes:,}" for one in states[:_MOST_STATES])
        more = f", and {len(states) - _MOST_STATES} more" if len(states) > _MOST_STATES else ""
        total = sum(one.bytes for one in states)
        yield f"States: {total:,} bytes from one inference to the next ({named}{more})."


def _removed(report: Report) -> list[str]:
    layers = [_as_one(*row) for row in _rows(report.layers).items()]
    operators = [operator for layer in layers for operator in layer.operators or (layer,) if operator.macs]
    channels = [operator.removed_channels for operator in operators if operator.removed_channels]
    if not channels:
        return []
    return [
        f"Removed: {_count(sum(channels), 'channel')} in {_count(len(channels), 'operator')}, proven to be constant or "
        "read by nobody, are not computed."
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _energy(report: Report) -> Iterator[str]:
    """What one inference consumes, where the target has figures."""
    energy, by = report.totals.energy_pj, ", from estimates" if report.target.estimated_energy else ""
    if energy is not None:
        yield f"Energy: {energy / PJ_IN_UJ:.3f} µJ predicted{by}."


def _exactness(report: Report, *, explained: bool) -> list[str]:
    """What is said of layers that are not known to compute the reference's numbers.

    `explained` tells whether the column has to be.
    """
    if not report.totals.inexact_layers:
        return ["Exact: every layer computes the reference's numbers."]
    changed = [layer for layer in report.layers if layer.moved is not None]
    quantized = sum(map(_cells, changed))
    rescaled = sum(not _cells(layer) for layer in changed)
    inexact = [layer for layer in report.layers if not layer.exact and layer.moved is None]
    scaled = sum(layer.requantization is not None and not layer.requantization.exact for layer in inexact)
    in_integers = sum(_is_real_in_integers(layer) for layer in inexact)
    lines: list[str] = []
    steps = "; 'moved' are steps of the model's tensor, on average and at most, over random inputs"
    if quantized:
        lines.append(
            f"Quantized: {_count(quantized, 'recurrent layer')} with weights and states of 8 bits, where the model has "
            f"floating point{steps * explained}."
        )
    if rescaled:
        lines.append(f"Rescaled: {_count(rescaled, 'layer')} with other numbers than the model's{steps * explained}.")
    if scaled:
        off = "; 'off' is the share of reachable accumulators between the clamps whose output moves"
        lines.append(f"Requantization: not exact in {_count(scaled, 'layer')}{off if explained else ''}.")
    if report.moved_outputs:
        lines.append(f"Outputs that this moves: {moved_text(report)}.")
    if in_integers:
        lines.append(
            f"In integers: {_count(in_integers, 'layer')} where the reference has floating point, with outputs within "
            "one step of its."
        )
    others = len(inexact) - scaled - in_integers
    if others:
        lines.append(
            f"Floating point: {_count(others, 'layer')} may round otherwise than the reference; "
            "what that moves is not known."
        )
    return lines


def _cells(layer: LayerSummary) -> int:
    """The recurrent operators of a layer."""
    names = [operator.op for operator in layer.operators] or [layer.op]
    return sum(names.count(op.value) for op in GATES)


def _is_real_in_integers(layer: LayerSummary) -> bool:
    """Whether a layer that is not exact is so because its reference computes it in floating point, and it does not."""
    exactly_scaled = layer.requantization is None or layer.requantization.exact
    return exactly_scaled and not layer.floating and (layer.op == GROUP or layer.op in set(Op))
