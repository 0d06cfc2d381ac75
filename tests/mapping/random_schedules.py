"""Random layers, cost models and schedules to hold predictions and searches against."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from match.ir.attributes import Attributes, Broadcast, BroadcastKind, ChannelGroups, Gathering, Slice
from match.ir.layer import BY_PIXEL, GATES, Dim, Layer, Op, Operand, Padding, Role
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule
from match.target.cost import Block, CostModel, Energy, Tile, choose
from match.target.operands import standard_operands

OPS = tuple(op for op in Op if op not in (Op.CONCATENATE, Op.OWN, *GATES, *BY_PIXEL))
"""Operators of random layers; channels of two others stay together, which no operand says but a module does."""

BROADCASTS: tuple[BroadcastKind, ...] = ("", "", "pixel", "channel", "outer")

ACCUMULATING = (Op.CONV2D, Op.DENSE)
WINDOWED = (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D, Op.AVG_POOL2D, Op.FLOAT_AVG_POOL2D, Op.MAX_POOL2D)
"""Operators whose outputs read windows of a map."""

_TYPES = {
    Op.QUANTIZE: ("float32", "uint8"),
    Op.DEQUANTIZE: ("uint8", "float32"),
    Op.DEQUANTIZE_SUMS: ("int32", "float32"),
    **dict.fromkeys((Op.REQUANTIZE, Op.LEAKY_RELU, Op.LOGISTIC, Op.TANH), ("int16", "int16")),
}


def random_layer(rng: random.Random, largest: int = 9, ops: Sequence[Op] = OPS) -> Layer:
    """A layer of one of some operators with small odd geometry."""
    op = rng.choice(ops)
    k = rng.randint(1, largest)
    if op is Op.DENSE:
        ox = rng.choice([1, 1, rng.randint(1, 4)])
        return Layer("dense", op, k, rng.randint(1, 12), 1, ox, 1, ox)
    if op is Op.MATRICES:
        oy, ox = rng.randint(1, 4), rng.randint(1, largest)
        return Layer("matrices", op, k, rng.randint(1, 12), oy, ox, oy, ox, weight_dtype="")
    if op is Op.RESIZE:
        oy, ox, iy, ix = (rng.randint(1, largest) for _ in range(4))
        return Layer("resize", op, k, 1, oy, ox, iy, ix, weight_dtype="")
    if op is Op.GATHER:
        oy, ox, ix = (rng.randint(1, largest) for _ in range(3))
        runs = Gathering(rng.randint(1, ox))
        return Layer("gather", op, k, 1, oy, ox, oy, ix, weight_dtype="", attributes=runs)
    if op not in WINDOWED:
        oy, ox = rng.randint(1, largest), rng.randint(1, largest)
        types = _TYPES.get(op, ("uint8", "uint8"))
        first = rng.randint(0, 3) if op is Op.SLICE else 0
        attributes: Attributes = Broadcast(rng.choice(BROADCASTS)) if op is Op.MULTIPLY else Attributes()
        if op is Op.SLICE:
            attributes = Slice(first, first + k + rng.randint(0, 3))
        iy, ix = (1, 1) if attributes == Broadcast("outer") else (oy, ox)
        return Layer(
            op.value,
            op,
            k,
            1,
            oy,
            ox,
            iy,
            ix,
            input_dtype=types[0],
            weight_dtype="",
            output_dtype=types[1],
            attributes=attributes,
        )
    fy, fx = rng.choice([(1, 1), (3, 3), (2, 3), (5, 1), (3, 5)])
    stride = rng.choice([(1, 1), (2, 2), (2, 1), (1, 3)])
    dilation = rng.choice([(1, 1), (1, 1), (2, 1)])
    padding = Padding(*(rng.randint(0, 3) for _ in range(4)))
    iy, ix = rng.randint(1, largest), rng.randint(1, largest)
    oy = (iy + padding.top + padding.bottom - (fy - 1) * dilation[0] - 1) // stride[0] + 1
    ox = (ix + padding.left + padding.right - (fx - 1) * dilation[1] - 1) // stride[1] + 1
    if oy < 1 or ox < 1:
        return random_layer(rng, largest, ops)
    c = rng.randint(1, 6) if op in (Op.CONV2D, Op.GROUPED_CONV2D) else 1
    outputs = rng.randint(1, 4) if op is Op.GROUPED_CONV2D else 1
    weights = "int8" if op in (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D) else ""
    layer = Layer(op.value, op, k, c, oy, ox, iy, ix, fy, fx, stride, dilation, padding, weight_dtype=weights)
    return replace(layer, attributes=ChannelGroups(outputs))


def operands_of(layer: Layer) -> tuple[Operand, ...]:
    sums = 4 if layer.op in ACCUMULATING else 0
    requantizes = layer.weight_dtype or layer.op in (Op.ADD, Op.MULTIPLY, Op.MATRICES)
    return standard_operands(layer, 16 if requantizes else 0, sums)


def random_operands(rng: random.Random, layer: Layer) -> tuple[Operand, ...]:
    """The same, sometimes with a layout of constants that cannot be divided."""
    operands = operands_of(layer)
    if not layer.weight_dtype or rng.random() >= 0.2:
        return operands
    weights = next(operand for operand in operands if operand.name == "weights")
    parameters = replace(weights.components[-1], divisible=False)
    fixed = replace(weights, components=(*weights.components[:-1], parameters))
    return tuple(fixed if operand is weights else operand for operand in operands)


PER_BYTE = Energy(3.0, {"L1": 1.5, "L2": 7.25, "L3": 40.0})


@dataclass(frozen=True)
class SteppedCost(CostModel):
    """Ceilings in every dimension, fixed costs everywhere, a transfer that depends on the shape: nothing is linear."""

    overlap: bool = True
    speed: float = 1.0
    fixed: float = 10.0
    bandwidth: float = 4.0
    offload: float = 100.0
    kernel_scratch: int = 0
    energy: Energy | None = PER_BYTE

    def scratch(self, layer: Layer, tile: Tile) -> int:
        return self.kernel_scratch * tile.k * tile.ox + (4 * tile.c if self.kernel_scratch else 0)

    def compute(self, layer: Layer, tile: Tile) -> float:
        steps = -(-tile.k // 2) * -(-tile.oy // 4) * -(-tile.ox // 3)
        sums = steps * (choose(tile.begin, 0, 1) + choose(tile.end, 0, 0.5))
        return self.fixed / 2 + self.speed * (steps * tile.c * tile.fy * tile.fx + tile.iy * tile.ix + sums)

    def launch(self, layer: Layer) -> float:
        return self.fixed

    def transfer(self, layer: Layer, block: Block) -> float:
        slowness = {"L2": 2, "L3": 5}.get(block.memory, 1)
        return slowness * (2 * block.chunks + 3 * block.series + -(-block.bytes // 4) * 4 / self.bandwidth)

    def issue(self, layer: Layer) -> float:
        return self.fixed / 4

    def overhead(self, layer: Layer) -> float:
        return self.offload


def random_cost(rng: random.Random, **fixed: object) -> SteppedCost:
    choices: dict[str, object] = {
        "overlap": rng.random() < 0.85,
        "speed": (speed := rng.choice([0.125, 0.5, 1.0, 3.0])),
        "fixed": rng.choice([0.0, 4.0, 20.0, 100.0]),
        "bandwidth": rng.choice([0.25, 1.0, 4.0, 8.0]),
        "offload": rng.choice([0.0, 64.0]),
        "kernel_scratch": rng.choice([0, 0, 3]),
        "energy": Energy(
            rng.choice([0.0, 2.5]),
            {"L1": rng.choice([0.0, 0.001, 0.3, 12.0]), "L2": rng.choice([0.1, 4.0]), "L3": 60.0},
            cycle={0.125: 0.02, 0.5: 0.0, 1.0: 1.5, 3.0: 0.3}[speed],
            kernel={0.125: 0.0, 0.5: 2.0, 1.0: 0.25, 3.0: 8.0}[speed],
            control={0.125: 0.5, 0.5: 0.0, 1.0: 16.0, 3.0: 1.0}[speed],
        ),
    }
    return SteppedCost(**{**choices, **fixed})  # type: ignore[arg-type]


@dataclass(frozen=True)
class SteppedArrays(SteppedCost):
    """The same formulas, which take arrays."""

    arrays: bool = True


def random_arrays(rng: random.Random) -> SteppedCost:
    """Three in four of them are bound by the DMA."""
    return SteppedArrays(**vars(random_cost(rng, bandwidth=rng.choice([0.05, 0.125, 0.25, 4.0]))))


@dataclass(frozen=True)
class DearIssues(SteppedCost):
    """It takes the core longer to issue a transfer than to compute a tile."""

    def launch(self, layer: Layer) -> float:
        return 1.0

    def issue(self, layer: Layer) -> float:
        return 50.0

    def compute(self, layer: Layer, tile: Tile) -> float:
        return super().compute(layer, tile) / 64


def dear_issues(rng: random.Random) -> SteppedCost:
    """One in two of them is bound by the DMA."""
    return DearIssues(fixed=0.0, bandwidth=rng.choice([0.125, 4.0]), overlap=rng.random() < 0.85)


def random_schedule(
    rng: random.Random, layer: Layer, depth: int = 4, memories: tuple[Memory, ...] = (Memory("L1", 1 << 30),)
) -> Schedule:
    """Any legal mapping onto memories without limit; a dimension may be cut more than once."""
    operands = operands_of(layer)
    left = {dim: layer.size(dim) for dim in (Dim.K, Dim.OY, Dim.OX, Dim.C)}
    loops: list[Loop] = []
    for level in sorted(rng.randrange(len(memories)) for _ in range(rng.randint(0, depth))):
        innermost = level == len(memories) - 1
        sums = innermost and layer.op in ACCUMULATING
        dims = [dim for dim, extent in left.items() if extent > 1 and (sums or dim is not Dim.C)]
        if not dims:
            break
        dim = rng.choice(dims)
        tile = rng.randint(1, left[dim] - 1)
        loops.append(Loop(dim, tile, left[dim], level))
        left[dim] = tile
    placements: list[Placement] = []
    for level, memory in enumerate(memories):
        first = sum(loop.level < level for loop in loops)
        for operand in operands:
            depths = [first]
            depths += [n for n, loop in enumerate(loops, 1) if loop.level == level and loop.dim in operand.dims]
            if memory.has(operand.name):
                depths = [n for n in depths if level < len(memories) - 1 or keeps_sums(operand, loops, n)]
                placements.append(Placement(operand.name, memory.name, rng.choice(depths), rng.choice([1, 2])))
    rng.shuffle(placements)
    return Schedule(layer, operands, memories, tuple(loops), tuple(placements))


def keeps_sums(operand: Operand, loops: Sequence[Loop], depth: int) -> bool:
    """Whether partial sums stay with their output, and filters come with the channels that are summed up."""
    if operand.role is Role.OUTPUT:
        return all(loop.dim is not Dim.C for loop in loops[:depth])
    return operand.role is Role.INPUT or all(loop.dim is not Dim.C for loop in loops[depth:])


def random_memories(rng: random.Random, layer: Layer, levels: int) -> tuple[Memory, ...]:
    """Memories without limit, some of which do not hold all operands, and one whose alignment is another."""
    names = [operand.name for operand in operands_of(layer)]
    outer = [
        Memory(
            f"L{level + 1}",
            1 << 30,
            rng.choice([4, 4, 16]),
            holds=rng.choice([None, frozenset(name for name in names if rng.random() < 0.6)]),
        )
        for level in range(levels - 1, 0, -1)
    ]
    return (*outer, Memory("L1", 1 << 30, rng.choice([1, 4, 8])))


def roles(schedule: Schedule) -> dict[str, Role]:
    return {operand.name: operand.role for operand in schedule.operands}
