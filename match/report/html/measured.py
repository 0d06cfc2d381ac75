"""What was measured, beside what was predicted."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from match.report.beside import Beside, beside
from match.report.html.bars import bars_beside
from match.report.html.figures import Chart
from match.report.html.text import joined, link, table
from match.report.schema import Measurement, Report

_COLOURS = {"predicted": "#56b4e9", "counted": "#d55e00"}


def measured_charts(report: Report) -> list[tuple[Measurement, Chart]]:
    """A picture for each platform."""
    return [
        (one, _chart(report, one, beside(report, one), f"measured-{place}"))
        for place, one in enumerate(report.measured)
    ]


def measured_panel(report: Report, charts: Sequence[tuple[Measurement, Chart]]) -> Markup:
    """For each platform the picture, and a table."""
    return joined(
        Markup('<section class="card"><h2>{}</h2><p class="hint">{}</p>{}{}</section>').format(
            f"On {one.platform}", _sentence(one), chart.content, _table(report, one)
        )
        for one, chart in charts
    )


def _sentence(one: Measurement) -> str:
    counted = f" {one.counted}" if one.counted else ""
    return f"{one.total:,} {one.unit} for one inference, the mean of {one.samples}, by {one.command}.{counted}"


def _table(report: Report, one: Measurement) -> Markup:
    rows = [
        (
            Markup(", ").join(link(place, report.layers[place].name) for place in group.places)
            or ", ".join(group.functions),
            group.predicted,
            group.counted,
            f"{group.counted / group.predicted:.2f}" if group.predicted else "",
        )
        for group in beside(report, one)
    ]
    return table(("layers", "predicted cycles", f"counted {one.unit}", "counted / predicted"), rows)


def _chart(report: Report, one: Measurement, groups: Sequence[Beside], name: str) -> Chart:
    labels = [
        (
            group.places[0] if group.places else -1,
            ", ".join(report.layers[place].name for place in group.places) or ", ".join(group.functions),
        )
        for group in groups
    ]
    amounts = {"counted": [group.counted for group in groups]}
    if any(group.predicted is not None for group in groups):
        amounts = {"predicted": [group.predicted or 0 for group in groups], **amounts}
    what = f"What was counted on {one.platform} for each layer, beside what was predicted"
    return bars_beside(name, labels, amounts, _COLOURS, one.unit, what)
