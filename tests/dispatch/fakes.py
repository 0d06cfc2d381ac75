"""A small target whose modules differ in speed, arithmetic and what they refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from match.ir.constants import LayerConstants
from match.ir.layer import Dim, Layer, Op, Operand
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory, component_bytes
from match.target.cost import Block, CostModel, CpuCostModel, Tile
from match.target.hardware import (
    ComputeApi,
    HwModule,
    MatchTarget,
    MemoryApi,
    ModuleApi,
    Pattern,
    Platform,
    PlatformApi,
    SyncApi,
    TargetApi,
    Verdict,
)
from match.target.operands import standard_operands

WIDE = Requantizer("wide", 32, True, 64, 64, (0, 63), True, False, 16)
WIDE_SIGNED = Requantizer("wide_signed", 32, True, 64, 64, (0, 63), True, True, 24)
SHORT = Requantizer("short", 16, False, 32, 32, (0, 31), True, False, 8, approximates=True, clips=((0, 255),))
SHORTER = Requantizer("shorter", 8, False, 32, 32, (0, 31), True, False, 6, approximates=True, clips=((0, 255),))
SHIFT = Requantizer(
    "shift", 0, False, 32, 32, (0, 31), False, False, 4, approximates=True, clips=((0, 127), (-128, 127))
)
SHIFT_SUM = replace(SHIFT, name="shift_sum", bias_bits=0, parameter_bytes=0, addend_multipliers=False)


def no_wide_filters(layer: Layer) -> Verdict:
    """Filters are at most 3 wide."""
    return Verdict(layer.fx <= 3, f"its filter is {layer.fx} wide")


class FixedCost(CostModel):
    """So many cycles a multiply-accumulate, one a byte, some for each call and transfer."""

    def __init__(self, mac: float, scratch: int = 0) -> None:
        self.mac = mac
        self.bytes = scratch
        self.searches = 0

    def scratch(self, layer: Layer, tile: Tile) -> int:
        return self.bytes

    def compute(self, layer: Layer, tile: Tile) -> float:
        return self.mac * tile.k * tile.c * tile.oy * tile.ox * tile.fy * tile.fx

    def launch(self, layer: Layer) -> float:
        return 10.0

    def transfer(self, layer: Layer, block: Block) -> float:
        return block.bytes

    def issue(self, layer: Layer) -> float:
        return 10.0

    def overhead(self, layer: Layer) -> float:
        self.searches += 1
        return 0.0


class FakeModule(HwModule):
    """Takes convolutions with narrow filters, and whatever else it is told to."""

    api = ModuleApi(
        ("fake.h",),
        PlatformApi("offload"),
        MemoryApi("alloc", "free", "transfer_t", "copy_in", "copy_out"),
        SyncApi("wait_transfer", "wait_compute"),
        ComputeApi("start"),
    )

    def __init__(
        self,
        name: str,
        mac: float = 1.0,
        forms: Sequence[Requantizer] = (WIDE, WIDE_SIGNED),
        ops: Sequence[Op] = (Op.CONV2D,),
        size: int = 65536,
    ) -> None:
        self.name = name
        self.memories = (Memory("L1", size),)
        self.cost_model: CostModel = FixedCost(mac)
        self.requantizers = tuple(forms)
        self.ops = ops

    def patterns(self) -> tuple[Pattern, ...]:
        return tuple(Pattern(op, (no_wide_filters,)) for op in self.ops)

    def operands(self, layer: Layer, requantizer: Requantizer | None) -> tuple[Operand, ...]:
        return standard_operands(layer, requantizer.parameter_bytes if requantizer else 0)

    def pack(
        self,
        layer: Layer,
        requantizer: Requantizer | None,
        constants: LayerConstants,
        spans: Mapping[Dim, tuple[int, int]],
    ) -> tuple[bytes, ...]:
        extents = {dim: extent for dim, (_, extent) in spans.items()}
        constant = [operand for operand in self.operands(layer, requantizer) if operand.name == "weights"]
        return tuple(bytes(component_bytes(part, extents)) for part in constant[0].components)

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        return f"{self.name}_{layer.op}"


class FakeCpu(CpuCostModel):
    """Ten cycles an operation."""

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        return 10.0 * macs + outputs


class FakeTarget(MatchTarget):
    """The given modules."""

    name = "fake"
    clock_hz = 1e8
    main_memory = Memory("L2", 1 << 20)
    api = TargetApi(("fake.h",), "open", "close", "alloc", "free")

    def __init__(self, *modules: FakeModule) -> None:
        self.modules: tuple[HwModule, ...] = modules
        self.cpu_cost_model: CpuCostModel = FakeCpu()

    @property
    def host(self) -> Platform:
        return Platform((), ())
