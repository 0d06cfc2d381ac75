"""The benchmark of fused networks: its figures are in the order that they must have, and beside those published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.command import run
from benchmarks.fusion.cli import FILES, table
from benchmarks.fusion.published import PUBLISHED

pytestmark = pytest.mark.cc

NETWORK, L1 = "ds-cnn", 36700


def call(*arguments: object) -> None:
    run(table, "fusion", [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command writes of one network."""
    folder = tmp_path_factory.mktemp("fusion")
    for waits in ((), ("--blocking",)):
        names = ("-o", folder / f"rows{len(waits)}.json", "--pictures", folder / f"pictures{len(waits)}")
        with pytest.raises(SystemExit) as ended:
            call("--network", NETWORK, "--l1", L1, *waits, *names)
        assert not ended.value.code
    return folder


@pytest.mark.parametrize("waits", [0, 1])
def test_fusion_costs_less(folder: Path, waits: int) -> None:
    rows = json.loads((folder / f"rows{waits}.json").read_text())["rows"]
    assert [(row["network"], row["l1"], row["blocking"]) for row in rows] == [(NETWORK, L1, bool(waits))] * 3
    unfused, latency, least = rows
    assert [row["choice"] for row in rows] == ["unfused", "latency", "bytes"]
    assert not unfused["groups"]
    assert latency["cycles"] < unfused["cycles"]
    assert latency["cycles"] <= least["cycles"]
    assert least["activation_bytes"] <= latency["activation_bytes"] < unfused["activation_bytes"]


@pytest.mark.parametrize("waits", [0, 1])
def test_what_was_predicted_last_is_predicted_today(folder: Path, waits: int) -> None:
    """Else: python -m benchmarks.fusion --l1 36700 -o benchmarks/fusion/predicted.json; make pages.

    And the same with --blocking into predicted_blocking.json.
    """
    last = [row for row in json.loads(FILES[waits].read_text())["rows"] if row["network"] == NETWORK]
    assert last == json.loads((folder / f"rows{waits}.json").read_text())["rows"]


def test_bytes_are_as_few_as_can_be(folder: Path) -> None:
    """Each tensor is read and written once unfused; in chains less is moved than was published and than pairs can."""
    unfused, _, least = json.loads((folder / "rows0.json").read_text())["rows"]
    assert unfused["activation_bytes"] == unfused["once_bytes"]
    assert least["activation_bytes"] <= PUBLISHED[NETWORK].activation_bytes[2]
    assert least["chains_bytes"] <= least["activation_bytes"] <= 1.1 * least["pairs_bytes"]


def test_waiting_for_transfers_costs_more(folder: Path) -> None:
    beside, waiting = (json.loads((folder / f"rows{waits}.json").read_text())["rows"] for waits in (0, 1))
    assert all(one["cycles"] < other["cycles"] for one, other in zip(beside, waiting, strict=True))


def test_pictures(folder: Path) -> None:
    picture = (folder / "pictures0" / f"{NETWORK}-{L1}.svg").read_text()
    assert picture.startswith("<svg")
    assert "depthwise" in picture


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(("--network", "vgg"), "there is no network 'vgg'"), (("--l1", "36k,0"), "numbers of bytes, separated by commas")],
)
def test_what_there_is_not(capsys: pytest.CaptureFixture[str], arguments: tuple[str, str], sentence: str) -> None:
    with pytest.raises(SystemExit) as ended:
        call(*arguments)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
