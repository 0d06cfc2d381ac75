"""What modules take, in a terminal and as a page."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from match.errors import OptionError
from match.report.operators import markdown, show_operators, taken
from match.target.registry import get_target

pytestmark = pytest.mark.tvm

TARGETS = ("diana", "gap8", "gap9", "pulp_open")


def printed(target: str, operator: str | None = None, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    show_operators(get_target(target), operator, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("target", TARGETS)
def test_every_operator_has_the_conditions_of_its_pattern(target: str) -> None:
    for module in get_target(target).modules:
        told = {name: own.conditions for own in taken(module) for name in own.operators}
        patterns = [pattern for pattern in module.patterns() if not pattern.before]
        assert told.keys() == {pattern.name for pattern in patterns}
        for pattern in patterns:
            docs = [(condition.__doc__ or "").strip() for condition in pattern.conditions]
            assert len(told[pattern.name]) == len(docs)
            assert all(doc.startswith(one[:20]) for one, doc in zip(told[pattern.name], docs, strict=True))


@pytest.mark.parametrize("width", [60, 80, 160])
def test_a_terminal_of_any_width_holds_all_of_it(width: int) -> None:
    text = printed("gap9", width=width)
    assert max(map(len, text.splitlines())) <= width
    together = " ".join(text.split())
    for part in (
        "grouped_conv2d",
        "gru_reset_first",
        "- The filter is 3x3.",
        "conv2d → depthwise_conv2d → conv2d → add.",
    ):
        assert part in together


def test_one_operator() -> None:
    text = printed("gap9", "add")
    assert "conv2d → add." in text
    assert "ne16 does not take add." in text
    assert not any(other in text for other in ("max_pool2d", "softmax", "The filter is 3x3"))
    with pytest.raises(
        OptionError, match=r"no module of gap9 takes 'conv3d'; the operators that some take: conv2d, dep"
    ):
        printed("gap9", "conv3d")


def test_the_page_says_the_same() -> None:
    page = markdown(get_target("gap9"))
    assert "| dense | An input of 8 bits is uint8; the compiler shifts int8 networks" in page
    assert "<br>Outputs, which the next step multiplies as it does its input, have the type of the input. |" in page
    assert max(map(len, page.splitlines())) < 700
