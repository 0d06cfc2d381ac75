"""docs/integer-form.md names each rewrite, and passes in their order."""

from __future__ import annotations

import re

import pytest

from match.partitioning.partitioner import FOR_MODULES
from match.passes.pipeline import PASSES
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


def test_rows_have_the_order_of_the_passes() -> None:
    twice = "quantized_groups"  # has rows of its own
    passes = [one.name for table in (PASSES, FOR_MODULES) for one in table if one.name != twice]
    every = rows(PAGE[PAGE.index("Of ONNX files and of Relay, integers") :])
    assert [name for name in every if name in passes] == passes
