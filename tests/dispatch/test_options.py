"""Options by name, and the time that phases take."""

from __future__ import annotations

import time

import pytest

from match.errors import OptionError
from match.options import Numerics, Options
from match.stopwatch import Stopwatch


def test_known_options() -> None:
    assert Options.parse("exact", "latency", "exact") == Options("exact", "latency", Numerics.EXACT)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("magic", "latency", "exact"), "engine 'magic'"),
        (("exact", "beauty", "exact"), "objective 'beauty'"),
        (("exact", "latency", "float"), "numerics 'float' is unknown; choose one of: hardware, exact"),
    ],
)
def test_unknown_options(options: tuple[str, str, str], reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        Options.parse(*options)


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
