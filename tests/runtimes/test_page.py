"""docs/runtimes.md has each operator of the runtimes."""

from __future__ import annotations

import re

import pytest

from tests.pages import DOCS, PAGES
from tests.runtimes.quantize_static import EMBEDDING, EXAMPLES, wrapped
from tests.runtimes.tflite_micro import registered
from tests.tflite.cases import BOOL, FLOAT, by_operator, int16
from tests.tflite.test_operators import OTHER

pytestmark = pytest.mark.cc


def rows(heading: str) -> dict[str, list[str]]:
    """The cells of the table below a heading, by the operator's name."""
    part = (DOCS / "runtimes.md").read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    found = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.split("\n") if line.startswith("| ")]
    return {cells[0]: cells[1:] for cells in found[2:]}


def test_all_operators_of_tflite_micro_have_rows() -> None:
    known = {*by_operator(), *int16.by_operator()}
    assert registered() == (known | FLOAT | BOOL | OTHER) - {"CUSTOM"}
    assert rows("TFLite Micro").keys() == known


def test_all_operators_that_onnxruntime_wraps_have_rows() -> None:
    assert wrapped() == {*EXAMPLES, EMBEDDING}
    assert rows("onnxruntime's quantize_static").keys() == wrapped()


def test_what_the_runtimes_compute_is_not_refused() -> None:
    cells = {**rows("TFLite Micro"), **rows("onnxruntime's quantize_static")}
    words = (
        r"(modules|control core(, floating point)?|nothing to compute)( or (modules|control core(, floating point)?))*"
    )
    others = [cell for own in cells.values() for cell in own if cell and not re.fullmatch(words, cell)]
    assert all(cell.startswith("undefined: ") for cell in others)


@pytest.mark.sweep
def test_the_page_is_current() -> None:
    assert (DOCS / "runtimes.md").read_text() == PAGES["runtimes.md"](), "docs/runtimes.md is not current: make pages"
