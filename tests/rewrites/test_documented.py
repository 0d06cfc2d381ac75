"""docs/integer-form.md names each rewrite, those of every network in the order in which it goes through them."""

from __future__ import annotations

import re

import pytest

from match.frontend.model import Model, Rounding
from match.graph.text import parse
from match.passes.pipeline import integer_network
from tests.package.test_architecture import PROJECT

pytestmark = pytest.mark.tvm

PAGE = (PROJECT / "docs" / "integer-form.md").read_text(encoding="utf-8")
REWRITES = {path.stem for path in (PROJECT / "match" / "rewrites").iterdir() if not path.stem.startswith("_")}


def rows(text: str) -> list[str]:
    """The names at the beginning of the rows of tables."""
    cells = re.findall(r"^\|([^|]*)\|", text, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)]


@pytest.mark.parametrize("name", sorted(REWRITES))
def test_a_rewrite_is_named(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_rows_have_the_order_of_the_pipeline() -> None:
    graph = parse("v0: int8[1, 4] = input('x')\nv1: int8[1, 4] = clip(v0, limits=(0, 9), dtype='int8')\nreturn v1\n")
    passed: list[str] = []
    model = Model("network", "", graph, (), (), Rounding.TFLITE)
    integer_network(model, "uint8", passed=lambda name, _: passed.append(name))
    every = rows(PAGE[PAGE.index("What follows rewrites every network") :])
    assert [name for name in every if name in passed] == passed
