"""Measures groups of cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from benchmarks.rtl.case import Case
from benchmarks.rtl.fit import predicted
from benchmarks.rtl.measure import measure
from benchmarks.rtl.results import Measurement
from benchmarks.rtl.shapes import REQUIRED, fitted, required, tested
from benchmarks.rtl.simulator import Simulator
from match.cost_models.pulp_loops import step
from match.ir.layer import Layer, Op

GROUPS: dict[str, Callable[[], list[Case]]] = {"required": required, "fitted": fitted, "tested": tested}

_WORD = 4


def run(simulator: Simulator, groups: Sequence[str]) -> Iterator[Measurement]:
    """Each case of the groups, measured and predicted.

    Raises:
        ToolchainError: a kernel computes something else than NumPy.
    """
    for group in groups:
        for case in GROUPS[group]():
            yield Measurement(
                group=group,
                layer=case.name,
                form=case.form,
                macs=case.layer.macs,
                cycles=measure(simulator, case),
                predicted=round(predicted(case), 1),
                required=REQUIRED.get(case.name) if case.form == "int32" else None,
                bound=_bound(case.layer),
            )


def _bound(layer: Layer) -> float | None:
    """Multiply-accumulates a cycle of the block of accumulators that a matrix product is made of."""
    pixels = {Op.CONV2D: 2, Op.DENSE: 1}.get(layer.op)
    return None if pixels is None else 4 * pixels * _WORD / step(4, pixels)
