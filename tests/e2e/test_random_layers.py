"""Random layers of every pattern of both modules, from Relay to the outputs of the generated C, against NumPy.

Layers are compiled a batch at a time into one project, with an L1 small enough to force tiles; C is built with the
address and undefined-behaviour sanitizers. What fits no module runs on the CPU and has to be right too.
"""

from __future__ import annotations

import copy
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import match
from match.dispatch.plan import LayerDecision
from match.partitioning.layouts import LAYOUT
from match.target.cost import CpuCostModel
from tests.e2e.random_layers import LayerCase, diana_shaped, inputs_of, layer_cases, module, windowed

pytestmark = pytest.mark.cc

BATCH = 20
DIANA_BATCH = 7
"""What fits DIANA's 512 kB."""


class SlowCore(CpuCostModel):
    """A control core that does nothing well but laying out tensors, so that modules get layers alone among these."""

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        return 1.0 if op == LAYOUT else 1e9 + macs + outputs


def with_slow_core(name: str) -> match.MatchTarget:
    target = copy.copy(match.get_target(name))
    target.cpu_cost_model = SlowCore()
    return target


def check(
    cases: list[LayerCase], target: str | match.MatchTarget, modules: tuple[str, ...], l1: int
) -> Counter[tuple[str, str]]:
    """Compile and run a batch; returns how many layers of each operator were each module's."""
    return Counter((decision.module, decision.op) for decision in checked(cases, target, modules, l1))


def checked(
    cases: list[LayerCase], target: str | match.MatchTarget, modules: tuple[str, ...], l1: int
) -> tuple[LayerDecision, ...]:
    """Compile and run a batch; returns what was decided."""
    compiled = match.compile(module(cases), target, modules=modules, l1=l1, numerics="exact", fuse=False)
    inputs = inputs_of(cases, cases[0].seed)
    outputs = list(compiled.run(inputs, sanitize=True).values())
    for index, (case, output) in enumerate(zip(cases, outputs, strict=True)):
        arguments = [inputs[f"x{index}_{j}"] for j in range(case.inputs)]
        expected = case.reference(*arguments)
        assert np.array_equal(output, expected), f"{case}: {np.count_nonzero(output != expected)} outputs differ"
    return compiled.layers


def batches(examples: int) -> settings:
    """Settings for a property over batches, which name the layer that fails; shrinking them would take hours."""
    return settings(
        max_examples=examples,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
            HealthCheck.filter_too_much,  # of a batch, in which each layer may have been drawn again
        ],
    )


batch = st.lists(layer_cases, min_size=BATCH, max_size=BATCH)
l1_sizes = st.sampled_from((4096, 8192, 16384, 131072))
diana_batch = st.lists(diana_shaped(), min_size=DIANA_BATCH, max_size=DIANA_BATCH)
diana_l1_sizes = st.sampled_from((4096, 8192, 24576, 262144))


@pytest.mark.parametrize(
    ("target", "modules", "examples"),
    [("gap9", ("cluster",), 2), ("gap9", ("cluster", "ne16"), 4), ("gap8", ("cluster",), 2)],
    ids=["gap9-cluster", "gap9", "gap8"],
)
def test_layers_equal_their_definition(target: str, modules: tuple[str, ...], examples: int) -> None:
    seen: Counter[tuple[str, str]] = Counter()

    @batches(examples)
    @given(batch, l1_sizes)
    def property_holds(cases: list[LayerCase], l1: int) -> None:
        seen.update(check(cases, target, modules, l1))

    property_holds()
    assert set(modules) <= {name for name, _ in seen}


def test_a_product_may_need_more_bits_than_its_sum() -> None:
    case = LayerCase("depthwise", 13, 13, 12, 16, stride=(1, 2), input_zero_point=125, activation="relu6", seed=752225)
    assert check([case], "gap9", ("cluster",), 8192)["cluster", "depthwise_conv2d"] == 1


def test_layers_on_diana_equal_their_definition() -> None:
    seen: Counter[tuple[str, str]] = Counter()

    @batches(8)
    @given(diana_batch, diana_l1_sizes)
    def property_holds(cases: list[LayerCase], l1: int) -> None:
        seen.update(check(cases, with_slow_core("diana"), ("digital",), l1))

    property_holds()
    for op in ("conv2d", "depthwise_conv2d", "dense", "add"):
        assert seen["digital", op]


def test_layers_with_many_input_channels_equal_their_definition() -> None:
    """So many that the cluster adds them up a tile at a time: those of an im2col vector for each core do not fit."""
    filters = st.tuples(st.integers(3, 5), st.integers(3, 5))
    large = windowed("conv2d", filters, 2).filter(lambda case: case.c > 24 and case.k > 8)
    cut = 0

    @batches(3)
    @given(st.lists(large, min_size=10, max_size=10), st.sampled_from((6144, 8192)))
    def property_holds(cases: list[LayerCase], l1: int) -> None:
        nonlocal cut
        decisions = checked(cases, "gap9", ("cluster",), l1)
        cut += sum(decision.plan is not None and decision.plan.schedule.partial_bytes > 0 for decision in decisions)

    property_holds()
    assert cut > 10


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("modules", "examples"), [(("cluster",), 50), (("cluster", "ne16"), 250)], ids=["cluster", "both"]
)
def test_many_layers_equal_their_definition(modules: tuple[str, ...], examples: int) -> None:
    @batches(examples)
    @given(batch, l1_sizes)
    def property_holds(cases: list[LayerCase], l1: int) -> None:
        check(cases, "gap9", modules, l1)

    property_holds()


@pytest.mark.sweep
def test_many_layers_on_diana_equal_their_definition() -> None:
    @batches(200)
    @given(diana_batch, diana_l1_sizes)
    def property_holds(cases: list[LayerCase], l1: int) -> None:
        check(cases, "diana", ("digital",), l1)

    property_holds()
