"""A sweep on real workers: each point is its prediction, whatever happens to workers and to the sweep itself."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import match
from match.errors import ToolchainError
from match.sweeping import cluster, run
from tests.cli.conftest import DIGITS, Command
from tests.sweep.conftest import AXES

pytestmark = pytest.mark.cc


def test_each_point_is_its_prediction(swept: Any, folder: Path) -> None:
    """In the order of the values, the last name changing first."""
    wanted = [(l1, dma, modules) for l1 in (16384, 65536) for dma in (4, 8) for modules in AXES["modules"]]
    assert list(zip(swept["l1"], swept["dma.bytes"], swept["modules"], strict=True)) == wanted
    for row, (l1, dma, modules) in zip(swept.to_dict("records"), wanted, strict=True):
        report = match.predict(
            DIGITS, "gap9", l1=l1, modules=modules.split("+"), settings={"dma.bytes": dma}, cache=folder
        )
        totals = report.totals
        assert (row["cycles"], row["milliseconds"], row["main_bytes"], row["bytes_moved"], row["inexact_layers"]) == (
            totals.cycles,
            totals.milliseconds,
            totals.l2_peak_bytes,
            totals.bytes_moved,
            totals.inexact_layers,
        )
        assert row["l1_bytes"] == l1
        assert row["l1_used_bytes"] == max(layer.l1_bytes for layer in report.layers) <= l1
        by_module = {module.name: module.cycles for module in report.target.modules}
        assert all(row.get(f"{name}_cycles", 0) == by_module.get(name, 0) for name in ("cluster", "ne16", "cpu"))
    assert swept["cycles"].nunique() == len(swept)
    assert swept["refusal"].isna().all()


def test_a_worker_that_dies_changes_nothing(swept: Any, dask: Any, scheduler: str, tmp_path: Path) -> None:
    workers = list(dask.run(os.getpid).values())
    told: list[str] = []

    def kill(state: str) -> None:
        told.append(state)
        if state == "points, 3 of 8":
            os.kill(workers[0], signal.SIGKILL)

    again = match.sweep(DIGITS, "gap9", AXES, scheduler=scheduler, cache=tmp_path, progress=kill)
    pd.testing.assert_frame_equal(again, swept)
    assert told == ["frontend", *(f"points, {n} of 8" for n in range(9))]
    assert workers[0] not in dask.run(os.getpid).values()


def test_workers_of_this_machine_keep_the_memory_of_arrays(dask: Any) -> None:
    thresholds = dask.run(os.getenv, "MALLOC_TRIM_THRESHOLD_")
    assert len(thresholds) == 2
    assert all(int(threshold) > 2**25 for threshold in thresholds.values())


def test_an_interrupted_sweep_goes_on(
    swept: Any, scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(state: str) -> None:
        if state == "points, 3 of 8":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        match.sweep(DIGITS, "gap9", AXES, scheduler=scheduler, cache=tmp_path, progress=interrupt)
    told: list[str] = []
    again = match.sweep(DIGITS, "gap9", AXES, scheduler=scheduler, cache=tmp_path, progress=told.append)
    pd.testing.assert_frame_equal(again, swept)
    assert told[:2] == ["frontend", "points, 3 of 8"]

    def unwanted(*_: Any) -> None:
        raise AssertionError("all points are known")

    monkeypatch.setattr(run, "connected", unwanted)
    pd.testing.assert_frame_equal(match.sweep(DIGITS, "gap9", AXES, scheduler=scheduler, cache=tmp_path), swept)
    with pytest.raises(AssertionError, match="all points are known"):
        match.sweep(DIGITS, "gap9", {**AXES, "dma.chunk": [28]}, scheduler=scheduler, cache=tmp_path)


def test_processes_of_this_machine_do_the_same(swept: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    few = {"l1": "16k", "dma.bytes": 4, "modules": AXES["modules"]}
    own = match.sweep(DIGITS, "gap9", few, jobs=1, cache=tmp_path)
    figures = [name for name in own.columns if name != "best"]
    pd.testing.assert_frame_equal(own[figures], swept[:2][figures])
    assert capfd.readouterr() == ("", "")


def test_what_cannot_be_compiled_has_a_sentence(scheduler: str, tmp_path: Path) -> None:
    found = match.sweep(DIGITS, "gap9", {"l1": [16, 65536]}, scheduler=scheduler, cache=tmp_path)
    assert found["refusal"][0].startswith("no layer of digits fits an L1 of 16 bytes on gap9")
    assert list(found["best"]) == [False, True]
    assert pd.isna(found["cycles"][0])


def test_there_is_no_scheduler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cluster, "_PATIENCE", 1)
    with pytest.raises(ToolchainError, match=r"^there is no Dask scheduler at tcp://127.0.0.1:9: start one"):
        match.sweep(DIGITS, "gap9", {"l1": "16k"}, scheduler="tcp://127.0.0.1:9", cache=tmp_path)


def test_points_with_more_memory_than_the_chip_are_called_hypothetical(command: Command) -> None:
    values = {"l1": ["1k", "118785"], "l2": ["1M"]}
    table = match.sweep(DIGITS, "gap9", values, jobs=1)
    assert list(table["hypothetical"]) == [False, True]
    outcome = command("sweep", DIGITS, "--set", "l1=1k,118785", "--set", "l2=1M", "--jobs", "1")
    assert "Point 1: hypothetical hardware with more L1 than the 118,784 bytes that gap9 has" in outcome.out
