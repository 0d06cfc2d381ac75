"""Small chains, as a module's patterns of several operators are tried on them, and its groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from match.devtools.check.builds import SAME, Build, Builds
from match.devtools.check.probes import Probe
from match.graph.value import Value
from match.ir.layer import Op, Padding
from match.target.hardware import Pattern

_SHAPE = (1, 8, 8, 16)
_POOLED = (Op.AVG_POOL2D, Op.MAX_POOL2D)
_BESIDE = (Op.ADD, Op.MULTIPLY)
"""Operators of two maps; a chain hands on the first."""


def chain_probes(patterns: Iterable[Pattern], dtype: str) -> Iterator[Probe]:
    """For each pattern of several operators a chain on an 8x8x16 map; where it has convolutions, with two filters.

    Chains that go on after a pooling or after an operator of two maps are not tried, and neither are those with
    operators that are no part of chains.
    """
    for pattern in patterns:
        if not pattern.before or any(op in (*_POOLED, *_BESIDE) for op in pattern.before):
            continue
        for window in (3, 1) if Op.CONV2D in pattern.ops else (3,):
            builds = Builds(dtype)
            stages = [build for op in pattern.ops if (build := _stage(op, window, builds)) is not None]
            if len(stages) == len(pattern.ops):
                what = f"{pattern.name} on an 8x8x16 map, convolutions {window}x{window}"
                inputs = 2 if pattern.op in _BESIDE else 1
                yield Probe(pattern.op, what, dtype, _SHAPE, inputs, _one_by_one(stages), pattern.name)


def first_of_groups(patterns: Iterable[Pattern]) -> Op | None:
    """The operator of a module that small groups begin with: one that reads a single map; None where there is none."""
    return next((op for op in _small(patterns) if op not in (*_POOLED, *_BESIDE)), None)


def group_probes(first: Op, patterns: Iterable[Pattern], dtype: str) -> Iterator[Probe]:
    """Each operator of a module after another one, of that module or of one that shares its memory."""
    yield from chain_probes([Pattern(op, before=(first,)) for op in _small(patterns)], dtype)


def _small(patterns: Iterable[Pattern]) -> list[Op]:
    """The operators of patterns that small chains and groups have."""
    builds = Builds("uint8")
    return [one.op for one in patterns if not one.before and _stage(one.op, 3, builds) is not None]


def _stage(op: Op, window: int, builds: Builds) -> Build | None:
    match op:
        case Op.CONV2D:
            return builds.convolution(16, 16, window, 1, SAME if window == 3 else Padding())
        case Op.DEPTHWISE_CONV2D:
            return builds.convolution(16, 16, 3, 1, SAME, depthwise=True)
        case Op.GROUPED_CONV2D:
            return builds.convolution(16, 16, 3, 1, SAME, groups=4)
        case Op.ADD:
            return builds.addition()
        case Op.MULTIPLY:
            return builds.multiplication()
        case Op.LOOKUP:
            return builds.lookup()
        case Op.AVG_POOL2D:
            return builds.average()
        case Op.MAX_POOL2D:
            return builds.maximum()
        case _:
            return None


def _one_by_one(stages: Sequence[Build]) -> Build:
    def build(x: Value, *beside: Value) -> Value:
        for stage in stages[:-1]:
            x = stage(x)
        return stages[-1](x, *beside)

    return build
