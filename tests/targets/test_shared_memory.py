"""Which modules may be in one group."""

from __future__ import annotations

from dataclasses import replace

import pytest

from match.target.hardware import HwModule, MatchTarget
from match.target.registry import get_target
from match.target.shared_memory import sharing

pytestmark = pytest.mark.unit


def names(target: MatchTarget) -> list[list[str]]:
    return [[module.name for module in together] for together in sharing(target)]


def second(target: MatchTarget) -> HwModule:
    """NE16, whose description is changed."""
    return next(module for module in target.modules if module.name == "ne16")


def test_modules_of_the_chips() -> None:
    assert names(get_target("gap9")) == [["cluster", "ne16"]]
    assert names(get_target("gap9", modules=["ne16"])) == [["ne16"]]
    assert names(get_target("gap8")) == [["cluster"]]
    assert names(get_target("diana")) == []


def test_another_memory_is_not_shared() -> None:
    target = get_target("gap9")
    module = second(target)
    (memory,) = module.memories
    module.memories = (replace(memory, name="NE16's own"),)
    assert names(target) == [["cluster"], ["ne16"]]


@pytest.mark.parametrize("family", ["platform", "memory", "sync"])
def test_functions_of_another_kind_are_not_shared(family: str) -> None:
    """The leader's functions reserve, move and wait for all."""
    target = get_target("gap9")
    module = second(target)
    changed = {"platform": "offload", "memory": "copy_in", "sync": "wait_transfer"}[family]
    own = replace(getattr(module.api, family), **{changed: "another"})
    module.api = replace(module.api, **{family: own})
    assert names(target) == [["cluster"], ["ne16"]]


def test_a_module_without_groups_is_in_none() -> None:
    target = get_target("gap9")
    second(target).groups = False
    assert names(target) == [["cluster"]]
