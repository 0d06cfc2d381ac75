"""The benchmark of chains: on no chip is a network dearer with them, and the command says so if one is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import benchmarks.chains.gains
from benchmarks.chains.cli import table
from benchmarks.chains.gains import Gain
from benchmarks.command import run

pytestmark = pytest.mark.cc


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[list[str]]]:
    """Exit status and the table's rows."""
    with pytest.raises(SystemExit) as ended:
        run(table, "chains", list(arguments))
    lines = capsys.readouterr().out.splitlines()[2:]
    return int(ended.value.code or 0), [line.strip("| ").split(" | ") for line in lines]


def test_chains_never_cost_more(capsys: pytest.CaptureFixture[str]) -> None:
    status, rows = call(capsys, "--network", "ds_cnn", "--target", "gap8,diana", "--l1", "full,16384")
    assert status == 0
    assert [row[:3] for row in rows] == [
        ["ds_cnn", target, size] for target in ("gap8", "diana") for size in ("full", "16,384")
    ]
    alone, fused, chains = ([int(row[place].replace(",", "")) for row in rows] for place in (3, 4, 5))
    assert all(less <= more for less, more in zip(fused, alone, strict=True))
    assert fused[0] < alone[0]
    assert chains[0] > 0
    assert chains[2:] == [0, 0], "DIANA lists no chains"


def test_a_dearer_network_is_seen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def dearer(*_: object) -> Iterator[Gain]:
        yield Gain("ds_cnn", "gap8", None, 100.0, 101.0, 1)

    monkeypatch.setattr(benchmarks.chains.gains, "gains", dearer)
    status, rows = call(capsys, "--network", "ds_cnn")
    assert status == 1
    assert rows == [["ds_cnn", "gap8", "full", "100", "101", "1", "-1.0%"]]
