"""Networks that main memory cannot hold compute what onnxruntime does, within the memory that they were given."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from msgspec import UNSET

import match
import match.external_memory.network
from benchmarks.memory.cli import NETWORKS, SIZES, Row, rows
from benchmarks.memory.networks import integers, onnxruntime_outputs, sample, take_integers
from match.analysis.simulate import simulate
from match.analysis.trace import LayerTrace
from match.devtools.zoo.layers import Input, ZooNetwork, conv, dense, pooled
from match.devtools.zoo.qdq import write
from match.devtools.zoo.quantize import calibrate
from match.errors import CapacityError, OptionError
from match.ir.names import identifier
from match.mapping.packing import Packed
from match.partitioning.partitioner import Partitioned
from match.placement.contents import packed
from match.placement.decide import Decision, Shortage, decide
from match.placement.problem import Choice, Cut, PlacementProblem
from match.report import Report
from match.report.schema import MemoryPlanSummary
from match.run import build
from match.search.problem import SearchProblem, Solution
from match.search.solve import solve
from match.target.external_cost import external_cost
from match.target.hardware import ProgramSize
from tests.devtools.zoo.reference import small

pytestmark = pytest.mark.cc

L1 = 20000


def memory_of(compiled: match.CompiledModel) -> MemoryPlanSummary:
    memory = compiled.report.memory
    assert isinstance(memory, MemoryPlanSummary)
    return memory


@pytest.mark.parametrize(
    ("name", "l2", "ways", "spilled"),
    [
        ("resnet8", 34000, {"resident", "fetched", "cut"}, True),
        pytest.param("resnet8", 90000, {"resident", "fetched"}, False, marks=pytest.mark.sweep),
        pytest.param("resnet8", 50000, {"fetched", "cut"}, True, marks=pytest.mark.sweep),
        pytest.param("ds_cnn", 30000, {"fetched"}, False, marks=pytest.mark.sweep),
    ],
)
def test_outputs_and_events(name: str, l2: int, ways: set[str], spilled: bool, tmp_path: Path) -> None:
    model = integers(name)
    compiled = match.compile(model, "gap8", l1=L1, l2=l2, output=tmp_path / "net", fuse=False)
    assert f"-DPULP_L2_BYTES={l2}" in (tmp_path / "net/Makefile").read_text().split()
    assert (tmp_path / "net/resnet8.bin").stat().st_size == memory_of(compiled).image_bytes
    one, other = sample(model, 1), sample(model, 2)
    both = {name: np.stack([one[name], other[name]]) for name in one}
    outputs, traces = compiled.trace(both, sanitize=True)
    expected = np.stack([onnxruntime_outputs(model, one), onnxruntime_outputs(model, other)])
    assert np.array_equal(next(iter(outputs.values())), expected)

    planned = [
        LayerTrace(layer.plan.symbol, compiled.simulate(layer).actions)
        for layer in compiled.layers
        if layer.plan is not None
    ]
    assert {trace.symbol: trace for trace in traces[: len(planned)]} == {trace.symbol: trace for trace in planned}
    assert len(traces) == 2 * len(planned)

    memory = memory_of(compiled)
    assert {step.constants for step in memory.steps} >= ways
    assert any(tensor.external for tensor in memory.tensors) is spilled
    assert memory.main_bytes <= l2 < memory.whole_bytes
    whole = match.compile(model, "gap8", l1=L1, l2=1 << 24, fuse=False).cycles
    assert compiled.cycles == pytest.approx(whole + memory.exposed_cycles, abs=len(memory.steps))
    assert compiled.report.totals.cycles == sum(round(layer.cycles) for layer in compiled.layers)


@pytest.mark.parametrize("decisions", [1, 2], ids=["fits", "decided_again"])
def test_constants_that_are_packed_longer_for_a_cut_layer_come_whole(
    decisions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And if they were too long to fit at first, which depends on what layers cost, it is decided again with them."""
    l1, l2 = 3000, 42500
    decided: list[PlacementProblem] = []

    def count(problem: PlacementProblem) -> Decision | Shortage:
        decided.append(problem)
        return decide(problem)

    def fitting(problem: PlacementProblem, choice: Choice, cuts: Mapping[int, Cut]) -> Packed | None:
        return packed(problem, choice, cuts) if len(decided) == decisions else None

    monkeypatch.setattr(match.external_memory.network, "decide", count)
    monkeypatch.setattr(match.external_memory.network, "packed", fitting)
    x = Input("image", (), (4, 24, 24), (0.0, 1.0))
    for name, channels, stride in (("first", 20, 1), ("wide", 77, 1), ("last", 36, 2)):
        x = conv(name, x, channels, (1, 1), stride)
    network = ZooNetwork("pointwise", dense("scores", pooled(x), 10))
    model = write(network, calibrate(network, "uint8", 0))
    take_integers(model)
    compiled = match.compile(model, "gap8", l1=l1, l2=l2, modules=["cluster"])
    assert len(decided) == decisions
    assert decided[-1].steps != decided[0].steps or decisions == 1
    whole = match.compile(model, "gap8", l1=l1, fuse=False, modules=["cluster"])
    before = {d.name: len(d.plan.constants) for d in whole.layers if d.plan}
    now = {d.name: len(d.plan.constants) for d in compiled.layers if d.plan}
    uncut = {step.name for step in memory_of(compiled).steps if step.constants != "cut"}
    assert any(now[name] > before[name] for name in uncut & now.keys()), "no layer is an example"
    assert memory_of(compiled).main_bytes <= l2
    inputs = sample(model)
    (output,) = compiled.run(inputs, sanitize=True).values()
    assert np.array_equal(output, onnxruntime_outputs(model, inputs))


def test_the_emulator_computes_the_same(qemu: None) -> None:
    model = integers("ds_cnn")
    inputs = sample(model, 1)
    outputs, measured = match.compile(model, "gap8", l1=L1, l2=30000).measure(inputs, on="qemu")
    assert np.array_equal(next(iter(outputs.values())), onnxruntime_outputs(model, inputs))
    assert measured.unit == "instructions"


def test_the_platforms_of_a_project_are_those_with_external_memory(tmp_path: Path) -> None:
    match.compile(integers("ds_cnn"), "gap8", l1=L1, l2=30000, output=tmp_path / "net")
    with pytest.raises(OptionError, match="no platform 'rtl'; choose one of host, qemu, gap_sdk"):
        build(tmp_path / "net", "rtl")


def test_a_network_that_fits_is_as_without_external_memory(tmp_path: Path) -> None:
    compiled = match.compile(integers("resnet8"), "gap8", output=tmp_path / "net")
    assert not isinstance(compiled.report.memory, MemoryPlanSummary)
    assert "EXTERNAL" not in (tmp_path / "net/include/resnet8.h").read_text()
    assert not any("external" in path.name for path in tmp_path.rglob("*"))


def test_the_network_has_what_the_program_leaves() -> None:
    """One of two programs that differ in one byte, for all operators together, leaves room for the whole network."""
    target = copy.copy(match.get_target("gap8", l1=L1))
    target.program = ProgramSize(fixed=0, operator=1)
    totals = match.compile(integers("resnet8"), target, fuse=False).report.totals
    operators, free = totals.program_bytes, target.main_memory.size - totals.l2_peak_bytes
    assert operators >= 13
    target.program = ProgramSize(fixed=free - 10 * operators, operator=10)
    fits = match.compile(integers("resnet8"), target, fuse=False)
    assert fits.report.memory is UNSET
    assert fits.report.totals.program_bytes == free
    target.program = replace(target.program, fixed=target.program.fixed + 1)
    outside = match.compile(integers("resnet8"), target, fuse=False)
    assert memory_of(outside).main_bytes + outside.report.totals.program_bytes <= target.main_memory.size
    target.program = replace(target.program, fixed=target.main_memory.size - 20000)
    with pytest.raises(CapacityError, match=r"bytes short.*, and an estimated \d+ for the program; "):
        match.compile(integers("resnet8"), target)
    target.external = None
    with pytest.raises(CapacityError, match=r"for constants .*, an estimated \d+ for the program and \d+ for activ"):
        match.compile(integers("resnet8"), target)


def wide() -> onnx.ModelProto:
    """A convolution, and a dense layer of 160 KB of weights."""
    x = conv("first", Input("image", (), (4, 24, 24), (0.0, 1.0)), 160, (3, 3), 2)
    network = ZooNetwork("wide", dense("scores", pooled(x), 1000))
    model = write(network, calibrate(network, "uint8", 0))
    take_integers(model)
    return model


def test_layers_that_are_equal_in_several_ways_to_cut_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if nothing is kept for the next compilation."""
    searched: list[object] = []
    placed: list[PlacementProblem] = []

    def count(problem: SearchProblem) -> Solution:
        operators = tuple(replace(layer, name="") for layer in problem.layer.operators)
        searched.append((problem.module, operators, problem.operands, problem.memories, problem.multiples))
        return solve(problem)

    def note(problem: PlacementProblem) -> Decision | Shortage:
        placed.append(problem)
        return decide(problem)

    monkeypatch.setattr("match.search.solutions.solve", count)
    monkeypatch.setattr("match.external_memory.network.decide", note)
    match.compile(wide(), "gap8", l2=180_000, cache=False, jobs=1, modules=["cluster"])
    assert len(placed) >= 3
    assert len(searched) > len(placed)
    assert len(set(searched)) == len(searched)


@pytest.mark.parametrize(("l2", "compared"), [(60_000, 5), (90_000, 2)])
def test_ways_to_cut_that_cannot_be_cheaper_are_not_placed(
    l2: int, compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 90,000 bytes ResNet8 waits less than all of its chains save with everything in L2."""
    placed: list[PlacementProblem] = []

    def note(problem: PlacementProblem) -> Decision | Shortage:
        placed.append(problem)
        return decide(problem)

    model = integers("resnet8")
    monkeypatch.setattr("match.external_memory.network.decide", note)
    compiled = match.compile(model, "gap8", l1=L1, l2=l2, modules=["cluster"])
    assert len(placed) == compared
    single = match.compile(model, "gap8", l1=L1, l2=l2, fuse=False, modules=["cluster"])
    monkeypatch.setattr(Partitioned, "less_joined", lambda *_: None)
    monkeypatch.setattr(Partitioned, "not_joined", lambda *_: iter(()))
    joined = match.compile(model, "gap8", l1=L1, l2=l2, modules=["cluster"])
    assert compiled.cycles <= min(single.cycles, joined.cycles)


def test_groups_whose_constants_have_no_room_at_once_are_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last convolutions of ResNet8 have most of its weights: those of one come while another computes."""
    model = integers("resnet8")

    def joined() -> tuple[int, float]:
        compiled = match.compile(model, "gap9", l1=49_152, l2=81_920)
        return max(layer.constant_bytes or 0 for layer in compiled.report.layers if layer.operators), compiled.cycles

    some, cycles = joined()
    monkeypatch.setattr(Partitioned, "less_joined", lambda *_: None)
    monkeypatch.setattr(Partitioned, "not_joined", lambda *_: iter(()))
    every, more = joined()
    assert 2 * some < every
    assert 1.1 * cycles < more


def test_a_dense_layer_of_many_weights_stays_in_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its parts come one by one, most of them for good; as a whole it would come anew for each inference."""
    model = wide()
    onnx.save(model, tmp_path / "wide.onnx")
    compiled = match.compile(tmp_path / "wide.onnx", "gap8", l2=180_000, numerics="exact", output=tmp_path / "net")
    parts = [step for step in memory_of(compiled).steps if step.name.startswith("dense")]
    assert len(parts) == 3
    assert {step.constants for step in parts} == {"resident", "fetched"}
    cut = [layer for layer in compiled.report.layers if layer.parts > 1]
    assert {layer.parts for layer in cut} == {3}
    assert {layer.name for layer in cut} > {step.name for step in parts}, "what joins them, too"
    assert not any(layer.removed_channels for layer in compiled.report.layers)
    inputs = sample(model)
    (output,) = compiled.run(inputs, sanitize=True).values()
    assert np.array_equal(output, onnxruntime_outputs(model, inputs))
    validated = match.validate(tmp_path / "net", tmp_path / "wide.onnx", samples=1, layers=True)
    compared = {layer.name: layer.differing for layer in validated.layers or ()}
    assert compared.keys() >= {step.name for step in parts}
    assert not any(compared.values())
    monkeypatch.setattr(Partitioned, "with_split_dense", lambda *_: None)
    assert 1.5 * compiled.cycles < match.compile(model, "gap8", l2=180_000, numerics="exact").cycles


def test_a_network_that_does_not_fit_either_says_why() -> None:
    with pytest.raises(CapacityError, match=r"conv2d_\d+ is \d+ bytes short.* blocks of what it reads .*--l2") as error:
        match.compile(integers("resnet8"), "gap8", l1=L1, l2=20000)
    assert "gap8's L2 of 20000 bytes" in str(error.value)


def test_layers_are_compared_where_tensors_are_in_external_memory() -> None:
    """And where the network does not fit with its own requantization, whose cost is not known then."""
    x = Input("image", (), (4, 8, 8), (0.0, 1.0))
    for name, channels in (("first", 16), ("wide", 16), ("last", 4)):
        x = conv(name, x, channels, (1, 1))
    network = ZooNetwork("spilled", x)
    model = write(network, calibrate(network, "uint8", 0))
    take_integers(model)
    l1, l2 = 1000, 2252
    with pytest.raises(CapacityError, match="with --l2 2260 it fits"):
        match.compile(model, "gap8", l1=l1, l2=l2, numerics="exact", modules=["cluster"])
    compiled = match.compile(model, "gap8", l1=l1, l2=l2, modules=["cluster"])
    assert any(tensor.external for tensor in memory_of(compiled).tensors)
    validation = compiled.validate(samples=1, layers=True)
    assert validation.layers is not None
    assert len(validation.layers) == 5
    assert all(layer.largest <= layer.known_steps for layer in validation.layers)
    assert validation.exact is None


@pytest.mark.parametrize(
    ("name", "l1", "l2"),
    [("ds_cnn", 4000, 4000), pytest.param("resnet8", 2000, 3000, marks=pytest.mark.sweep)],
    ids=["placed", "whole"],
)
def test_the_least_main_memory_is_named(name: str, l1: int, l2: int) -> None:
    """A network that takes less as a whole than in pieces needs its own bytes."""
    with pytest.raises(CapacityError, match=r"; with --l2 \d+ it fits\.$") as error:
        match.compile(integers(name), "gap8", l1=l1, l2=l2, modules=["cluster"])
    (least,) = map(int, re.findall(r"--l2 (\d+)", str(error.value)))
    compiled = match.compile(integers(name), "gap8", l1=l1, l2=least, modules=["cluster"])
    assert (compiled.report.memory is UNSET) == (name == "resnet8")
    with pytest.raises(CapacityError, match=rf"; with --l2 {least} it fits\.$"):
        match.compile(integers(name), "gap8", l1=l1, l2=least - 1, modules=["cluster"])


def test_a_target_without_external_memory_says_how_much_is_short() -> None:
    with pytest.raises(CapacityError, match=r"so that \d+ are short: \d+ for constants .*no external memory"):
        match.compile(integers("resnet8"), "diana", l2=60000)


def test_external_memory_without_room_says_how_much_is_short() -> None:
    size = 60000
    target = copy.copy(match.get_target("gap8", l1=L1, l2=40000))
    assert target.external is not None
    target.external = replace(target.external, memory=replace(target.external.memory, size=size))
    with pytest.raises(CapacityError, match=rf"resnet8 needs \d+ bytes of gap8's L3, which has {size}") as error:
        match.compile(integers("resnet8"), target)
    needed, _, short = (int(number) for number in re.findall(r"\b\d{3,}\b", str(error.value)))
    assert needed - size == short > 0


@pytest.mark.sweep
@pytest.mark.parametrize("name", NETWORKS.split(","))
def test_large_networks(name: str) -> None:
    for row in rows(name, [int(size) for size in SIZES.split(",")]):
        assert isinstance(row, Row)
        assert row.same
        assert row.used <= row.l2
        assert row.cycles < 2 * row.whole


def test_modules_are_compared_on_the_layer_as_it_is_cut() -> None:
    """What the others would cost is that of a schedule in the same memories, event by event."""
    compiled = match.compile(integers("resnet8"), "gap9", l1=L1, l2=34000)
    target = match.get_target("gap9", l1=L1, l2=34000)
    assert target.external is not None
    cut = [layer for layer in compiled.layers if layer.plan is not None and layer.plan.external is not None]
    compared = 0
    for layer in cut:
        assert layer.plan is not None
        outer = layer.plan.schedule.memories[0]
        for candidate in layer.candidates:
            if candidate.schedule is None or candidate.cost is None:
                continue
            assert candidate.schedule.memories[0] == outer
            module = next(module for module in target.modules if module.name == candidate.module)
            cost = module.cost(candidate.schedule.layer, candidate.requantizer)
            timeline = simulate(candidate.schedule, external_cost(cost, target.external, outer.name))
            assert candidate.cost.cycles == pytest.approx(timeline.cycles)
            compared += candidate.module != layer.module
    assert compared >= 4


PROGRAM = """
#include <stdio.h>
#include "net.h"

static net_context_t contexts[2];
static _Alignas(NET_ALIGNMENT) uint8_t other[NET_WORKSPACE_IO_BYTES];

int main(void)
{
    printf("%d\\n", (int)match_platform_open());
    int begun = 0;
    for (int i = 0; i < 300; i++) { /* its part of external memory is one */
        begun += net_init(&contexts[0], net_workspace, sizeof net_workspace) == MATCH_OK;
    }
    printf("%d\\n", begun - 300);
    printf("%d\\n", (int)net_init(&contexts[1], other, sizeof other));
    for (int i = 0; i < 2; i++) {
        for (int n = 0; n < NET_INPUT_<IMAGE>_ELEMENTS; n++) {
            net_input_<image>(&contexts[i])[n] = (<type>)(n % (11 + 2 * i));
        }
    }
    for (int i = 0; i < 2; i++) {
        printf("%d\\n", (int)net_run(&contexts[i], NULL, NULL));
    }
    for (int i = 0; i < 2; i++) {
        for (int n = 0; n < NET_OUTPUT_<SCORES>_ELEMENTS; n++) {
            printf("%.9g ", (double)net_output_<scores>(&contexts[i])[n]);
        }
        printf("\\n%d\\n", (int)net_deinit(&contexts[i]));
    }
    (void)match_platform_close();
    return 0;
}
"""


def test_two_contexts_of_a_network_in_external_memory(tmp_path: Path) -> None:
    """Each has constants and activations of its own there; the interface is that of networks without."""
    model = integers("ds_cnn")
    compiled = match.compile(model, "gap8", l1=L1, l2=30000, name="net", output=tmp_path / "net")
    (tensor,), (result,) = compiled.report.model.inputs, compiled.report.model.outputs
    kind = "float" if tensor.dtype == "float32" else f"{tensor.dtype}_t"
    image, scores = identifier(tensor.name), identifier(result.name)
    names = {"IMAGE": image.upper(), "image": image, "SCORES": scores.upper(), "scores": scores, "type": kind}
    (tmp_path / "main.c").write_text(re.sub(r"<(\w+)>", lambda found: names[found[1]], PROGRAM))
    call("make", "-s", "-C", tmp_path / "net", "WERROR=1", "SANITIZE=address,undefined", "lib")
    archive = tmp_path / "net/build/host-address-undefined/libnet.a"
    symbols = {line.split()[-1] for line in call("nm", "-g", "--defined-only", archive).splitlines() if " " in line}
    assert "net_image_data" in symbols, "its image is its own, whatever else is in a program"
    assert not [name for name in symbols if not name.startswith(("net_", "match_", "__odr_asan"))]
    folders = (f"-I{tmp_path / 'net/include'}", f"-I{tmp_path / 'net/kernels/include'}")
    flags = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-pthread")
    call("cc", *flags, *folders, tmp_path / "main.c", archive, "-o", tmp_path / "main", "-lm")
    lines = call(tmp_path / "main").splitlines()
    assert [line for line in lines if not line.endswith(" ")] == ["0"] * 7
    flat = np.arange(np.prod(tensor.shape))
    for line, modulus in zip([line for line in lines if line.endswith(" ")], (11, 13), strict=True):
        given = (flat % modulus).astype(tensor.dtype).reshape(tensor.shape)
        wanted = onnxruntime_outputs(model, {tensor.name: given}).reshape(-1)
        assert np.array_equal(np.array(line.split(), np.float32), wanted)


def call(*command: object) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def by_objective() -> dict[tuple[str, str | None], Report]:
    """ResNet8 in 60,000 bytes, predicted for each objective and two bounds."""
    model = integers("resnet8")
    asked = (("latency", None), ("energy", None), ("edp", None), ("energy", "latency=1.02x"), ("bytes", "energy=1.05x"))
    return {one: match.predict(model, "gap8", l1=L1, l2=60_000, objective=one[0], at_most=one[1]) for one in asked}


def test_no_objective_is_worse_at_its_own_than_another(by_objective: dict[tuple[str, str | None], Report]) -> None:
    figures = {one: (found.totals.cycles, found.totals.energy_pj or 0.0) for one, found in by_objective.items()}
    assert all(isinstance(found.memory, MemoryPlanSummary) for found in by_objective.values())
    assert figures["energy", None][1] == min(energy for _, energy in figures.values())
    cycles, energy = figures["edp", None]
    assert cycles * energy == min(cycles * energy for cycles, energy in figures.values())
    cycles, energy = figures["energy", "latency=1.02x"]
    assert cycles <= 1.02 * figures["latency", None][0]
    assert figures["energy", None][1] <= energy <= figures["latency", None][1]
    assert figures["bytes", "energy=1.05x"][1] <= 1.05 * figures["energy", None][1]


def test_waits_and_bytes_of_external_memory_are_in_the_energy(
    by_objective: dict[tuple[str, str | None], Report],
) -> None:
    """Idle GAP8 takes 110 pJ a cycle, and a byte of HyperRAM 570."""
    report = by_objective["latency", None]
    offers = [
        next(c for c in one.candidates if c.module == one.module and c.cycles is not None) for one in report.layers
    ]
    added = sum(
        (one.energy_pj or 0.0) - (offer.energy_pj or 0.0) for one, offer in zip(report.layers, offers, strict=True)
    )
    fetched = sum(step.constant_bytes for step in memory_of_report(report).steps if step.constants == "fetched")
    waited = sum(one.wait_cycles for one in report.layers)
    assert fetched > 10_000
    assert added == pytest.approx(570.0 * fetched + 110.0 * waited, rel=1e-3)


def memory_of_report(report: Report) -> MemoryPlanSummary:
    assert isinstance(report.memory, MemoryPlanSummary)
    return report.memory


@pytest.mark.sweep
def test_a_cheaper_way_comes_after_ones_that_cost_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all smaller and smaller chains and groups none is cheaper than what is found before trials end."""
    found: list[int] = []
    for patience in (match.external_memory.network.PATIENCE, sys.maxsize, 1):
        monkeypatch.setattr(match.external_memory.network, "PATIENCE", patience)
        found.append(match.predict(small("mobilenet_v2", "uint8"), "gap8", l1=16000, l2=100 * 1024).totals.cycles)
    assert found[0] == found[1] < found[2]
