"""Options by name, and the time that phases take."""

from __future__ import annotations

import dataclasses
import re
import time
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from match.compilation.arguments import CompileArguments, PartitionArguments
from match.compilation.options import Numerics, Options
from match.compilation.stopwatch import Stopwatch
from match.errors import OptionError

pytestmark = pytest.mark.unit


def test_known_options() -> None:
    assert Options.parse(numerics="exact", jobs=1, cache=False) == Options(numerics=Numerics.EXACT)


def test_jobs_and_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MATCH_CACHE_DIR", str(tmp_path / "mine"))
    monkeypatch.setattr("match.compilation.options.available_processors", lambda: 5)
    options = Options.parse(numerics="exact")
    assert options.cache == tmp_path / "mine"
    assert options.jobs == 5
    assert Options.parse(numerics="exact", cache=tmp_path / "other").cache == tmp_path / "other"
    monkeypatch.delenv("MATCH_CACHE_DIR")
    usual = Options.parse(numerics="exact", jobs=3)
    assert usual.cache is not None
    assert "match" in str(usual.cache)
    assert usual.jobs == 3


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"engine": "magic"}, "engine 'magic'"),
        ({"objective": "beauty"}, "objective 'beauty'"),
        ({"jobs": 0}, "number of jobs must be at least 1, not 0"),
        ({"cache": 3}, "cache is True, False or a folder, which is a path, not 3"),
        ({"numerics": "float"}, "numerics 'float' is unknown; choose one of: hardware, exact"),
        ({"rescale": "yes"}, "rescale is whether"),
        ({"numeric": "exact"}, "there is no option 'numeric' here; choose among: at_most, cache, calibrate"),
        ({"in_place": "never"}, "there is no option 'in_place' here"),
    ],
)
def test_unknown_options(options: Any, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        Options.parse(**options)


def test_every_argument_is_an_option() -> None:
    fields = {field.name for field in dataclasses.fields(Options)}
    assert fields - {*get_type_hints(CompileArguments)} == {"in_place", "off_core"}
    assert {*get_type_hints(PartitionArguments)} < {*get_type_hints(CompileArguments)} < fields


def test_every_argument_is_described() -> None:
    docs = (PartitionArguments.__doc__ or "") + (CompileArguments.__doc__ or "")
    assert re.findall(r"^    (\w+): ", docs, re.MULTILINE) == [*CompileArguments.__annotations__]


@pytest.mark.parametrize(
    ("numerics", "rescale", "reason"),
    [("hardware", "yes", "rescale is whether"), ("exact", True, "numerics 'exact' keeps them; leave one out")],
)
def test_rescale_is_checked(numerics: str, rescale: Any, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        Options.parse(numerics=numerics, rescale=rescale)


def test_inner_phases_are_taken_off_the_outer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 3.0, 10.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    stopwatch = Stopwatch()
    with stopwatch.phase("outer"), stopwatch.phase("inner"):
        pass
    assert stopwatch.seconds == {"outer": 1.0 + 7.0, "inner": 2.0}


def test_phases_add_up_also_when_they_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 5.0, 7.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    stopwatch = Stopwatch()
    for error in (KeyError, None):
        try:
            with stopwatch.phase("work"):
                if error:
                    raise error
        except KeyError:
            pass
    assert stopwatch.seconds == {"work": 3.0}


@pytest.mark.parametrize(
    ("numerics", "asked", "reason"),
    [("hardware", "yes", "quantize_recurrent is whether"), ("exact", True, "numerics 'exact' keeps it; leave one out")],
)
def test_quantize_recurrent_is_checked(numerics: str, asked: Any, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        Options.parse(numerics=numerics, quantize_recurrent=asked)
