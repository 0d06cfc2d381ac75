"""Networks with chains and groups, from the model to the outputs of the generated C: single layers' integers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import match
from match.dispatch.plan import LayerDecision
from match.ir.layer import GROUP, Group, Padding, Role
from match.relay import relay, tvm
from tests import layers_in_relay
from tests.devtools.zoo.reference import noise, small
from tests.passes.networks import requantization, weights
from tests.passes.running import executable

pytestmark = pytest.mark.cc

SAMPLE = ("mobilenet_v1", "gap8", 16000, "latency")
CASES = (
    SAMPLE,
    ("resnet8", "gap9", 24000, "bytes"),
    pytest.param("mobilenet_v2", "gap8", 16000, "bytes", marks=pytest.mark.sweep),
    pytest.param("mobilenet_v2", "gap8", 36700, "latency", marks=pytest.mark.sweep),
    pytest.param("ds_cnn", "pulp_open", 8192, "latency", marks=pytest.mark.sweep),
)


@cache
def compiled(name: str, target: str, l1: int, objective: str, fuse: bool) -> match.CompiledModel:
    return match.compile(small(name, "uint8"), target, modules=["cluster"], l1=l1, objective=objective, fuse=fuse)


def chains(model: match.CompiledModel) -> list[LayerDecision]:
    return [layer for layer in model.layers if layer.plan and layer.plan.layer.fused]


def moved(model: match.CompiledModel) -> int:
    """Bytes that the network moves, those that the control core reads and writes included."""
    taken = [offer for layer in model.layers for offer in layer.candidates if offer.module == layer.module]
    return sum(offer.cost.moved_bytes for offer in taken if offer.cost)


@pytest.mark.parametrize(("name", "target", "l1", "objective"), CASES)
def test_chains_compute_the_integers_of_their_layers(name: str, target: str, l1: int, objective: str) -> None:
    fused, alone = (compiled(name, target, l1, objective, fuse) for fuse in (True, False))
    assert chains(fused)
    assert not chains(alone)
    assert fused.report.options.fuse
    assert not alone.report.options.fuse
    (tensor,) = fused.report.model.inputs
    sample = {tensor.name: noise(small(name, "uint8"), 1)[0]}
    outputs, traces = fused.trace(sample, sanitize=True)
    expected = alone.run(sample)
    assert all(np.array_equal(outputs[key], value) for key, value in expected.items())
    planned = {layer.plan.symbol: layer for layer in fused.layers if layer.plan}
    assert [trace.symbol for trace in traces] == list(planned), "decisions stand in the order of execution"
    for trace, layer in zip(traces, planned.values(), strict=True):
        timeline = fused.simulate(layer)
        assert trace.actions == timeline.actions, layer.name
        assert timeline.cycles == pytest.approx(layer.cycles, rel=1e-12), layer.name
    if objective == "latency":
        assert fused.cycles <= alone.cycles
    else:
        assert moved(fused) < moved(alone)


@pytest.mark.parametrize(("fy", "fx"), [(2, 1), (1, 2)])
def test_padding_belongs_to_one_operator_of_a_chain(fy: int, fx: int) -> None:
    """A depthwise filter of one column (or row) is padded along one axis, the convolution after it along both."""
    rng = np.random.default_rng(1)
    x = relay.var("x", shape=(1, 8, 6, 8), dtype="uint8")
    hidden = layers_in_relay.conv2d(
        x,
        weights(rng, fy, fx, 8, 1),
        requantization(rng, 2, 8, (0, 255)),
        "uint8",
        groups=8,
        kernel_layout="HWOI",
        padding=Padding(0, 0, fy - 1, fx - 1),
        pad_value=7,
    )
    last = layers_in_relay.conv2d(
        hidden,
        weights(rng, 3, 3, 8, 4),
        requantization(rng, 72, 4, (0, 255)),
        "uint8",
        padding=Padding(1, 1, 1, 1),
        pad_value=90,
    )
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], last)))
    fused = match.compile(module, "gap8", modules=["cluster"], numerics="exact", objective="bytes")
    assert [layer.op for layer in fused.layers] == ["depthwise_conv2d+conv2d"]
    sample = {"x": rng.integers(0, 256, (1, 8, 6, 8)).astype(np.uint8)}
    (found,) = fused.run(sample, sanitize=True).values()
    assert np.array_equal(found, executable(module)(sample)[0])


def test_what_lies_between_operators_is_in_no_main_memory() -> None:
    fused = compiled(*SAMPLE, fuse=True)
    for layer in chains(fused):
        assert layer.plan
        roles = [operand.role for operand in layer.plan.schedule.operands]
        if layer.op == GROUP:
            outside = {link for links in layer.plan.layer.get(Group).links for link in links if link < 0}
            assert roles.count(Role.INPUT) == len(outside)
        else:
            assert roles.count(Role.INPUT) == 1 + ("add" in layer.op)
            assert layer.op.count("+") == len(layer.plan.operators) - 1
        assert roles.count(Role.OUTPUT) == 1
        assert layer.plan.schedule.scratch > 0 or layer.plan.schedule.plan
        assert layer.runner_up


@pytest.mark.parametrize(
    ("name", "l2"),
    [("mobilenet_v2", 48 * 1024), pytest.param("mobilenet_v2", 200 * 1024, marks=pytest.mark.sweep)],
)
def test_chains_in_external_memory(name: str, l2: int) -> None:
    """Constants of chains are fetched, or pass main memory in pieces, as those of layers."""
    fused, alone = (match.compile(small(name, "uint8"), "gap8", l1=16000, l2=l2, fuse=fuse) for fuse in (True, False))
    assert fused.report.memory
    assert fused.report.totals.cycles < alone.report.totals.cycles
    nested = [layer for layer in chains(fused) if layer.plan and layer.plan.external]
    assert len(chains(fused)) > len(nested)
    (tensor,) = fused.report.model.inputs
    sample = {tensor.name: noise(small(name, "uint8"), 1)[0]}
    outputs, traces = fused.trace(sample, sanitize=True)
    expected = alone.run(sample)
    assert all(np.array_equal(outputs[key], value) for key, value in expected.items())
    planned = {layer.plan.symbol: layer for layer in fused.layers if layer.plan}
    for trace in traces:
        assert trace.actions == fused.simulate(planned[trace.symbol]).actions, trace.symbol


def test_groups_that_main_memory_does_not_hold_are_smaller() -> None:
    """The blocks of a group take more main memory than those of its operators."""
    whole, short = (match.compile(small("mobilenet_v2", "uint8"), "gap8", l1=16000, l2=l2) for l2 in (None, 36 * 1024))
    assert short.report.memory
    most, less = (max(len(layer.plan.constants) for layer in chains(one) if layer.plan) for one in (whole, short))
    assert less < most
