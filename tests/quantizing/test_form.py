"""How a target likes numbers follows from what its modules declare, not from its name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from match.quantizing.form import Form, form_for
from match.target.registry import get_target

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("target", ["gap8", "gap9", "pulp_open"])
def test_modules_that_multiply(target: str) -> None:
    assert form_for(get_target(target)) == Form("uint8", False, True, False, False)


def test_a_module_that_shifts() -> None:
    assert form_for(get_target("diana")) == Form("int8", True, False, True, True)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"bias_bits": 32}, {"symmetric": False}),
        ({"per_channel_shift": True}, {"per_channel": True}),
        ({"addend_multipliers": True}, {"one_scale_for_addends": False}),
        (
            {"multiplier_bits": 8},
            {"symmetric": False, "per_channel": True, "powers_of_two": False, "one_scale_for_addends": False},
        ),
    ],
)
def test_each_declaration_has_its_consequence(changes: dict[str, object], expected: dict[str, object]) -> None:
    target = get_target("diana")
    (module, _) = target.modules
    module.requantizers = tuple(replace(form, **changes) for form in module.requantizers)  # pyright: ignore
    assert form_for(target) == replace(Form("int8", True, False, True, True), **expected)  # pyright: ignore


def test_activations_are_the_targets() -> None:
    target = get_target("gap9")
    target.activations = None
    assert form_for(target).activations == "int8"
