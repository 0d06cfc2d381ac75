"""A small network, decided by hand: one tiled convolution on a module with a scratchpad, one operator on the CPU."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from match.compilation.options import Options
from match.dispatch.plan import LayerDecision, LayerPlan, Offer, OperatorPlan
from match.frontend.model import Model, ModelTensor, Rounding
from match.graph.value import Graph
from match.ir.layer import Dim, Layer, Op, Padding
from match.ir.requantization import RequantizationFit, Requantizer
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule
from match.report import Report, build
from match.target.cost import Cost
from match.target.hardware import ComputeApi, MatchTarget, MemoryApi, ModuleApi, PlatformApi, SyncApi
from match.target.operands import standard_operands

DOCS = Path(__file__).resolve().parents[2] / "docs"

L1 = Memory("L1", 4096)
LAYER = Layer("conv", Op.CONV2D, k=16, c=8, oy=8, ox=8, iy=8, ix=8, fy=3, fx=3, padding=Padding(1, 1, 1, 1))
REQUANTIZER = Requantizer("narrow", 8, False, 32, 32, (0, 31), True, False, 9)
SCHEDULE = Schedule(
    LAYER,
    standard_operands(LAYER, REQUANTIZER.parameter_bytes),
    (L1,),
    (Loop(Dim.OY, 3, 8), Loop(Dim.K, 8, 16)),
    (Placement("input", "L1", 1, 2), Placement("weights", "L1", 2, 2), Placement("output", "L1", 2, 1)),
    scratch=100,
)
COST = Cost(
    cycles=5000.4,
    compute=4000.0,
    transfer=1500.0,
    overhead=600.0,
    moved=(("input", 768), ("weights", 3888), ("output", 1024)),
)

API = ModuleApi(
    ("array.h",),
    PlatformApi("offload"),
    MemoryApi("alloc", "free", "transfer_t", "copy_in", "copy_out"),
    SyncApi("wait_transfer", "wait_compute"),
    ComputeApi("start"),
)


@pytest.fixture(scope="session")
def report() -> Report:
    """The report of the hand-made network."""
    taken = Offer("array", REQUANTIZER, RequantizationFit(False, 0.015, 1), SCHEDULE, COST)
    slower = Offer("cores", REQUANTIZER, RequantizationFit(True), SCHEDULE, Cost(9000, 9000, 0, 0, ()))
    decisions = (
        LayerDecision(
            "conv",
            "conv2d",
            "array",
            LAYER.macs,
            1024,
            COST.cycles,
            (taken, slower),
            LayerPlan(
                "match_conv",
                "chip",
                "array",
                LAYER,
                SCHEDULE,
                (OperatorPlan("kernel", REQUANTIZER),),
                bytes(2 * 648),  # two blocks of eight filters, each of which moves three times
                API,
            ),
            source="model/relu",
            input_shapes=((1, 8, 8, 8),),
            output_shapes=((1, 8, 8, 16),),
        ),
        LayerDecision(
            "softmax", "nn.softmax", "cpu", 0, 10, 2999.6, (Offer("array", refusal="it has no such operator"),)
        ),
    )
    memories = (
        SimpleNamespace(name="array", memories=(L1,), peak_macs=64),
        SimpleNamespace(name="cores", memories=(L1,), peak_macs=None),
    )
    target = SimpleNamespace(
        settings={},
        name="chip",
        clock_hz=200e6,
        main_memory=Memory("L2", 65536),
        modules=memories,
        platforms=(),
        estimated_energy=False,
        enlarged=(),
        flash=None,
    )
    return build(
        model=Model(
            name="net",
            sha256="ab" * 32,
            network=Graph((), ()),
            inputs=(ModelTensor("image", (1, 8, 8, 8), "uint8"),),
            outputs=(ModelTensor("scores", (1, 10), "float32"),),
            rounding=Rounding.TFLITE,
        ),
        target=cast("MatchTarget", cast("Any", target)),
        options=Options(l1=4096),
        decisions=decisions,
        workspace_bytes=3000,
        constant_bytes=2000,
        program_bytes=3072,
        compile_seconds={"frontend": 0.5, "search": 0.25},
    )
