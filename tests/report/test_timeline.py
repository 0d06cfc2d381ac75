"""The predicted timeline in the report, and what a layer's cycles go into."""

from __future__ import annotations

import json
import math
import sys

import pytest

import match
from match.report import Report, encode
from match.report.layer_rows import causes
from tests.cli.conftest import DIGITS

pytestmark = pytest.mark.cc


@pytest.fixture(scope="module")
def digits() -> Report:
    return match.compile(DIGITS, "gap9").report


def test_a_layer_spends_each_cycle_on_one_cause(digits: Report) -> None:
    for layer in digits.layers:
        assert sum(causes(layer).values()) == layer.cycles
        assert min(causes(layer).values()) >= 0
        if layer.schedule:
            assert causes(layer)["compute"] == layer.compute_cycles


def test_the_timeline_ends_with_the_inference(digits: Report) -> None:
    """Each layer's bars lie within it, and the causes of its cycles are those of its bars on the core."""
    timeline = digits.timeline
    assert timeline is not None
    begin = 0.0
    for layer, bars in zip(digits.layers, timeline.bars, strict=True):
        assert min((bar.begin for bar in bars), default=begin) >= begin - 1
        assert max((bar.end for bar in bars), default=begin) <= begin + layer.cycles + len(digits.layers)
        waits = sum(bar.end - bar.begin for bar in bars if bar.doing == "wait")
        if layer.schedule:
            shown, slack = causes(layer)["transfers"], 1 + 0.01 * len(bars)
            assert waits >= shown - slack
            if layer.op != "group":  # where kernels that are under way hide waits, too
                assert waits == pytest.approx(shown, abs=slack)
            assert sum(bar.bytes for bar in bars if bar.doing == "transfer") == sum(
                operand.bytes_moved for operand in layer.schedule.operands
            )
        begin += layer.cycles


def test_the_timeline_is_a_line_for_each_layer_of_the_file(digits: Report) -> None:
    *_, lines = encode(digits).decode().partition('"bars": [\n')
    bars = [json.loads(line.rstrip(",")) for line in lines.splitlines()[: len(digits.layers)]]
    assert len(bars) == len(digits.layers)
    assert all(isinstance(one, list) for one in bars)


def test_layers_that_call_kernels_too_often_have_one_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of the layer is in it, so that the unit's lane shows when it works."""
    monkeypatch.setattr(sys.modules["match.report.build"], "MOST_CALLS", 1)  # `match.report.build` is the function
    compiled = match.compile(DIGITS, "gap9", l1="12k")
    timeline, begin = compiled.report.timeline, 0
    assert timeline is not None
    many = [
        math.prod(loop.count for loop in one.schedule.loops) > 1 if one.schedule else False
        for one in compiled.report.layers
    ]
    assert timeline.coarse == tuple(place for place, one in enumerate(many) if one) != ()
    for layer, coarse, bars in zip(compiled.report.layers, many, timeline.bars, strict=True):
        if coarse:
            (bar,) = bars
            assert (bar.doing, timeline.lanes[bar.lane], bar.text) == ("kernel", layer.module, layer.name)
            assert (bar.begin, bar.end) == pytest.approx((begin, begin + layer.cycles), abs=len(many))
        begin += layer.cycles
