"""The benchmark of tensors inside others."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.command import run
from benchmarks.in_place.cli import table
from tests.sampled import sampled

pytestmark = pytest.mark.cc

NETWORKS = Path(__file__).parents[1] / "tflite" / "networks"
PAGE = (Path(__file__).parents[2] / "docs" / "networks.md").read_text(encoding="utf-8")
ROWS = PAGE.partition("| network | copies | sum of copies, KiB |")[2].partition("\n\n")[0].splitlines()[2:]
NAMES = [row.split("|")[1].strip() for row in ROWS]
SQUEEZENET = NETWORKS / "squeezenet.tflite"


def test_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(table, "in_place", ["--network", str(SQUEEZENET)])
    assert not ended.value.code
    head, _, row = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()
    )
    found = dict(zip(head, row, strict=True))
    # Three fire modules: 2 x 7 x 7 x 24 and 7 x 7 x 32 bytes.
    assert (found["network"], found["copies"]) == ("squeezenet.tflite", "3")
    assert found["sum of copies, KiB"] == f"{7 * 7 * (24 + 24 + 32) / 1024:.1f}"
    assert found["of these in place"] == "1, 3"
    assert float(found["Mcycles, cheapest"]) <= float(found["Mcycles, copied"])
    assert float(found["peak, KiB, in place"]) <= float(found["peak, KiB, copied"]) < 7 * 7 * 80 / 1024 + 0.1


@pytest.mark.parametrize("name", sampled(NAMES, ["many_inputs.tflite", "squeezenet.tflite"]))
def test_a_row_of_the_page_is_printed_today(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Else: paste what the benchmark prints into docs/networks.md."""
    with pytest.raises(SystemExit) as ended:
        run(table, "in_place", ["--network", str(NETWORKS / name) if name.endswith(".tflite") else name])
    assert not ended.value.code
    assert capsys.readouterr().out.splitlines()[2] == ROWS[NAMES.index(name)]
