"""${title}: its description holds together, its kernels compute what they should, and a network runs on it."""

from __future__ import annotations

% if scratchpad:
import match
% endif
from match.devtools.check import check_target
from match.devtools.demo import run_demo

from ${name}.target import ${title}


def test_layers_of_every_pattern_equal_tvm() -> None:
    """The module's C computes what TVM's C does, and no pattern is idle."""
    check = check_target(${title}())
    assert check.problems == ()
    assert all(coverage.taken for coverage in check.coverage)


% if scratchpad:
def test_small_scratchpads_force_tiles() -> None:
    """The same where layers have to be cut."""
    assert check_target(match.get_target(${title}(), l1=4096)).problems == ()


% endif
def test_digits() -> None:
    """A trained network still reads digits."""
    result = run_demo("${name}")
    assert result.right > 0.95 * result.images
    assert any(layer.module != "cpu" for layer in result.report.layers)
