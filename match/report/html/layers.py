"""The table of layers: the columns of `--csv`, which the reader can sort and search."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from markupsafe import Markup

from match.report.html.palette import unit_colours
from match.report.html.text import joined, link, swatch
from match.report.layer_rows import Row, layer_rows
from match.report.schema import Report

_SHARES = ("peak_share",)


def layers_table(report: Report) -> Markup:
    """A row for each layer, a button in each heading that sorts, a field that searches."""
    rows = layer_rows(report)
    names = list(rows[0]) if rows else ["layer"]
    colours = unit_colours(report.target)
    numbers = [place for place, one in enumerate(names) if any(_is_number(row[one]) for row in rows)]
    lines = [_row(place, row, colours) for place, row in enumerate(rows)]
    return searched([one.replace("_", " ") for one in names], numbers, lines)


def searched(headings: Sequence[str], numbers: Container[int], rows: Iterable[Markup]) -> Markup:
    """A table with headings that sort and a field that searches; `numbers` are the columns that have some."""
    head = joined(
        Markup('<th scope="col" aria-sort="none"{}><button type="button">{}</button></th>').format(
            Markup(' class="number"') if place in numbers else "", heading
        )
        for place, heading in enumerate(headings)
    )
    return Markup(
        '<section class="card"><div class="controls"><label>Search <input type="search" id="search" '
        'autocomplete="off" spellcheck="false"></label><output id="found"></output></div>'
        '<div class="scroll tall"><table id="layers"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
        "</section>"
    ).format(head, joined(rows))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _row(place: int, row: Row, colours: dict[str, str]) -> Markup:
    return Markup('<tr data-layer="{}">{}</tr>').format(
        place, joined(_cell(place, name, value, colours) for name, value in row.items())
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
