"""Numbers and small pieces of HTML; `Markup.format` escapes what is put into it."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

KIB = 1024


def joined(parts: Iterable[Markup]) -> Markup:
    """Pieces one after the other."""
    return Markup("").join(parts)


def number(value: float | None) -> str:
    """A number with thousands apart; nothing for none."""
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3f}"


def size(count: float) -> str:
    """Bytes in the unit that reads best."""
    if count < KIB:
        return f"{count:,.0f} B"
    return f"{count / KIB:,.1f} KiB" if count < KIB * KIB else f"{count / KIB / KIB:,.2f} MiB"


def share(part: float, whole: float) -> str:
    """A part in percent; nothing of nothing."""
    return f"{part / whole:.1%}" if whole else ""


def name(text: str) -> Markup:
    """A name from a model, which may be written from right to left."""
    return Markup("<bdi>{}</bdi>").format(text)


def link(place: int, text: str) -> Markup:
    """A button that selects a layer."""
    return Markup('<button type="button" class="link" data-layer="{}"><bdi>{}</bdi></button>').format(place, text)


def facts(rows: Iterable[tuple[str, str | Markup]]) -> Markup:
    """Terms and what they are, without those that say nothing."""
    shown = (Markup("<dt>{}</dt><dd>{}</dd>").format(term, value) for term, value in rows if value)
    return Markup("<dl>{}</dl>").format(joined(shown))


def table(headings: Iterable[str], rows: Iterable[Iterable[str | Markup | int | float | None]]) -> Markup:
    """A small table; numbers are on the right."""
    cells = [list(row) for row in rows]
    head = joined(
        Markup('<th scope="col"{}>{}</th>').format(
            Markup(' class="number"') if any(isinstance(row[column], int | float) for row in cells) else "", one
        )
        for column, one in enumerate(headings)
    )
    body = joined(Markup("<tr>{}</tr>").format(joined(map(_cell, row))) for row in cells)
    return Markup('<div class="scroll"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>').format(
        head, body
    )


def _cell(value: str | Markup | float | None) -> Markup:
    if isinstance(value, int | float):
        return Markup('<td class="number">{}</td>').format(number(value))
    return Markup("<td>{}</td>").format("" if value is None else value)


def swatch(colour: str) -> Markup:
    """A colour of a legend."""
    return Markup('<i class="swatch" style="background:{}"></i>').format(colour)


def stacked(title: str, parts: Iterable[tuple[str, float, str]], unit: str) -> Markup:
    """A bar of parts, each with its name, amount and colour, and a legend with the numbers."""
    known = [part for part in parts if part[1]]
    whole = sum(amount for _, amount, _ in known)
    bar = joined(
        Markup('<i style="flex-grow:{:.6f};background:{}" title="{}"></i>').format(
            amount / whole, colour, f"{label}: {amount:,.0f} {unit}, {share(amount, whole)}"
        )
        for label, amount, colour in known
    )
    legend = joined(
        Markup("<tr><th scope='row'>{}{}</th><td class='number'>{}</td><td class='number'>{}</td></tr>").format(
            swatch(colour), label, number(amount), share(amount, whole)
        )
        for label, amount, colour in known
    )
    return Markup(
        '<figure class="stacked"><figcaption>{}</figcaption><div class="bar" aria-hidden="true">{}</div>'
        "<table>{}</table></figure>"
    ).format(title, bar, legend)


def meter(label: str, parts: Iterable[tuple[str, float, str]], whole: float, note: str = "") -> Markup:
    """How much of something is taken, and by what."""
    known = [part for part in parts if part[1]]
    used = sum(amount for _, amount, _ in known)
    bar = joined(
        Markup('<i style="width:{:.3f}%;background:{}" title="{}"></i>').format(
            100 * amount / whole if whole else 0, colour, f"{what}: {size(amount)}"
        )
        for what, amount, colour in known
    )
    legend = Markup(", ").join(
        Markup("{}{} {}").format(swatch(colour), what, size(amount)) for what, amount, colour in known
    )
    return Markup(
        '<div class="meter"><div class="head"><strong>{}</strong><span>{} of {} ({})</span></div>'
        '<div class="bar" aria-hidden="true">{}</div><p>{}{}</p></div>'
    ).format(label, size(used), size(whole), share(used, whole) or "0%", bar, legend, note)
