"""The table of layers: the columns of `--csv`, which the reader can sort and search."""

from __future__ import annotations

from collections.abc import Sequence

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
    head = joined(_heading(one, rows) for one in names)
    body = joined(_row(place, row, colours) for place, row in enumerate(rows))
    return Markup(
        '<section class="card"><div class="controls"><label>Search <input type="search" id="search" '
        'autocomplete="off" spellcheck="false"></label><output id="found"></output></div>'
        '<div class="scroll tall"><table id="layers"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
        "</section>"
    ).format(head, body)


def _heading(name: str, rows: Sequence[Row]) -> Markup:
    numbers = any(isinstance(row[name], int | float) and not isinstance(row[name], bool) for row in rows)
    return Markup('<th scope="col" aria-sort="none"{}><button type="button">{}</button></th>').format(
        Markup(' class="number"') if numbers else "", name.replace("_", " ")
    )


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
