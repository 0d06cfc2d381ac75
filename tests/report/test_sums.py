"""Rows, shares and the timeline of a network add up to its total, wherever the network lies."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

import match
from benchmarks.memory.networks import integers
from match.analysis.timeline.chrome_trace import Document, Mark
from match.report.layer_rows import layer_rows, write_csv

pytestmark = pytest.mark.cc

FOLDER = Path(__file__).parents[1] / "tflite/networks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.tflite"))
QUICK = ("autoencoder", "keyword_spotting", "lstm", "squeezenet")


def lanes(made: Document) -> dict[str, list[Mark]]:
    """Bars by the name of their lane, in the order of time."""
    names = {mark.tid: str(mark.args["name"]) for mark in made.traceEvents if mark.name == "thread_name"}
    bars = sorted((mark for mark in made.traceEvents if mark.ph == "X"), key=lambda mark: mark.ts)
    return {name: [mark for mark in bars if mark.tid == tid] for tid, name in names.items()}


def check(compiled: match.CompiledModel, folder: Path) -> None:
    """All that says how long a layer takes, added up, is what is said of the network."""
    report = compiled.report
    total, rows = report.totals.cycles, layer_rows(report)
    assert sum(int(row["cycles"] or 0) for row in rows) == total
    assert sum(module.cycles for module in report.target.modules) == total
    assert sum(report.totals.causes.values()) == total
    assert sum(layer.cycles / total for layer in report.layers) == pytest.approx(1.0)
    assert sum(float(row["milliseconds"] or 0) for row in rows) == pytest.approx(report.totals.milliseconds)
    write_csv(folder / "layers.csv", report)
    with (folder / "layers.csv").open() as file:
        written = list(csv.DictReader(file))
        assert sum(int(row["cycles"]) for row in written) == total
        own = {"compute": "compute_cycles", "transfers": "transfers_cycles", "offload": "offload_cycles"}
        for cause, column in {**own, "external memory": "wait_cycles"}.items():
            assert sum(int(row[column]) for row in written) == report.totals.causes.get(cause, 0)
    for layer in report.layers:
        chosen = [offer.cycles for offer in layer.candidates if offer.module == layer.module and offer.cycles]
        assert not chosen or abs(chosen[0] - (layer.cycles - layer.wait_cycles)) <= 1, layer.name

    compiled.save_timeline(folder / "timeline.json")
    made = msgspec.json.decode((folder / "timeline.json").read_bytes(), type=Document)
    cycle = 1e6 / report.target.clock_hz
    found = lanes(made)
    assert len(found["layers"]) == len(rows)
    ends = [(bar.ts + bar.dur) / cycle for bar in found["layers"]]
    assert abs(ends[-1] - total) <= 0.5 * len(rows), "rows are rounded, and times are not"
    assert compiled.cycles == pytest.approx(ends[-1], rel=1e-9)
    gaps = [*gaps_between(found["layers"]), *gaps_between(found.get("core", found["layers"]))]
    assert max(map(abs, gaps), default=0.0) <= 1e-3 * cycle, "the core is explained for all of the time"
    for name, bars in found.items():
        assert min(gaps_between(bars), default=0.0) >= -1e-3 * cycle, name
        assert max((bar.ts + bar.dur) / cycle for bar in bars) <= ends[-1] + 1e-3, name


def gaps_between(bars: list[Mark]) -> Iterator[float]:
    """Microseconds between the end of each bar and the beginning of the next."""
    return (b.ts - a.ts - a.dur for a, b in pairwise(bars))


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.sweep) for name in NAMES]
)
def test_networks(name: str, tmp_path: Path) -> None:
    """With everything in main memory, and with as much of it as holds four fifths of the network."""
    model = FOLDER / f"{name}.tflite"
    whole = match.compile(model, "gap9")
    check(whole, tmp_path)
    try:
        placed = match.compile(model, "gap9", l2=whole.report.totals.l2_peak_bytes * 4 // 5)
    except match.CapacityError:
        return  # a network of little more than one layer
    assert placed.report.memory is not UNSET or placed.report.totals.l2_peak_bytes < whole.report.totals.l2_peak_bytes
    check(placed, tmp_path)


@pytest.mark.parametrize(("name", "l2"), [("resnet8", 34000), ("ds_cnn", 30000)])
def test_waits_for_external_memory_are_in_the_rows(name: str, l2: int, tmp_path: Path) -> None:
    """And the lane of the external memory has all of its traffic."""
    compiled = match.compile(integers(name), "gap8", l1=20000, l2=l2)
    check(compiled, tmp_path)
    memory = compiled.report.memory
    assert memory is not UNSET
    waits = {layer.name: layer.wait_cycles for layer in compiled.report.layers}
    assert sum(waits.values()) > 0
    exposed = {step.name: step.exposed_cycles for step in memory.steps if not step.cut}
    shared = exposed.keys() & waits.keys()
    assert [waits[name] for name in shared] == pytest.approx([exposed[name] for name in shared], abs=1)
    found = lanes(msgspec.json.decode((tmp_path / "timeline.json").read_bytes(), type=Document))
    strips = [bar for bar in found["DMA L3"] if bar.name.endswith("in strips")]
    moved = sum(bar.dur for bar in found["DMA L3"] if bar not in strips) * compiled.report.target.clock_hz / 1e6
    assert moved == pytest.approx(memory.traffic_cycles, rel=1e-3) or strips
    starts = [bar.name for bar in found["core"] if bar.name.startswith("fetch constants of ")]
    assert len(starts) == sum(step.constants == "fetched" for step in memory.steps)
