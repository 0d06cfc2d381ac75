"""What a network needs of each memory of the chip, beside what the memory has."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

import match
from match.devtools import demo
from match.report import Report
from match.report.size_table import needs, show_sizes
from match.report.sizes import add_size
from match.run import read_manifest
from match.run.project import own_platform
from match.run.size import Size

pytestmark = pytest.mark.cc

DIGITS = Path(demo.__file__).with_name("digits.onnx")
SIZE = Size("bare", "-Os", 50_000, 30_000, 12, 700, 176, 928, 1296, {"cluster": 688, "ne16": 1296})


@dataclass
class Need:
    """A line: the memory, the bytes that are needed, those that there are, and what needs how many."""

    memory: str
    whole: int
    room: int | None
    parts: dict[str, int]


def read(line: str) -> Need:
    head, _, parts = line.removesuffix(".").partition(" bytes")
    memory, _, numbers = head.partition(": needs ")
    whole, _, room = numbers.replace(",", "").partition(" of ")
    named = (
        [part.partition(" ") for part in re.split(", (?=[0-9])", parts.rpartition(": ")[2])] if ": " in parts else []
    )
    return Need(memory, int(whole), int(room or 0) or None, {n: int(b.replace(",", "")) for b, _, n in named})


def report_of(target: str, l2: int | None = None) -> Report:
    return match.compile(DIGITS, target, l2=l2).report


def test_a_program_in_main_memory() -> None:
    report = report_of("pulp_open")
    whole = [read(line) for line in needs(report, SIZE)]
    main = whole[0]
    assert (main.memory, main.room) == ("L2", report.target.main_memory.bytes)
    constants, activations = report.totals.constant_bytes, report.totals.l2_peak_bytes - report.totals.constant_bytes
    assert main.parts == {
        "activations": activations,
        "constants": constants,
        "code": 50_000,
        "other constants": 30_000 - constants,
        "variables": 712,
        "stack": 176,
    }
    assert main.whole == sum(main.parts.values()) == report.totals.l2_peak_bytes + 80_888 - constants
    scratchpad = whole[1]
    schedules = [layer.schedule for layer in report.layers if layer.schedule]
    assert (scratchpad.memory, scratchpad.whole) == ("L1", max(one.memories[0].bytes for one in schedules))
    assert scratchpad.room == report.target.modules[0].memories[0].bytes
    assert len(whole) == 2


def test_what_is_not_measured_is_estimated() -> None:
    report = report_of("gap9")
    main = read(next(needs(report, None)))
    assert main.parts["estimated for the program"] == report.totals.program_bytes
    assert main.whole == report.totals.l2_peak_bytes + report.totals.program_bytes


def test_a_program_elsewhere_and_external_memory() -> None:
    report = report_of("pulp_open", l2=24 << 10)
    main, _, external, program = [read(line) for line in needs(report, SIZE)]
    assert (main.whole, main.room) == (report.totals.l2_peak_bytes, 24 << 10)
    assert external.memory == "L3"
    assert external.whole >= report.totals.constant_bytes
    assert (program.whole, program.room) == (80_888, None)


def test_more_than_there_is() -> None:
    (line, *_) = needs(report_of("pulp_open"), Size("bare", "-O0", 2_000_000, 0, 0, 0, None, None, None))
    assert "more than there are: " in line
    assert "(129" in line


def test_the_chips_own_platform_is_measured_by_default(tmp_path: Path) -> None:
    for target, own in (("gap9", "gap_sdk"), ("pulp_open", "bare"), ("diana", "host")):
        match.compile(DIGITS, target, output=tmp_path / target, modules=[])
        assert own_platform(read_manifest(tmp_path / target)).name == own
    match.compile(DIGITS, "pulp_open", output=tmp_path / "p")
    report = add_size(tmp_path / "p" / "report.json", SIZE)
    for is_own, words in ((True, "stack."), (False, "bare is not the chip")):
        console = Console(file=io.StringIO(), width=80)
        show_sizes(report, SIZE, console, own=is_own)
        assert isinstance(console.file, io.StringIO)
        text = console.file.getvalue()
        assert words in text
        assert "cluster 688" in text
        assert max(map(len, text.splitlines()[:5])) <= 80
