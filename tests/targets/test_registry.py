"""Targets by name, and in variants."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from match.errors import OptionError, TargetError
from match.target import registry
from match.target.hardware import Enlarged
from match.targets.gap9.target import Gap9

pytestmark = pytest.mark.unit


def test_gap9_is_installed() -> None:
    assert "gap9" in registry.target_names()
    assert isinstance(registry.get_target("gap9"), Gap9)


def test_variants_do_not_touch_the_original() -> None:
    original = Gap9()
    variant = registry.get_target(original, l1=4096, modules=["ne16"])
    assert [module.name for module in variant.modules] == ["ne16"]
    assert variant.modules[0].memories[-1].size == 4096
    assert variant.host.defines["PULP_L1_BYTES"] == "4096"
    assert [module.name for module in original.modules] == ["cluster", "ne16", "core"]
    assert {module.scratchpad_bytes for module in Gap9().modules[:2]} == {original.modules[0].memories[-1].size}


def test_modules_keep_the_targets_order_and_may_be_none() -> None:
    assert [m.name for m in registry.get_target("gap9", modules=["ne16", "cluster"]).modules] == ["cluster", "ne16"]
    assert registry.get_target("gap9", modules=[]).modules == ()


def test_what_does_not_exist_is_named_with_what_does() -> None:
    with pytest.raises(TargetError, match=r"no target 'gap10' \(did you mean 'gap9'\?\); installed targets: .*gap9"):
        registry.get_target("gap10")
    with pytest.raises(TargetError, match=r"no module 'npu'; its modules: cluster, ne16"):
        registry.get_target("gap9", modules=["cluster", "npu"])


@pytest.mark.parametrize(("name", "target"), [("GAP9", "gap9"), ("Pulp-Open", "pulp_open"), ("pulp_open", "pulp_open")])
def test_names_in_any_case(name: str, target: str) -> None:
    assert registry.get_target(name).name == target


def test_names_that_are_like_none() -> None:
    with pytest.raises(TargetError, match=r"^there is no target 'esp32'; installed targets: "):
        registry.get_target("esp32")


def test_l1_is_no_larger_than_the_main_memory() -> None:
    with pytest.raises(
        OptionError, match=r"^gap9 cannot have an L1 of 8,192 bytes beside a main memory \(L2\) of 4,096"
    ):
        registry.get_target("gap9", l1=8192, l2=4096)
    configured = registry.get_target("gap9", l1=8192, l2=8192)
    assert configured.main_memory.size == 8192
    assert configured.program_bytes(100, 9) == 0 < registry.get_target("gap9").program_bytes(100, 9)


@pytest.mark.parametrize("size", [0, -5])
def test_l1_must_be_positive(size: int) -> None:
    with pytest.raises(OptionError, match=f"not {size}"):
        registry.get_target("gap9", l1=size)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no.such.module:Target", "cannot be loaded"),
        ("match.errors:NoSuchTarget", "cannot be loaded"),
        ("match.errors:MatchError", "not a subclass of MatchTarget"),
    ],
)
def test_broken_entry_points_are_explained(value: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoints([EntryPoint("broken", value, registry.GROUP)])
    monkeypatch.setattr(registry, "entry_points", broken.select)
    with pytest.raises(TargetError, match=reason):
        registry.get_target("broken")


def test_memories_that_the_chip_has_less_of_are_told() -> None:
    chip = registry.get_target("gap9")
    own, main = chip.modules[0].memories[-1].size, chip.main_memory.size
    assert chip.enlarged == ()
    assert registry.get_target("gap9", l1=own, l2=main).enlarged == ()
    assert registry.get_target("gap9", l1=own + 1).enlarged == (Enlarged("L1", own + 1, own),)
    both = registry.get_target("gap9", l1="1M", modules=["ne16"], l2=main + 1).enlarged
    assert both == (Enlarged("L1", 1 << 20, own), Enlarged("L2", main + 1, main))
