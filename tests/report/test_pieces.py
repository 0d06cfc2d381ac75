"""The pieces of a network: all cycles of a layer are in them, by cause as well."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import match
from match.report import Report
from match.report.pieces import SHARED, pieces, shared_cycles
from match.report.schema import OperatorSummary

pytestmark = pytest.mark.cc


@pytest.mark.parametrize("target", ["gap8", "gap9", "pulp_open"])
@pytest.mark.parametrize("network", ["ad01_int8", "kws_ref_model"])
def test_the_cycles_of_pieces_are_those_of_layers(network: str, target: str, models_dir: Path) -> None:
    report = match.predict(models_dir / f"{network}.tflite", target)
    shown = pieces(report)
    for place, layer in enumerate(report.layers):
        own = [piece for piece in shown if piece.place == place]
        assert sum(piece.cycles for piece in own) == layer.cycles
        assert all(sum(piece.causes.values()) == piece.cycles for piece in own)
        assert all(cycles >= 0 for piece in own for cycles in piece.causes.values())
        assert len(own) == (len(layer.operators) + 1 if layer.op == "group" else 1)
    assert any(layer.op == "group" for layer in report.layers)


def test_what_a_group_shares_is_told_by_cause(report: Report) -> None:
    """By hand: 5,000 cycles, of these 300 waits, 1,400 of the core; 3,000 computed, so that 300 of transfers show."""
    operators = (OperatorSummary("conv2d", 10, 1, 2_100, "a"), OperatorSummary("add", 0, 1, 1_000, "b"))
    layer = msgspec.structs.replace(
        report.layers[0],
        name="group_0_1",
        cycles=5_000,
        compute_cycles=3_000,
        overhead_cycles=1_400,
        wait_cycles=300,
        operators=operators,
    )
    shown = pieces(msgspec.structs.replace(report, layers=(layer,)))
    assert [(piece.name, piece.source, piece.cycles) for piece in shown] == [
        ("conv2d, 1 of 2 in group_0_1", "a", 2_100),
        ("add, 2 of 2 in group_0_1", "b", 1_000),
        (f"{SHARED} in group_0_1", "", 1_900),
    ]
    assert dict(shown[-1].causes) == {"transfers": 300, "offload": 1_300, "external memory": 300}


def test_operators_that_take_turns_are_one_piece(report: Report) -> None:
    chain = msgspec.structs.replace(report.layers[0], operators=(OperatorSummary("conv2d", 10, 1),) * 2)
    assert shared_cycles(chain) is None
    assert len(pieces(msgspec.structs.replace(report, layers=(chain,)))) == 1
