"""Forms of requantization are read from the folder only if everything that they depend on is the same."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from match.compilation.options import Numerics
from match.files.kept import Kept
from match.ir.constants import Addends
from match.ir.layer import Op
from match.ir.requantization import Requantizer
from match.processes.workers import Workers
from match.requantize import kept
from match.requantize.form import Form, choose_among, choose_form
from match.requantize.kept import Forms
from match.target.hardware import HwModule
from match.target.registry import get_target
from tests.analysis.simulate.layers import accumulator, random_case
from tests.codegen.layers import Case
from tests.seeds import seeded

pytestmark = pytest.mark.unit

LINE = ("multiplier", "bias", "shift", "negative_below", "negative_step", "exceptions", "addend", "largest")


def case(seed: int, op: Op = Op.CONV2D) -> Case:
    made = random_case(random.Random(seed), op, seed)
    assert made.constants.requantization is not None
    return made


def choose(forms: Forms, module: HwModule, own: Case, numerics: Numerics = Numerics.HARDWARE) -> Form | str:
    return forms.choose(module, own.layer, own.constants, accumulator(own.constants, own), numerics)


def same(one: Form | str, other: Form | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    first, second = one.constants.requantization, other.constants.requantization
    assert first is not None
    assert second is not None
    return (
        (one.requantizer, one.fit) == (other.requantizer, other.fit)
        and one.constants.data == other.constants.data
        and first.clip == second.clip
        and all(equal(getattr(first, name), getattr(second, name)) for name in LINE)
    )


def equal(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return one.dtype == other.dtype and np.array_equal(one, other)


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules for which a form was chosen, not read."""
    asked: list[str] = []

    def counted(forms: tuple[Requantizer, ...], module: str, *others: Any) -> Form | str:
        asked.append(module)
        return choose_among(forms, module, *others)

    monkeypatch.setattr(kept, "choose_among", counted)
    return asked


@pytest.mark.parametrize("numerics", Numerics)
@pytest.mark.parametrize("op", [Op.CONV2D, Op.ADD, Op.DENSE, Op.AVG_POOL2D], ids=str)
@seeded(2, 20)
def test_what_is_read_is_what_was_chosen(
    fitted: list[str], op: Op, numerics: Numerics, seed: int, tmp_path: Path
) -> None:
    own = case(seed, op)
    modules = [module for name in ("gap9", "diana") for module in get_target(name).modules if module.memories]
    first, second = Forms(tmp_path), Forms(tmp_path)
    chosen = [choose(first, module, own, numerics) for module in modules]
    assert all(same(choose(first, module, own, numerics), form) for module, form in zip(modules, chosen, strict=True))
    first.keep()
    assert all(same(choose(second, module, own, numerics), form) for module, form in zip(modules, chosen, strict=True))
    assert len(fitted) == len(modules)
    own_constants = accumulator(own.constants, own)
    plain = [choose_form(module, own.layer, own.constants, own_constants, numerics) for module in modules]
    assert all(map(same, chosen, plain))


def test_another_layer_module_or_question_is_another_entry(fitted: list[str], tmp_path: Path) -> None:
    own, forms = case(1), Forms(tmp_path)
    cluster, ne16, _ = get_target("gap9").modules
    line = own.constants.requantization
    assert line is not None
    moved = replace(own.constants, requantization=replace(line, bias=line.bias + 1))
    doubled = replace(own.constants, data=Addends(2, 2))
    low, high = accumulator(own.constants, own) or (line.bias, line.bias)
    asked = [
        (cluster, own.constants, (low, high), Numerics.HARDWARE),
        (ne16, own.constants, (low, high), Numerics.HARDWARE),
        (cluster, moved, (low, high), Numerics.HARDWARE),
        (cluster, doubled, (low, high), Numerics.HARDWARE),
        (cluster, own.constants, (low, high + 1), Numerics.HARDWARE),
        (cluster, own.constants, (low, high), Numerics.EXACT),
    ]
    for module, constants, reach, numerics in asked * 2:
        forms.choose(module, own.layer, constants, reach, numerics)
    assert len(fitted) == len(asked)
    forms.keep()
    assert len(list(tmp_path.iterdir())) == len(asked)


def test_what_is_damaged_is_chosen_anew(fitted: list[str], tmp_path: Path) -> None:
    own, (cluster, *_) = case(2), get_target("gap9").modules
    first = Forms(tmp_path)
    chosen = choose(first, cluster, own)
    first.keep()
    (entry,) = tmp_path.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-1])
    again = Forms(tmp_path)
    assert same(choose(again, cluster, own), chosen)
    again.keep()
    assert len(fitted) == 2
    assert entry.read_bytes() == whole


def test_what_several_ask_about_the_same_layer_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, (cluster, *_) = case(3), get_target("gap9").modules
    low, high = reach = accumulator(own.constants, own)
    asked = (cluster, own.layer, own.constants, reach)
    first = Forms(tmp_path)
    first.choose(*asked, Numerics.HARDWARE)
    first.keep()
    read: list[str] = []
    look_up = Kept.look_up

    def counted(files: Kept, name: str) -> bytes | None:
        read.append(name)
        return look_up(files, name)

    monkeypatch.setattr(Kept, "look_up", counted)
    again = Forms(tmp_path)
    with Workers(1) as workers:
        again.choose_all([asked, asked], Numerics.HARDWARE, workers)
    forms = [again.choose(*asked, Numerics.HARDWARE) for _ in range(3)]
    assert len(read) == 1
    assert all(same(form, first.choose(*asked, Numerics.HARDWARE)) for form in forms)
    assert len(read) == 1, "the first has its own answer"
    again.choose(cluster, own.layer, own.constants, (low - 1, high), Numerics.HARDWARE)
    assert len(read) == 2, "other accumulators are another question"


def test_without_a_folder_an_answer_is_known_once_for_a_network(fitted: list[str]) -> None:
    forms, (cluster, *_) = Forms(None), get_target("gap9").modules
    choose(forms, cluster, case(3))
    choose(forms, cluster, case(3))
    forms.keep()
    assert len(fitted) == 1
    choose(Forms(None), cluster, case(3))
    assert len(fitted) == 2
