"""The points of a sweep, and those that no other is better than."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

import match
from match.compiled.stations import Asked
from match.errors import MatchError, OptionError, TargetError
from match.sweeping.pareto import with_best
from match.sweeping.schema import Figures, PointResult
from match.sweeping.space import axes, points
from tests.cli.conftest import DIGITS

pytestmark = pytest.mark.cc


def test_every_combination_is_asked_for() -> None:
    given = {"clock_hz": [1e8, "2e8"], "l1": "16k", "modules": ["ne16", ["cluster", "ne16"]], "numerics": "exact"}
    found = points("gap9", axes("gap9", given), False)
    assert [dict(point.values) for point in found] == [
        {"clock_hz": clock, "l1": 16384, "modules": modules, "numerics": "exact"}
        for clock in (1e8, 2e8)
        for modules in ("ne16", "cluster+ne16")
    ]
    for point in found:
        asked = point.asked
        assert isinstance(asked, Asked)
        assert asked.chip.clock_hz == point.values["clock_hz"]
        assert "+".join(module.name for module in asked.chip.modules) == point.values["modules"]
        assert asked.options.l1 == 16384
        assert {module.scratchpad_bytes for module in asked.chip.modules if module.memories} == {16384}
        assert asked.options.exact
        assert asked.options.cache is None


def test_sizes_of_l1_by_module() -> None:
    found = points("gap9", axes("gap9", {"l1": ["cluster=16k+ne16=16k", {"ne16": "32k"}, "64k"]}), cache=False)
    assert [point.values for point in found] == [
        {"l1": "cluster=16384+ne16=16384"},
        {"l1": "ne16=32768"},
        {"l1": 65536},
    ]
    asked = [point.asked for point in found if isinstance(point.asked, Asked)]
    assert [one.options.l1 for one in asked] == [{"cluster": 16384, "ne16": 16384}, {"ne16": 32768}, 65536]
    assert [{module.scratchpad_bytes for module in one.chip.modules} - {0} for one in asked] == [
        {16384},
        {32768},
        {65536},
    ]


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ({"dma": [1]}, OptionError, "gap9 has no 'dma' to set; what can be set: cluster.cores, "),
        ({"l1": []}, OptionError, "l1 has no values; give at least one."),
        ({"l1": [1024, "1k"]}, OptionError, "l1 has a value more than once; give each once."),
        ({"l1": ["huge"]}, OptionError, "the L1 size must be a number of bytes"),
        ({"l1": ["cluster=huge"]}, OptionError, "the L1 (cluster) size must be a number of bytes"),
        ({"l1": ["cluster=1k", {"cluster": 1024}]}, OptionError, "l1 has a value more than once; give each once."),
        ({"modules": [""]}, OptionError, "modules are names joined by '+', such as cluster+ne16, not ''"),
        ({"modules": ["npu"]}, TargetError, "target gap9 has no module 'npu'"),
        ({"numerics": ["loose"]}, OptionError, "numerics 'loose' is unknown"),
        ({"fuse": ["maybe"]}, OptionError, "fuse is true or false, not 'maybe'"),
        ({"dma.bytes": range(1, 1000), "dma.call": range(1000)}, OptionError, "999,000 points are too many"),
    ],
)
def test_wrong_values_are_one_sentence(given: dict[str, Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        points("gap9", axes("gap9", given), False)


def test_what_cannot_be_asked_for_is_a_point_with_the_reason() -> None:
    """No bound goes with edp, which is a point without one."""
    given = {"objective": ["energy", "edp"], "at_most": [None, "latency=1.1x"]}
    found = points("gap9", axes("gap9", given), False)
    assert [tuple(point.values.values()) for point in found] == [
        (objective, bound) for objective in ("energy", "edp") for bound in ("none", "latency=1.1x")
    ]
    refused = [point.asked for point in found if isinstance(point.asked, MatchError)]
    assert [isinstance(point.asked, Asked) for point in found] == [True, True, True, False]
    assert [str(error)[:30] for error in refused] == ["at_most bounds what another ob"]
    with pytest.raises(OptionError, match="at_most bounds what another"):
        points("gap9", axes("gap9", {"objective": "edp", "at_most": "latency=1.1x"}), False)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"scheduler": "10.0.0.1"}, "a scheduler is an address such as tcp://127.0.0.1:8786, not '10.0.0.1'"),
        ({"jobs": 0}, "the number of jobs must be at least 1"),
        ({"models": [DIGITS, DIGITS]}, "two models have the same name"),
        ({"models": []}, "there is no model to predict"),
    ],
)
def test_arguments_are_checked_before_anything_starts(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OptionError, match=f"^{re.escape(sentence)}"):
        match.sweep(**{"models": DIGITS, **arguments})


def test_best_points_by_brute_force() -> None:
    rng = random.Random(3)
    rows = [
        PointResult(
            rng.choice("ab"),
            {},
            Figures(
                rng.randint(1, 9),
                1.0,
                float(rng.randint(1, 3)),
                rng.randint(1, 9),
                0,
                0,
                0,
                rng.randint(0, 2),
                rng.choice((0.0, 0.5)),
                {},
            ),
        )
        if rng.random() < 0.9
        else PointResult("a", {}, None, "refused")
        for _ in range(80)
    ]

    def aims(figures: Figures) -> tuple[float, ...]:
        return figures.cycles, figures.energy_pj or 0, figures.l1_bytes, figures.moved, figures.inexact_layers > 0

    for row, found in zip(rows, with_best(rows), strict=True):
        mine = row.figures and aims(row.figures)
        better = [
            other
            for other in rows
            if mine
            and other.figures
            and other.model == row.model
            and aims(other.figures) != mine
            and all(a <= b for a, b in zip(aims(other.figures), mine, strict=True))
        ]
        assert found.best == (mine is not None and not better)
    assert 0 < sum(row.best for row in with_best(rows)) < len(rows)
