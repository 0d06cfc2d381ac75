"""The table of layers: the columns of `--csv`, which the reader can sort and search."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from markupsafe import Markup

from match.report.html.palette import unit_colours
from match.report.html.text import joined, link, swatch
from match.report.layer_rows import Row, layer_rows
from match.report.pieces import SHARED, shared_cycles
from match.report.schema import LayerSummary, Report

_SHARES = ("peak_share",)
_BOX = Markup('<label><input type="checkbox" id="operators" checked> Operators of chains and groups</label>')


def layers_table(report: Report) -> Markup:
    """The table has one row for each layer. Click a heading to sort it; type in the field to search it."""
    rows = layer_rows(report)
    peaks = {module.name: module.peak_macs for module in report.target.modules}
    names = list(rows[0]) if rows else ["layer"]
    colours = unit_colours(report.target)
    numbers = [place for place, one in enumerate(names) if any(_is_number(row[one]) for row in rows)]
    lines = [
        line
        for place, (row, layer) in enumerate(zip(rows, report.layers, strict=True))
        for line in (_row(place, row, colours), *_operators(place, row, layer, report.target.clock_hz, peaks, colours))
    ]
    return searched([one.replace("_", " ") for one in names], numbers, lines, any(x.operators for x in report.layers))


def searched(
    headings: Sequence[str], numbers: Container[int], rows: Iterable[Markup], operators: bool = False
) -> Markup:
    """A table with headings that sort and a field that searches.

    `numbers` are the columns that have some; `operators` tells whether rows have operators below them, which a box
    then shows or hides.
    """
    head = joined(
        Markup('<th scope="col" aria-sort="none"{}><button type="button">{}</button></th>').format(
            Markup(' class="number"') if place in numbers else "", heading
        )
        for place, heading in enumerate(headings)
    )
    return Markup(
        '<section class="card"><div class="controls"><label>Search <input type="search" id="search" '
        'autocomplete="off" spellcheck="false"></label>{}<output id="found"></output></div>'
        '<div class="scroll tall"><table id="layers"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
        "</section>"
    ).format(_BOX if operators else "", head, joined(rows))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _row(place: int, row: Row, colours: dict[str, str]) -> Markup:
    return Markup('<tr data-layer="{}">{}</tr>').format(
        place, joined(_cell(place, name, value, colours) for name, value in row.items())
    )


def _operators(
    place: int, row: Row, layer: LayerSummary, clock_hz: float, peaks: Mapping[str, int | None], colours: dict[str, str]
) -> Iterator[Markup]:
    """The operators of a chain or a group in the columns of their layer, and what those of a group share."""
    for one in layer.operators:
        known: Row = {
            "layer": one.op,
            "source": one.source,
            "op": one.op,
            "module": layer.module,
            "removed_channels": one.removed_channels,
            "macs": one.macs,
            "weight_bits": one.weight_bits,
            **_taken(one.cycles, one.macs, clock_hz, peaks.get(layer.module)),
        }
        yield _below(place, {column: known.get(column) for column in row}, colours)
    if (shared := shared_cycles(layer)) is not None:
        told: Row = {
            "layer": SHARED,
            "source": "offload, transfers, waits",
            "module": layer.module,
            **_taken(shared, 0, clock_hz, None),
        }
        yield _below(place, {column: told.get(column) for column in row}, colours)


def _taken(cycles: int | None, macs: int, clock_hz: float, peak: int | None) -> Row:
    """The columns that follow from cycles, where these are known."""
    if cycles is None:
        return {}
    rate = macs / cycles if macs and cycles else None
    return {
        "cycles": cycles,
        "milliseconds": 1e3 * cycles / clock_hz,
        "macs_per_cycle": rate,
        "peak_share": rate / peak if rate and peak else None,
    }


def _below(place: int, row: Row, colours: dict[str, str]) -> Markup:
    return Markup('<tr data-layer="{}" class="operator">{}</tr>').format(
        place, joined(_cell(place, column, value, colours) for column, value in row.items())
    )


def _cell(place: int, name: str, value: str | float | None, colours: dict[str, str]) -> Markup:
    if name == "layer":
        return Markup('<th scope="row">{}</th>').format(link(place, str(value)))
    if name == "module":
        return Markup("<td>{}{}</td>").format(swatch(colours.get(str(value), "none")), value)
    if value is None:
        return Markup("<td></td>")
    if isinstance(value, bool):
        return Markup("<td>{}</td>").format("yes" if value else "no")
    if isinstance(value, str):
        return Markup("<td><bdi>{}</bdi></td>").format(value)
    style = ".1%" if name in _SHARES else "," if isinstance(value, int) else ",.3f"
    return Markup('<td class="number" data-value="{}">{}</td>').format(value, format(value, style))
