"""A target whose kernels are the operators' definitions; see mock/mock.h."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from match.ir.constants import Addends, Filters, LayerConstants, Table, ZeroPoints
from match.ir.layer import Dim, Layer, Op, Operand
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.target.cost import CostModel, CpuCostModel
from match.target.hardware import (
    ComputeApi,
    ExternalApi,
    HwModule,
    MatchTarget,
    MemoryApi,
    ModuleApi,
    Pattern,
    Platform,
    PlatformApi,
    SyncApi,
    TargetApi,
)
from match.target.operands import standard_operands
from match.target.tile_constants import output_spans

FOLDER = Path(__file__).parent / "mock"
SCRATCHPAD = Memory("L1", 1 << 20, alignment=8)
PLAIN = Requantizer("plain", 32, True, 64, 64, (0, 62), True, False, 16)
SIGNED = Requantizer("signed", 32, True, 64, 64, (0, 62), True, True, 24)

OPS = (
    Op.CONV2D,
    Op.DEPTHWISE_CONV2D,
    Op.GROUPED_CONV2D,
    Op.DENSE,
    Op.MATRICES,
    Op.ADD,
    Op.AVG_POOL2D,
    Op.MAX_POOL2D,
    Op.LOOKUP,
)
"""What mock.c computes. On their modules all are traced and compared, in tests/analysis/simulate/test_trace.py."""

EXTERNAL_API = ExternalApi(
    headers=("mock_external.h",),
    allocate="mock_external_alloc",
    free="mock_external_free",
    load="mock_external_load",
    transfer="mock_external_transfer_t",
    copy_in="mock_external_copy_in",
    copy_out="mock_external_copy_out",
    wait="mock_external_wait",
)


class MockModule(HwModule):
    """Takes the operators that mock.c computes; its constants lie as match_tile.h says."""

    name = "unit"
    memories = (SCRATCHPAD,)
    cost_model = CostModel()
    requantizers = (PLAIN, SIGNED)
    api = ModuleApi(
        headers=("mock.h",),
        platform=PlatformApi("mock_offload"),
        memory=MemoryApi("mock_alloc", "mock_free", "mock_transfer_t", "mock_copy_in", "mock_copy_out"),
        sync=SyncApi("mock_wait_transfer", "mock_wait_compute"),
        compute=ComputeApi("mock_start"),
    )

    def patterns(self) -> tuple[Pattern, ...]:
        return tuple(Pattern(op) for op in OPS)

    def operands(self, layer: Layer, requantizer: Requantizer | None) -> tuple[Operand, ...]:
        if requantizer is None:
            return standard_operands(layer, 0)
        sums = 4 if layer.op in (Op.CONV2D, Op.DENSE) else 0
        return standard_operands(layer, 24 if layer.op is Op.ADD else requantizer.parameter_bytes, sums)

    def pack(
        self,
        layer: Layer,
        requantizer: Requantizer | None,
        constants: LayerConstants,
        spans: Mapping[Dim, tuple[int, int]],
    ) -> tuple[bytes, ...]:
        spans = output_spans(layer, spans)
        start, extent = spans[Dim.K]
        channels = range(start, start + extent) if constants.get(ZeroPoints) is None else range(1)
        parts: list[bytes] = []
        if filters := constants.get(Filters):
            first, count = spans[Dim.C]
            parts.append(filters.values[start : start + extent, ..., first : first + count].tobytes())
        if table := constants.get(Table):
            parts.append(table.entries.tobytes())
        requant = constants.requantization
        if requant is None or requantizer is None:
            return tuple(parts)
        if addends := constants.get(Addends):
            entry = (int(requant.bias[0]), *addends, int(requant.shift[0]), 0)
            return (np.array([entry], "<i8,<i4,<i4,<i4,<i4").tobytes(),)
        below = requant.negative_below
        rows = [
            (
                int(requant.bias[k]),
                int(requant.multiplier[k]),
                int(requant.shift[k]),
                int(below[k]) if below is not None else 0,
                0,
            )
            for k in channels
        ]
        signed = np.array(rows, "<i8,<i4,<i4,<i4,<i4")
        parts.append(
            signed.tobytes() if requantizer.negative_step else np.array([r[:3] for r in rows], "<i8,<i4,<i4").tobytes()
        )
        if zeros := constants.get(ZeroPoints):
            parts.append(np.array(zeros, "<i4").tobytes())
        return tuple(parts)

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        return f"mock_{layer.op}"


class MockTarget(MatchTarget):
    name = "mock"
    clock_hz = 1e6
    main_memory = Memory("L2", 1 << 24, alignment=8)
    modules = (MockModule(),)
    cpu_cost_model = CpuCostModel()
    api = TargetApi(("mock.h",), "mock_open", "mock_close", "mock_main_alloc", "mock_main_free")

    @property
    def host(self) -> Platform:
        return Platform((FOLDER / "mock.c",), (FOLDER, Path("kernels/include")))
