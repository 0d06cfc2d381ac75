"""A network's report as a page, and Debian's Chromium to open it in."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import match
from match.report import Report
from match.report.html import Page, page

pytest.importorskip("bokeh", reason="pages need Bokeh")

DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"


@pytest.fixture(scope="session")
def compiled() -> match.CompiledModel:
    """A network with layers on modules, a chain or a group, and operators on the control core."""
    return match.compile(DIGITS, "gap9", l1="5k", modules=["cluster", "ne16"])


@pytest.fixture(scope="session")
def digits(compiled: match.CompiledModel) -> Report:
    return compiled.report


@pytest.fixture(scope="session")
def digits_page(digits: Report) -> Page:
    return page(digits)


@dataclass
class Opened:
    """A page in the browser, the warnings and errors of its console, and what it asked a server for."""

    page: Any
    console: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])

    def tab(self, name: str) -> None:
        """Open a tab, and wait until its pictures are drawn."""
        self.page.click(f"#tab-{name}")
        undrawn = self.page.locator(f"#panel-{name} .chart:not([data-drawn])")
        undrawn.first.wait_for(state="detached") if undrawn.count() else None

    def figure(self, name: str, expression: str) -> Any:
        """A JavaScript expression of the `model` of a picture, and of its `view`."""
        return self.page.evaluate(
            """([name, expression]) => {
                 const model = Bokeh.documents.flatMap((one) => one.roots()).find((one) => one.name === name);
                 const view = [...Bokeh.index].find((one) => one.model === model);
                 return new Function("model", "view", `return ${expression}`)(model, view);
               }""",
            [name, expression],
        )

    def details(self) -> str:
        """What is told of the selected layer."""
        return self.page.locator("#about > article:visible").inner_text()


Opener = Callable[..., Opened]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Generator[Opener]:
    """Opens a page from disk, `width` pixels wide, as a system with that colour `scheme` does."""
    contexts: list[Any] = []

    def open_page(made: Page, width: int = 1280, scheme: str = "light") -> Opened:
        file = tmp_path / f"page-{len(contexts)}.html"
        made.save(file)
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        tab = contexts[-1].new_page()
        found = Opened(tab)
        tab.on("console", lambda message: message.type == "info" or found.console.append(message.text))
        tab.on("pageerror", lambda error: found.console.append(str(error)))
        tab.on("request", lambda request: found.requests.append(request.url))
        tab.goto(file.as_uri())
        return found

    yield open_page
    for context in contexts:
        context.close()
