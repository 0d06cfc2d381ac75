"""What modules do of layers whose operators are on several."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from match.report.layer_rows import peak_share
from match.report.schema import LayerSummary, OperatorSummary, Report
from match.report.shares import Share, shares, units

pytestmark = pytest.mark.tvm


def group(report: Report, *operators: tuple[str, int, int], **more: Any) -> LayerSummary:
    """A layer offloaded to "array" with operators of (module, MACs, cycles)."""
    made = tuple(OperatorSummary("conv2d", macs, 1, cycles, module=module) for module, macs, cycles in operators)
    return msgspec.structs.replace(report.layers[0], module="array", operators=made, **more)


def test_cycles_that_are_no_operators_are_those_of_the_module_offloaded_to(report: Report) -> None:
    layer = group(report, ("array", 100, 30), ("other", 1000, 40), ("other", 2000, 50), macs=3100, cycles=150)
    assert shares(layer) == (Share("array", 100, 60), Share("other", 3000, 90))
    assert units(layer) == "array+other"


def test_a_layer_on_one_module_is_its_own(report: Report) -> None:
    layer = group(report, ("array", 100, 30), ("", 200, 40), macs=300, cycles=90)
    assert shares(layer) == (Share("array", 300, 90),)
    assert units(layer) == "array"


def test_share_of_the_peaks(report: Report) -> None:
    """At their peaks the array takes 100 / 10 cycles and the other module 3000 / 60."""
    layer = group(report, ("array", 100, 30), ("other", 3000, 90), macs=3100, cycles=150)
    assert peak_share(layer, {"array": 10, "other": 60}) == (10 + 50) / 150
    assert peak_share(layer, {"array": 10, "other": None}) is None
