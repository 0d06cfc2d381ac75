"""The report on one screen: a line per layer, what the other modules said in footnotes, then the totals."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from match.report.schema import CandidateSummary, LayerSummary, Report, ScheduleSummary

PLAIN_WIDTH = 150
KIB = 1024


def show(report: Report, console: Console) -> None:
    """Print the report; where the console is no terminal, at a width that cuts nothing off."""
    width = console.width if console.is_terminal else max(console.width, PLAIN_WIDTH)
    console.print(render(report), width=width, soft_wrap=False)


def render(report: Report) -> RenderableType:
    """The report as something rich can print."""
    footnotes = _Footnotes()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=_title(report), title_justify="left", title_style="bold")
    table.add_column("layer", overflow="fold")
    table.add_column("operator")
    table.add_column("module")
    table.add_column("MACs", justify="right")
    table.add_column("predicted\ncycles", justify="right")
    table.add_column("share", justify="right")
    table.add_column("bound")
    table.add_column("L1 bytes", justify="right")
    table.add_column("loops (tile/extent)")
    table.add_column("buffers")
    table.add_column("exact")
    table.add_column("other modules")
    for layer in report.layers:
        table.add_row(
            layer.name,
            layer.op,
            layer.module,
            f"{layer.macs:,}" if layer.macs else "",
            f"{layer.cycles:,}",
            f"{_share(layer.cycles, report.totals.cycles):.1%}",
            layer.bound or "",
            f"{layer.l1_bytes:,}" if layer.l1_bytes else "",
            _loops(layer.schedule),
            _buffers(layer.schedule),
            _exact(layer),
            "  ".join(_other(layer, candidate, footnotes) for candidate in _others(layer)),
        )
    return Group(table, *footnotes.lines(), *_totals(report))


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
    return (
        f"{report.model.name} on {report.target.name} ({', '.join(options.modules)}; engine {options.engine}, "
        f"objective {options.objective}, numerics {options.numerics})"
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _loops(schedule: ScheduleSummary | None) -> str:
    if schedule is None:
        return ""
    return " ".join(f"{loop.dim} {loop.tile}/{loop.extent}" for loop in schedule.loops) or "whole"


def _buffers(schedule: ScheduleSummary | None) -> str:
    if schedule is None:
        return ""
    return " ".join(f"{operand.name}×{operand.buffers[-1].buffers}" for operand in schedule.operands)


def _exact(layer: LayerSummary) -> str:
    if layer.requantization is None:
        return ""
    return "yes" if layer.requantization.exact else f"{layer.requantization.share:.2%} ±{layer.requantization.max_step}"


def _others(layer: LayerSummary) -> list[CandidateSummary]:
    return [candidate for candidate in layer.candidates if candidate.module != layer.module]


def _other(layer: LayerSummary, candidate: CandidateSummary, footnotes: _Footnotes) -> str:
    if candidate.cycles is None:
        return footnotes.mark(candidate.module, candidate.refusal or "it made no offer")
    slower = f" ({candidate.cycles / layer.cycles:.1f}×)" if layer.cycles else ""
    return f"{candidate.module} {candidate.cycles:,}{slower}"


def _totals(report: Report) -> list[Text]:
    totals, target = report.totals, report.target
    phases = totals.compile_seconds
    modules = ", ".join(
        f"{module.name} {_share(module.cycles, totals.cycles):.1%} of the cycles in {module.layers} layers"
        for module in target.modules
        if module.layers
    )
    times = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in phases.items())
    return [
        Text(
            f"Predicted: {totals.cycles:,} cycles, {totals.milliseconds:.3f} ms at {target.clock_hz / 1e6:g} MHz, "
            f"{totals.macs_per_cycle:.2f} MAC/cycle for {report.model.macs:,} MACs; {modules}.",
            style="bold",
        ),
        Text(
            f"Memory: {target.main_memory.name} peak {totals.l2_peak_bytes / KIB:.1f} of "
            f"{target.main_memory.bytes / KIB:.0f} KiB, of which constants {totals.constant_bytes / KIB:.1f} KiB; "
            f"{totals.bytes_moved / KIB:.1f} KiB moved between it and the scratchpads."
        ),
        Text(
            "Requantization: exact in every layer on a module."
            if not totals.inexact_layers
            else f"Requantization: {totals.inexact_layers} layers are not exact; see the column for the share of "
            "accumulators whose output differs."
        ),
        Text(f"Compiled in {sum(phases.values()):.2f} s ({times})."),
    ]
