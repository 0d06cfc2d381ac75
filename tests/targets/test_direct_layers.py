"""Layers on modules without a scratchpad compute their definition, on a PC with sanitizers."""

from __future__ import annotations

import numpy as np
import pytest

from match.analysis.simulate import simulate
from match.analysis.trace import LayerTrace
from match.target.registry import get_target
from tests.codegen.harness import traced_run
from tests.targets.direct_layers import layers

pytestmark = pytest.mark.cc


@pytest.mark.parametrize("name", ["cortex_m4", "cortex_m55", "gap9"])
@pytest.mark.parametrize("count", [3, pytest.param(20, marks=pytest.mark.sweep)])
def test_layers_equal_their_definition(name: str, count: int) -> None:
    """Every operator has scratch of exactly the bytes that the cost model says; the trace is what is simulated."""
    target = get_target(name, modules=["core"])
    (module,) = target.modules
    plans, cases = zip(*layers(target, count), strict=True)
    outputs, traced = traced_run(plans, [layer.case for layer in cases], target=target)
    for plan, layer, output, trace in zip(plans, cases, outputs, traced, strict=True):
        if layer.case.layer.input_dtype != "int8":
            assert np.array_equal(output, layer.case.expected()), layer.case.layer
        timeline = simulate(plan.schedule, module.cost(plan.layer, plan.requantizer))
        assert trace == LayerTrace(plan.symbol, timeline.actions)
