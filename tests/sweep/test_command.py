"""`match sweep`: the table, the files, the pages, and what is refused."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest

from match.sweeping import libraries
from match.sweeping.schema import schema
from tests.cli.conftest import DIGITS, Command
from tests.package.test_architecture import PROJECT

pytestmark = pytest.mark.cc

VALUES = ("--set", "l1=16k,64k", "--set", "dma.bytes=4,8", "--set", "modules=cluster,cluster+ne16")


@pytest.fixture
def kept(swept: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """What a command finds in the cache."""
    monkeypatch.setenv("MATCH_CACHE_DIR", str(folder))
    return swept


def test_files_have_what_python_gets(command: Command, kept: Any, tmp_path: Path) -> None:
    files = [tmp_path / f"sweep.{ending}" for ending in ("json", "csv", "parquet")]
    outcome = command("sweep", DIGITS, *VALUES, *(part for file in files for part in ("-o", file)), "--json")
    assert outcome.status == 0
    assert outcome.out == files[0].read_text()
    found = json.loads(outcome.out)
    jsonschema.validate(found, schema())
    assert found["axes"] == {"l1": [16384, 65536], "dma.bytes": [4, 8], "modules": ["cluster", "cluster+ne16"]}
    assert [point["figures"]["cycles"] for point in found["points"]] == list(kept["cycles"])
    pd.testing.assert_frame_equal(pd.read_parquet(files[2]), kept)
    read = pd.read_csv(files[1])
    assert list(read.columns) == list(kept.columns)
    assert list(read["milliseconds"]) == pytest.approx(list(kept["milliseconds"]))


def test_the_table_has_a_row_for_each_point(command: Command, kept: Any) -> None:
    outcome = command("sweep", DIGITS, *VALUES)
    lines = outcome.out.splitlines()
    (unit,) = (number for number, line in enumerate(lines) if "µJ," in line)
    assert "estimated" in lines[unit + 1]
    rows = [line for line in lines if " cluster" in line]
    assert [line.startswith("*") for line in rows] == list(kept["best"])
    assert all(f"{cycles:,}" in line for line, cycles in zip(rows, kept["cycles"], strict=True))


def test_pages_are_drawn(
    command: Command,
    kept: Any,
    scheduler: str,
    tmp_path: Path,
    browser: Any,
) -> None:
    assert kept["best"][7]
    pages = tmp_path / "pages"
    outcome = command("sweep", DIGITS, *VALUES, "--html", pages, "--point", "7", "--scheduler", scheduler, "-q")
    assert (outcome.status, outcome.out) == (0, "")
    assert sorted(page.name for page in pages.iterdir()) == ["index.html", "point-7.html"]
    tab = browser.new_page()
    told: list[str] = []
    tab.on("console", lambda message: told.append(message.text) if message.type in ("warning", "error") else None)
    tab.on("pageerror", lambda error: told.append(str(error)))
    tab.set_viewport_size({"width": 1024, "height": 900})
    tab.goto((pages / "index.html").as_uri())
    tab.locator(".chart[data-drawn]").first.wait_for()
    assert tab.locator("tbody tr").count() == 8
    tab.click("text='7'")
    tab.wait_for_url("**/point-7.html")
    assert told == []
    tab.close()


def test_what_is_refused(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, sentence in (
        (("--set", "x=1"), "gap9 has no 'x' to set; what can be set: cluster.cores"),
        (("--set", "l1"), "--set l1 sets nothing"),
        (("-o", tmp_path / "x.txt"), "a sweep is written as .json or .csv or .parquet"),
        (("--point", "1"), "--point chooses pages that --html writes"),
        (("--html", tmp_path / "pages", "--point", "9"), "there is no point 9; points are numbered from 0 to 0"),
    ):
        outcome = command("sweep", DIGITS, *arguments)
        assert (outcome.status, sentence in outcome.error) == (2, True), outcome.error
    assert not list(tmp_path.iterdir())

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(libraries, "import_module", missing)
    assert command("sweep", DIGITS).error == (
        "a sweep needs the Python package distributed, which is not installed: `pip install 'match-compiler[sweep]'`."
    )


@pytest.mark.sweep
def test_lines_of_the_page(command: Command, scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (PROJECT / "docs" / "sweep.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MATCH_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("model", "a", "b"):
        shutil.copy(DIGITS, f"{name}.onnx")
    for line in re.findall(r"^match sweep .*$", text, re.MULTILINE):
        arguments = [word.replace("tcp://10.0.0.1:8786", scheduler) for word in shlex.split(line, comments=True)[1:]]
        assert command(*arguments, "--scheduler", scheduler).status == 0, line
    (program,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(program, names)
    assert len(names["table"]) == 4
    assert names["report"].totals.cycles in set(names["table"]["cycles"])
    assert {path.name for path in tmp_path.iterdir()} >= {"pages", "sweep.json", "sweep.csv", "sweep.parquet"}
