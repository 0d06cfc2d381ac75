"""Minichip: its description holds together, its kernels compute what they should, and a network runs on it."""

from __future__ import annotations

import match
from match.devtools.check import check_target
from match.devtools.demo import run_demo

from minichip.target import Minichip


def test_layers_of_every_pattern_equal_tvm() -> None:
    """The module's C computes what TVM's C does, and no pattern is idle."""
    check = check_target(Minichip())
    assert check.problems == ()
    assert all(coverage.taken for coverage in check.coverage)


def test_small_scratchpads_force_tiles() -> None:
    """The same where layers have to be cut."""
    assert check_target(match.get_target(Minichip(), l1=4096)).problems == ()


def test_digits() -> None:
    """A trained network still reads digits."""
    result = run_demo("minichip")
    assert result.right > 0.95 * result.images
    assert any(layer.module != "cpu" for layer in result.report.layers)
