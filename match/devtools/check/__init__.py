"""Checks a target as its author would like to be told: what is wrong, in one sentence each."""

from __future__ import annotations

from dataclasses import dataclass

from match.compilation.stopwatch import Progress, unheard
from match.devtools.check.description import description_problems
from match.devtools.check.execution import Coverage, execution_problems
from match.target.hardware import MatchTarget

__all__ = ["Check", "Coverage", "check_target"]


@dataclass(frozen=True)
class Check:
    """Sentences about what is wrong with a target, and what was run to find that out."""

    problems: tuple[str, ...]
    coverage: tuple[Coverage, ...]


def check_target(target: MatchTarget, progress: Progress = unheard) -> Check:
    """Check a description, then compile and run small layers of every pattern on this machine.

    Each layer's outputs are compared, byte by byte, with those of TVM's C for the same layer. What the description
    gets wrong is reported first; layers are tried only when nothing is. `progress` is told what is tried.

    Raises:
        ToolchainError: there is no C compiler or make.
    """
    problems = description_problems(target)
    if problems:
        return Check(problems, ())
    problems, coverage = execution_problems(target, progress)
    return Check(problems, coverage)
