"""Options by name, and the time that phases take."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from match.compilation.options import Numerics, Options
from match.compilation.stopwatch import Stopwatch
from match.errors import OptionError

pytestmark = pytest.mark.unit


def test_known_options() -> None:
    assert Options.parse("exact", "latency", "exact", 1, False) == Options("exact", "latency", Numerics.EXACT)


def test_jobs_and_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MATCH_CACHE_DIR", str(tmp_path / "mine"))
    monkeypatch.setattr("match.compilation.options.available_processors", lambda: 5)
    options = Options.parse("exact", "latency", "exact")
    assert options.cache == tmp_path / "mine"
    assert options.jobs == 5
    assert Options.parse("exact", "latency", "exact", cache=tmp_path / "other").cache == tmp_path / "other"
    monkeypatch.delenv("MATCH_CACHE_DIR")
    usual = Options.parse("exact", "latency", "exact", 3)
    assert usual.cache is not None
    assert "match" in str(usual.cache)
    assert usual.jobs == 3


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("magic", "latency", "exact"), "engine 'magic'"),
        (("exact", "beauty", "exact"), "objective 'beauty'"),
        (("exact", "latency", "exact", 0), "number of jobs must be at least 1, not 0"),
        (("exact", "latency", "exact", 1, 3), "cache is True, False or a folder, which is a path, not 3"),
        (("exact", "latency", "float"), "numerics 'float' is unknown; choose one of: hardware, exact"),
    ],
)
def test_unknown_options(options: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        Options.parse(*options)


@pytest.mark.parametrize(
    ("numerics", "rescale", "reason"),
    [("hardware", "yes", "rescale is whether"), ("exact", True, "numerics 'exact' keeps them; leave one out")],
)
def test_rescale_is_checked(numerics: str, rescale: Any, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        Options.parse("exact", "latency", numerics, rescale=rescale)


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
        Options.parse("exact", "latency", numerics, quantize_recurrent=asked)
