"""A page: everything in one HTML file, which asks the network for nothing."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from os import PathLike
from pathlib import Path

import msgspec
from markupsafe import Markup

from match.files.output import check_ending, whole_file
from match.report.html.cycles import cycles_chart
from match.report.html.details import details
from match.report.html.figures import Chart
from match.report.html.graph import graph
from match.report.html.layers import layers_table
from match.report.html.legible import legible
from match.report.html.library import library
from match.report.html.measured import measured_charts, measured_panel
from match.report.html.memory import has_memory, memory_charts, memory_panel
from match.report.html.overview import overview
from match.report.html.roofline import roofline_charts, roofline_panel
from match.report.html.text import joined
from match.report.html.timeline import timeline_chart, timeline_panel
from match.report.schema import Report
from match.target.arguments import path_of

HTML_ENDINGS = (".html", ".htm")

_FRAME = 900  # pixels: the height in a notebook
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)

_PAGE = Markup("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="generator" content="{generator}">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<header>
<div><h1><bdi>{heading}</bdi></h1><p>{subtitle}</p></div>
<button type="button" id="theme" aria-label="Light or dark">◐</button>
</header>
<noscript><p>This page draws its pictures with scripts, which are switched off.</p></noscript>
<nav role="tablist" aria-label="Parts of the report">{tabs}</nav>
<div class="layout">
<main>{panels}</main>
<aside id="details" aria-label="Details of a layer" hidden>
<div class="controls"><button type="button" id="previous" aria-label="Layer before">←</button>
<button type="button" id="next" aria-label="Next layer">→</button>
<button type="button" id="close" aria-label="Close details">×</button></div>
<div id="about">{details}</div>
</aside>
</div>
<p id="told" class="unseen" role="status"></p>
<script type="application/json" id="charts">{charts}</script>
<script>{library}</script>
<script>{script}</script>
</body>
</html>
""")


@dataclass(frozen=True)
class Tab:
    """A part of the page: its name in the page's address, what it is called, and what is in it."""

    name: str
    title: str
    content: Markup


@dataclass(frozen=True)
class Page:
    """A page; a notebook shows it."""

    html: str

    def save(self, path: str | PathLike[str]) -> None:
        """Write it into a file.

        Raises:
            OptionError: if its name does not end in .html.
            OutputError: if it cannot be written.
        """
        file = path_of(path, "the file of a page")
        check_ending(file, HTML_ENDINGS, "a page")
        with whole_file(file) as unfinished:
            unfinished.write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Page of {len(self.html.encode()):,} bytes; `save` writes it>"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style does not touch the notebook."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: {_FRAME}px; border: 0" '
            'title="Report of a compilation"></iframe>'
        )


def page(given: Report) -> Page:
    """A report as a page.

    Raises:
        ToolchainError: if the libraries that draw are not installed.
    """
    report = legible(given)
    cycles = cycles_chart(report)
    charts = [cycles]
    tabs = [
        Tab("overview", "Overview", overview(report, cycles)),
        Tab("graph", "Graph", graph(report)),
        Tab("layers", "Layers", layers_table(report)),
    ]
    if report.timeline is not None:
        timeline = timeline_chart(report, report.timeline)
        charts.append(timeline)
        tabs.append(Tab("timeline", "Timeline", timeline_panel(report, timeline, report.timeline)))
    if roofs := roofline_charts(report):
        charts += [chart for _, chart in roofs]
        tabs.append(Tab("roofline", "Roofline", roofline_panel(roofs)))
    if has_memory(report):
        memories = memory_charts(report)
        charts += [chart for _, chart in memories]
        tabs.append(Tab("memory", "Memory", memory_panel(report, memories)))
    if report.measured:
        counted = measured_charts(report)
        charts += [chart for _, chart in counted]
        tabs.append(Tab("measured", "Measured", measured_panel(report, counted)))
    clock = f"{report.target.clock_hz / 1e6:g} MHz"
    subtitle = f"on {report.target.name} at {clock}: {report.totals.milliseconds:,.3f} ms predicted"
    return assembled(report.model.name, subtitle, report.generator, tabs, charts, details(report))


def write_page(path: Path, report: Report) -> None:
    """Write a report as a page into a file. Raises as `page` and `Page.save`."""
    page(report).save(path)


def assembled(
    title: str, subtitle: str, generator: str, tabs: Sequence[Tab], charts: Sequence[Chart], about: Markup
) -> Page:
    """A page of tabs; `about` are the details of layers."""
    buttons = joined(
        Markup(
            '<button type="button" role="tab" id="tab-{0}" aria-controls="panel-{0}" aria-selected="false" '
            'tabindex="-1">{1}</button>'
        ).format(tab.name, tab.title)
        for tab in tabs
    )
    panels = joined(
        Markup('<div role="tabpanel" id="panel-{0}" aria-labelledby="tab-{0}" tabindex="0" hidden>{1}</div>').format(
            tab.name, tab.content
        )
        for tab in tabs
    )
    return Page(
        str(
            _PAGE.format(
                policy=_POLICY,
                generator=generator,
                title=f"{title} {subtitle}",
                heading=title,
                subtitle=subtitle,
                style=Markup(_file("page.css")),
                tabs=buttons,
                panels=panels,
                details=about,
                charts=_json({chart.name: chart.item for chart in charts}),
                library=_script(_bokeh()),
                script=_script(_file("page.js")),
            )
        )
    )


def _json(value: object) -> Markup:
    """JSON inside of a script element, which nothing in it can end."""
    text = msgspec.json.encode(value).decode()
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _script(code: str) -> Markup:
    """Code inside of a script element."""
    assert "</script" not in code.lower()
    return Markup(code)


def _bokeh() -> str:
    """The part of BokehJS that draws figures."""
    made = library("bokeh.resources").Resources(mode="inline", components=["bokeh"])
    (code,) = made.js_raw[:1]
    return code


def _file(name: str) -> str:
    return (resources.files("match.report.html") / name).read_text(encoding="utf-8")
