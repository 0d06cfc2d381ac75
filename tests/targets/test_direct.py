"""Modules without a scratchpad: one kernel call for a layer, out of main memory, and what descriptions get wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import match
from match.analysis.simulate import simulate
from match.codegen.layer import generate
from match.devtools.check.description import description_problems
from match.errors import CapacityError, NoMappingError, TargetError
from match.ir.layer import Layer, Op
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.prediction.predict import predict
from match.search.direct import direct_schedule
from match.search.problem import SearchProblem
from match.target.cost import CostModel, Tile
from match.target.hardware import DirectApi
from match.target.registry import get_target
from match.targets.cortex_m.module import CortexM
from match.targets.cortex_m.target import CortexM4
from match.targets.pulp.external import hyperram

pytestmark = pytest.mark.cc

NETWORKS = Path(__file__).parents[1] / "tflite" / "networks"


class Changed(CortexM4):
    """The chip with another module."""

    def __init__(self, module: type[CortexM]) -> None:
        super().__init__()
        self.modules = (module(self.board.core.cost),)


def problem(module: type[CortexM]) -> str:
    (sentence,) = description_problems(Changed(module))
    return sentence


def test_an_api_for_a_scratchpad() -> None:
    class WithMemory(CortexM):
        memories = (Memory("TCM", 1024),)

    class WithScratchpadApi(CortexM):
        api = get_target("gap8").modules[0].api

    assert problem(WithMemory).endswith(
        "has memories and a DirectApi; give it a ModuleApi, whose functions move blocks into them."
    )
    assert "has no memory and a ModuleApi; give it the scratchpad" in problem(WithScratchpadApi)


def test_start_without_wait() -> None:
    class Started(CortexM):
        api = DirectApi(("match_arm.h",), start="start")

    assert "has a DirectApi with one of start and wait" in problem(Started)


def test_groups_need_a_scratchpad() -> None:
    class Grouped(CortexM):
        groups = True

    assert "has no memory and groups = True" in problem(Grouped)


@pytest.mark.parametrize(("name", "lag"), [("output", 0), ("input", -1)])
def test_what_lies_under_an_output_is_checked(name: str, lag: int) -> None:
    class Wrong(CortexM):
        def overwritable(self, layer: Layer, requantizer: Requantizer | None) -> dict[str, int]:
            return {name: lag}

    with pytest.raises(
        TargetError,
        match=r"overwritable\(\) returned \{.*\} for .*; it must return bytes, at least 0, for some of input",
    ):
        match.predict(NETWORKS / "autoencoder.tflite", Changed(Wrong))


class Kept(CortexM):
    """Never writes over an input."""

    def overwritable(self, layer: Layer, requantizer: Requantizer | None) -> dict[str, int]:
        return {}


def test_outputs_take_the_place_of_inputs() -> None:
    """The sum of a residual network lies where one of its inputs did; what is computed stays."""
    path = NETWORKS / "resnet.tflite"
    over, kept = (match.compile(path, chip, numerics="exact") for chip in (CortexM4(), Changed(Kept)))
    assert over.report.workspace
    assert kept.report.workspace
    assert over.report.workspace.bytes < kept.report.workspace.bytes
    assert over.validate(samples=2).equal
    adds = [layer.plan for layer in over.layers if layer.plan and layer.plan.layer.op is Op.ADD]
    assert adds
    assert all(plan.overwritable == {"input": 0, "addend": 0} for plan in adds)


def test_what_is_read_again_is_not_overwritten(tmp_path: Path) -> None:
    """A tensor of which a table is made is there for what else reads it."""
    scale = [numpy_helper.from_array(np.float32(0.02), "s"), numpy_helper.from_array(np.uint8(3), "z")]
    nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["dx"])]
    for op, inputs, name, more in (
        ("MaxPool", ["dx"], "p", {"kernel_shape": [2, 2]}),
        ("Sigmoid", ["dp"], "t", {}),
        ("MaxPool", ["dt"], "a", {"kernel_shape": [3, 3]}),
        ("MaxPool", ["dp"], "b", {"kernel_shape": [3, 3]}),
        ("Add", ["da", "db"], "y", {}),
    ):
        nodes.append(helper.make_node(op, inputs, [f"r{name}"], **more))
        nodes.append(helper.make_node("QuantizeLinear", [f"r{name}", "s", "z"], [name]))
        nodes.append(helper.make_node("DequantizeLinear", [name, "s", "z"], [f"d{name}"]))
    sizes = {"x": 9, "y": 6}.items()
    ends = [helper.make_tensor_value_info(name, TensorProto.UINT8, [1, 4, size, size]) for name, size in sizes]
    graph = helper.make_graph(nodes[:-1], "net", ends[:1], ends[1:], scale)
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    compiled = match.compile(path, CortexM4(), numerics="exact")
    plans = [layer.plan for layer in compiled.layers if layer.plan]
    assert [bool(plan.overwritable) for plan in plans] == [plan.layer.op is not Op.TRANSPOSE for plan in plans]
    assert compiled.validate(samples=2).equal


def test_a_layer_costs_its_call_and_what_is_around_it() -> None:
    class Fixed(CostModel):
        def compute(self, layer: Layer, tile: Tile) -> float:
            return 100.0

        def launch(self, layer: Layer) -> float:
            return 7.0

        def overhead(self, layer: Layer) -> float:
            return 5.0

    compiled = match.compile(NETWORKS / "autoencoder.tflite", "cortex_m4")
    schedule = next(layer.plan.schedule for layer in compiled.layers if layer.plan)
    cost = predict(schedule, Fixed())
    assert (cost.cycles, cost.compute, cost.transfer, cost.overhead) == (112.0, 100.0, 0.0, 12.0)
    assert simulate(schedule, Fixed()).cycles == 112.0


class Accelerator(CortexM):
    """Is started on a layer, and waited for."""

    api = DirectApi(("match_arm.h",), "accelerator_start", "accelerator_wait")


def test_an_accelerator_is_started_and_waited_for() -> None:
    compiled = match.compile(NETWORKS / "autoencoder.tflite", Changed(Accelerator))
    plan = next(layer.plan for layer in compiled.layers if layer.plan)
    code = generate(plan)
    assert code.index(f"accelerator_start({plan.kernel}, &tile)") < code.index("status = accelerator_wait()")
    assert f"    {plan.kernel}(&tile);" not in code


def test_it_is_predicted() -> None:
    path = NETWORKS / "efficientnet.tflite"
    over, kept = (match.predict(path, chip).totals.l2_peak_bytes for chip in (CortexM4(), Changed(Kept)))
    assert over < kept


def test_the_function_of_a_layer() -> None:
    """It takes scratch from its caller, or has some of its own for callers that know nothing of it."""
    compiled = match.compile(NETWORKS / "mobilenet_v2.tflite", "cortex_m4")
    plan = next(layer.plan for layer in compiled.layers if layer.plan and layer.plan.schedule.scratch)
    assert f"{plan.symbol}(const void *input, void *output, void *scratch)" in generate(plan)
    own = generate(plan, alone=True, own_scratch=True)
    assert f"{plan.symbol}(const void *input, void *output)\n" in own
    assert f"static _Alignas(8) uint8_t scratch[{plan.schedule.scratch}];" in own


def test_chains_need_a_scratchpad() -> None:
    compiled = match.compile(NETWORKS / "mobilenet_v2.tflite", "gap8", l1=16384)
    chain = next(layer.plan for layer in compiled.layers if layer.plan and layer.plan.layer.fused)
    asked = SearchProblem(
        "core", "exact", "latency", chain.layer, chain.schedule.operands, (), (), CortexM4().board.core.cost
    )
    with pytest.raises(NoMappingError, match="is several operators"):
        direct_schedule(asked)


class WithExternal(CortexM4):
    """The chip without flash, with some RAM and a memory outside of it."""

    def __init__(self, ram: int) -> None:
        super().__init__()
        self.flash = None
        self.program = None
        self.main_memory = Memory("SRAM", ram, alignment=8)
        self.external = hyperram(self.clock_hz)


def test_constants_come_from_external_memory() -> None:
    """Tensors stay in main memory, where kernels read them; what constants do not fit is fetched."""
    path = NETWORKS / "resnet.tflite"
    inside = match.compile(path, WithExternal(1 << 20)).report.totals
    activations = inside.l2_peak_bytes - inside.constant_bytes
    outside = match.predict(path, WithExternal(activations + inside.constant_bytes // 2))
    assert outside.memory
    assert outside.memory.image_bytes == inside.constant_bytes
    assert outside.totals.cycles >= inside.cycles
    assert not any(tensor.external for tensor in outside.memory.tensors)
    with pytest.raises(CapacityError, match=r"would help\.$") as refused:
        match.predict(path, WithExternal(activations))
    assert "--l1" not in str(refused.value)


NAMES = ("ghostnet", "keyword_spotting_int16", "vit", "densenet", "mobilenet_v2", "unet", "deeplab", "resnet_int16")
EACH_RUN = {("ghostnet", "cortex_m4"), ("keyword_spotting_int16", "cortex_m55")}


@pytest.mark.parametrize(
    ("name", "target"),
    [
        pytest.param(name, target, marks=() if (name, target) in EACH_RUN else pytest.mark.sweep)
        for name in NAMES
        for target in ("cortex_m4", "cortex_m55")
    ],
)
def test_networks_equal_tflite_micro(name: str, target: str) -> None:
    """Among them are tensors inside others, 16 bits, and operators of all kinds."""
    assert match.compile(NETWORKS / f"{name}.tflite", target, numerics="exact").validate(samples=2).equal
