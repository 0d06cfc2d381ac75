"""The prediction of one point; what workers execute."""

from __future__ import annotations

from match.compilation.stopwatch import Stopwatch
from match.compiled.otherwise import otherwise
from match.compiled.sent import ReadNetwork, SentNetwork
from match.compiled.stations import Asked, integer_form, predicted, questions, report
from match.errors import MatchError
from match.report import Report
from match.report.shown import ShownReport
from match.sweeping.schema import Figures


def predict_point(sent: SentNetwork, asked: Asked) -> Figures | str:
    """What is predicted of a point, or a sentence on why it cannot be compiled."""
    try:
        return _figures(_report(sent.network, asked), asked)
    except MatchError as error:
        return str(error)


def predict_report(sent: SentNetwork, asked: Asked) -> ShownReport:
    """The whole report of a point that can be compiled."""
    return ShownReport.of(_report(sent.network, asked, complete=True))


def _report(network: ReadNetwork, asked: Asked, *, complete: bool = False) -> Report:
    stopwatch = Stopwatch()
    model = network.model
    integer = network.integer or integer_form(model, asked, stopwatch)
    made = predicted(integer, model, asked, stopwatch)
    known = otherwise(model, asked, questions(model, asked, stopwatch), made.whole) if complete else None
    return report(made, model, asked, known, stopwatch)


def _figures(made: Report, asked: Asked) -> Figures:
    totals = made.totals
    outputs = made.moved_outputs.outputs if made.moved_outputs else ()
    elements = sum(output.elements for output in outputs)
    return Figures(
        cycles=totals.cycles,
        milliseconds=totals.milliseconds,
        energy_pj=totals.energy_pj,
        l1_bytes=max((module.scratchpad_bytes for module in asked.chip.modules), default=0),
        l1_used_bytes=max((layer.l1_bytes for layer in made.layers), default=0),
        main_bytes=totals.l2_peak_bytes,
        bytes_moved=totals.bytes_moved,
        inexact_layers=totals.inexact_layers,
        moved=sum(output.differing for output in outputs) / elements if elements else 0.0,
        module_cycles={module.name: module.cycles for module in made.target.modules if module.layers},
    )
