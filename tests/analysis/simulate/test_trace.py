"""Generated C, built with tracing on, does what `simulate` says: for every pattern of every module of every target."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from match.analysis.simulate import simulate
from match.analysis.trace import LayerTrace
from match.dispatch.plan import LayerPlan
from match.ir.layer import GATES, Dim, Op, Padding
from match.mapping.schedule import Loop
from match.target.hardware import HwModule, MatchTarget, Pattern
from match.target.registry import get_target, target_names
from tests.analysis.simulate.layers import accepted, planned, random_outer_memory
from tests.codegen.harness import plan, trace_of, traced_run
from tests.codegen.layers import Case, make
from tests.codegen.mock_target import MockModule
from tests.mapping.random_schedules import SteppedCost

pytestmark = pytest.mark.cc

SCHEDULES = 3

TWINS = {"cluster": ("gap8", "gap9", "pulp_open"), "ne16": ("gap9", "pulp_open")}
"""Chips on which a module has the same kernels, drivers and C of layers: each run tries a pattern on one, in turn."""


def patterns() -> Iterator[object]:
    """Every pattern of one operator of every module of every installed target that has a scratchpad.

    Those of several are in tests/codegen; an LSTM, whose constants follow from a whole network's, in tests/e2e.
    """
    for name in target_names():
        target = get_target(name)
        for module in target.modules:
            if module.direct:  # tests/targets/test_direct_layers.py
                continue
            single = (one for one in module.patterns() if not one.before and one.op not in GATES)
            for number, pattern in enumerate(single):
                twins = TWINS.get(module.name, (name,))
                marks = pytest.mark.sweep if twins[number % len(twins)] != name else ()
                yield pytest.param(target, module, pattern, id=f"{name}-{module.name}-{pattern.op}", marks=marks)


def simulated(item: LayerPlan, module: HwModule) -> LayerTrace:
    timeline = simulate(item.schedule, module.cost(item.layer, item.requantizer))
    return LayerTrace(item.symbol, timeline.actions)


@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.sweep)])
@pytest.mark.parametrize(("target", "module", "pattern"), list(patterns()))
def test_trace_equals_simulation(target: MatchTarget, module: HwModule, pattern: Pattern, count: int) -> None:
    """Every layer with several schedules, of which the last has blocks in main memory; all compute the same."""
    rng = random.Random(5)
    layers = list(itertools.islice(accepted(module, pattern, target, 7), count))
    assert len(layers) == count, "too few of the random layers are taken"
    plans: list[LayerPlan] = []
    for number, layer in enumerate(layers * SCHEDULES):
        names = [operand.name for operand in module.operands(layer.case.layer, layer.requantizer)]
        through = random_outer_memory(rng, names) if number >= count * (SCHEDULES - 1) else None
        plans.append(planned(module, layer, rng, f"layer_{number}", through=through))
    assert any(len(item.schedule.loops) > 1 for item in plans)
    outputs, traced = traced_run(plans, [layer.case for layer in layers * SCHEDULES], target=target)
    for number, (item, output, trace) in enumerate(zip(plans, outputs, traced, strict=True)):
        told = f"{item.layer} {item.schedule.loops} {item.schedule.placements}"
        assert trace == simulated(item, module), told
        assert np.array_equal(output, outputs[number % count]), told
    for layer, output in zip(layers, outputs, strict=False):
        if layer.case.layer.input_dtype != "int8":
            assert np.array_equal(output, layer.case.expected()), layer.case.layer


def streamed() -> tuple[LayerPlan, Case]:
    """Three loops, everything doubly buffered."""
    case = make(Op.CONV2D, 3, 10, 9, 8, window=(3, 3), padding=Padding(1, 1, 1, 1))
    loops = [Loop(Dim.K, 4, 10), Loop(Dim.OY, 3, 9), Loop(Dim.OX, 5, 8)]
    item = plan(case, loops, {"input": 3, "weights": 1, "output": 3}, {"input": 2, "weights": 2, "output": 2})
    return item, case


def replaced(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert text.count(old) == 1, f"{old} is {text.count(old)} times in the C"
        return text.replace(old, new)

    return change


def late_prefetch(text: str) -> str:
    """The next input is fetched behind the kernel, not beside it: the outputs are the same."""
    found = re.search(r"if \(more_ox\) \{.*?\n +\}\n", text, re.DOTALL)
    assert found
    computed = re.search(r"MATCH_TRY\(match_on_unit_compute\([^;]*;\n", text)
    assert computed
    return text.replace(found[0], "").replace(computed[0], computed[0] + found[0])


def first_weights_before_input(text: str) -> str:
    """Two fetches change places: the outputs are the same."""
    found = re.search(r"( +fetch_input\([^;]*;\n)( +fetch_weights\([^;]*;\n)", text)
    assert found
    return text.replace(found[0], found[2] + found[1])


def early_wait(text: str) -> str:
    """Each write-back is waited for at once: the outputs are the same."""
    started = re.search(r" +store_output\(&(.*?), [^;]*;\n", text)
    assert started
    return text.replace(started[0], f"{started[0]}MATCH_TRY(match_on_unit_wait(&{started[1]}));\n")


MUTATIONS = {
    "late prefetch": late_prefetch,
    "fetches that change places": first_weights_before_input,
    "early wait": early_wait,
    "another row": replaced("input_rows_under(next_ox.oy, next_ox.oy + OY_TILE)", "input_rows_under(oy, oy + OY_TILE)"),
    "a channel of the input": replaced(".bytes = (uint32_t)(columns.count * IN_CHANNELS)", ".bytes = (uint32_t)1"),
    "weights of the first block": replaced("index * WEIGHTS_BYTES", "0 * index"),
    "channels of the first block": replaced("+ channels.first", "+ 0 * channels.first"),
    "a channel less": replaced(
        "tile.channels_out = output_channels.count", "tile.channels_out = output_channels.count - 1"
    ),
}


@pytest.mark.parametrize("change", MUTATIONS.values(), ids=MUTATIONS)
def test_faults_show(change: Callable[[str], str]) -> None:
    item, case = streamed()
    expected = simulated(item, SteppedModule())
    assert trace_of([item], [case]) == [expected]
    assert trace_of([item], [case], change=change) != [expected]


class SteppedModule(MockModule):
    """The mock with a cost model."""

    cost_model = SteppedCost()
