"""The table of targets and the page of supported operators follow from the descriptions."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from match.report.targets import markdown, show_targets
from match.target.registry import get_target
from tests.report.conftest import DOCS

TARGETS = ("diana", "gap8", "gap9", "pulp_open")


def test_table_of_targets() -> None:
    console = Console(file=io.StringIO(), width=200)
    show_targets([get_target("gap9")], console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    for part in ("gap9", "260 MHz", "L2 1536 KiB", "cluster", "ne16", "L1 ", "depthwise_conv2d", "cpu"):
        assert part in text


def test_memories_of_single_operands_are_listed() -> None:
    console = Console(file=io.StringIO(), width=200)
    show_targets([get_target("diana")], console)
    assert isinstance(console.file, io.StringIO)
    assert "L1 256 KiB, weights 64 KiB" in console.file.getvalue()


@pytest.mark.parametrize("target", TARGETS)
def test_page_of_supported_operators_is_current(target: str) -> None:
    """To update: write match.report.targets.markdown(match.target.registry.get_target(target)) to the page."""
    assert (DOCS / f"{target}-operators.md").read_text() == markdown(get_target(target))


@pytest.mark.parametrize("target", TARGETS)
def test_every_condition_is_a_sentence(target: str) -> None:
    conditions = [
        sentence
        for module in get_target(target).modules
        for pattern in module.patterns()
        for constraint in pattern.constraints
        for sentence in [(constraint.__doc__ or "").strip()]
    ]
    assert conditions
    assert all(sentence.endswith(".") for sentence in conditions)
