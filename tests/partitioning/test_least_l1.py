"""The size that the error of a small innermost memory names: tried, and with which all layers have a mapping."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from match.dispatch.plan import CPU, LayerDecision, Offer
from match.errors import CapacityError
from match.partitioning.least_l1 import check_l1

pytestmark = pytest.mark.tvm


def cut(**needed: int | None) -> Any:
    """A network of layers, each of which lacks a mapping for want of so many bytes; None: it has one."""

    def decision(name: str, lacking: int | None) -> LayerDecision:
        refusal = None if lacking is None else f"it needs at least {lacking} bytes"
        offer = Offer("cluster", refusal=refusal, unmapped=lacking is not None, needed=lacking)
        return LayerDecision(name, "conv2d", CPU, 0, 0, 1.0, (Offer(CPU), offer, Offer("core")))

    decisions = tuple(decision(*layer) for layer in needed.items())
    modules = SimpleNamespace(name="cluster", direct=False), SimpleNamespace(name="core", direct=True)
    return SimpleNamespace(decisions=decisions, target=SimpleNamespace(name="chip", modules=modules))


NOTHING = cut(first=100, second=200)
"""With an innermost memory in which no layer has a mapping."""


@pytest.mark.parametrize(
    ("tries", "advice"),
    [
        ({200: cut(first=None, second=None)}, "give 200 (--l1), enough for all layers"),
        ({200: cut(first=None, second=300), 300: cut(first=None, second=None)}, "give 300 (--l1), enough"),
        ({200: None}, r"give more (--l1)"),
    ],
)
def test_the_size_that_is_named_was_tried(tries: dict[int, Any], advice: str) -> None:
    with pytest.raises(CapacityError) as raised:
        check_l1(NOTHING, 16, "network", lambda l1: tries[l1])
    assert advice in str(raised.value)
    assert "first because it needs at least 100 bytes" in str(raised.value)


def test_no_error_where_a_layer_has_a_mapping() -> None:
    check_l1(cut(first=None, second=200), 16, "network", lambda l1: pytest.fail(f"{l1} is not to be tried"))
