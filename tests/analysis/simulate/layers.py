"""Random layers that a module takes, with constants in a form that it executes, and random schedules for them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from match.compilation.options import Numerics
from match.dispatch.packed_constants import pack_constants
from match.dispatch.plan import LayerPlan
from match.errors import ScheduleError
from match.ir.constants import Addends, Filters, LayerConstants, Normalization, ZeroPoints
from match.ir.layer import Dim, Layer, Op, Operand, Padding, Role
from match.ir.requantization import Int64Array, Requantizer
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule
from match.prediction.blocks import largest_tile
from match.prediction.direct import direct_scratch
from match.requantize.form import choose_form
from match.target.hardware import HwModule, MatchTarget, Pattern
from tests.codegen.harness import scheduled
from tests.codegen.layers import INT16, Case, make
from tests.mapping.random_schedules import WINDOWED

WINDOWS = ((1, 1), (3, 3), (3, 3), (2, 2), (5, 5), (3, 2))


@dataclass(frozen=True, eq=False)
class Accepted:
    """A layer, and the form of requantization in which a module takes it."""

    case: Case
    requantizer: Requantizer | None


def accepted(module: HwModule, pattern: Pattern, target: MatchTarget, seed: int) -> Iterator[Accepted]:
    """Random layers of one operator that the module takes."""
    rng = random.Random(seed)
    for attempt in range(2000):
        case = random_case(rng, pattern.op, attempt)
        if target.activations is None and rng.random() < 0.8:
            case = _signed(case)
        if rng.random() < 0.5:
            case = _shifted(case)
        if not pattern.check(case.layer).ok:
            continue
        form = choose_form(module, case.layer, case.constants, accumulator(case.constants, case), Numerics.HARDWARE)
        if isinstance(form, str):
            continue
        yield Accepted(replace(case, constants=form.constants), form.requantizer)


def random_outer_memory(rng: random.Random, operands: Sequence[str]) -> Memory:
    """A region of main memory that some of the operands pass."""
    some = frozenset(rng.sample(operands, rng.randint(1, len(operands))))
    return Memory("L2", 1 << 24, rng.choice([4, 4, 16]), holds=rng.choice([None, some]))


def random_case(rng: random.Random, op: Op, seed: int) -> Case:
    pixelwise = op not in WINDOWED
    window = (1, 1) if pixelwise else rng.choice(WINDOWS)
    stride = (1, 1) if pixelwise else rng.choice([(1, 1), (1, 1), (2, 2), (2, 1)])
    before, behind = ((f - 1) // 2 * rng.choice([0, 1, 1]) for f in window)
    pads = Padding(before, behind, before, behind) if op is not Op.AVG_POOL2D else Padding()
    height = 1 if op is Op.DENSE else rng.randint(window[0], 12)
    width = rng.choice([1, 1, rng.randint(1, 6)]) if op is Op.DENSE else rng.randint(window[1], 12)
    return make(
        op,
        rng.choice([rng.randint(1, 40), 16 * rng.randint(1, 3)]),
        rng.choice([rng.randint(1, 40), 16 * rng.randint(1, 3)]),
        height,
        width,
        window=window,
        stride=stride,
        padding=pads,
        negative_step=op in (*WINDOWED, Op.DENSE, Op.MATRICES)
        and op not in (Op.FLOAT_AVG_POOL2D, Op.MAX_POOL2D)
        and rng.random() < 0.3,
        seed=seed,
    )


def _signed(case: Case) -> Case:
    """The layer with int8 activations whose zero point is 0; those at the float border and of 16 bits stay as is."""
    border = Op.QUANTIZE, Op.DEQUANTIZE, Op.DEQUANTIZE_SUMS, Op.FLOAT_AVG_POOL2D, Op.LOG_SOFTMAX
    if case.layer.op in (*border, *INT16):
        return case
    clip = (-128, 127)
    layer = replace(case.layer, input_dtype="int8", output_dtype="int8", pad_value=0, clip=clip)
    requantization = case.constants.requantization
    if requantization is not None:
        requantization = replace(requantization, clip=clip)
    return replace(case, layer=layer, constants=replace(case.constants, requantization=requantization))


def _shifted(case: Case) -> Case:
    """The layer in a form that units without a multiplier execute: one shift, an addition of equal scales."""
    requantization = case.constants.requantization
    if requantization is None:
        return case
    ones = np.ones_like(requantization.multiplier)
    zeros = np.zeros_like(requantization.bias)
    plain = replace(
        requantization, multiplier=ones, bias=zeros, shift=ones + 9, negative_below=None, negative_step=None
    )
    data = Addends(1 << 9, 1 << 9) if case.layer.op is Op.ADD else case.constants.data
    return replace(case, constants=LayerConstants(data, plain))


def accumulator(constants: LayerConstants, case: Case) -> tuple[Int64Array, Int64Array]:
    """Bounds of what each channel can sum up, for inputs of any value."""
    layer, filters = case.layer, constants.get(Filters)
    if case.accumulator is not None:
        return case.accumulator
    if addends := constants.get(Addends):
        return np.zeros(1, np.int64), np.array([255 * sum(addends)], np.int64)
    if constants.get(ZeroPoints):
        most = np.array([255 * 255 * layer.c], np.int64)
        return -most, most
    if normalization := constants.get(Normalization):
        most = (64 << 12) * np.abs(normalization.gains.astype(np.int64))
        return -most, most
    if filters is None:
        return np.zeros(layer.k, np.int64), np.full(layer.k, 255 * layer.fy * layer.fx, np.int64)
    flat = filters.values.reshape(len(filters.values), -1).astype(np.int64)
    return 255 * np.minimum(flat, 0).sum(axis=1), 255 * np.maximum(flat, 0).sum(axis=1)


def planned(
    module: HwModule, layer: Accepted, rng: random.Random, symbol: str, *, through: Memory | None = None
) -> LayerPlan:
    """The layer with a random schedule onto the module's memories, operands passing the memory `through` before.

    Without memories there is one schedule.
    """
    case = layer.case
    operands = module.operands(case.layer, layer.requantizer)
    model = module.cost(case.layer, layer.requantizer)
    if module.direct:
        scratch = direct_scratch(case.layer, operands, model)
        schedule = Schedule(case.layer, operands, (), (), (), scratch)
        return scheduled(case, schedule, symbol=symbol, module=module, requantizer=layer.requantizer)
    multiples = module.tile_multiples(case.layer)
    memories = (through, *module.memories) if through else module.memories
    for _ in range(200):
        try:
            loops, placements = random_mapping(rng, case.layer, operands, memories, multiples)
            schedule = Schedule(case.layer, operands, memories, loops, placements)
            scratch = int(model.scratch(case.layer, largest_tile(case.layer, schedule.extents(len(loops)))))
            schedule = replace(schedule, scratch=scratch)
            pack_constants([module], case.layer, [layer.requantizer], [case.constants], schedule)
        except ScheduleError:
            continue
        return scheduled(case, schedule, symbol=symbol, module=module, requantizer=layer.requantizer)
    raise AssertionError(f"no schedule for {case.layer}")


def random_mapping(
    rng: random.Random,
    layer: Layer,
    operands: Sequence[Operand],
    memories: Sequence[Memory],
    multiples: Mapping[Dim, int],
) -> tuple[tuple[Loop, ...], tuple[Placement, ...]]:
    """Loops and placements that mostly fit together; `Schedule` has the last word."""
    output = next(operand for operand in operands if operand.role is Role.OUTPUT)
    left = layer.extents
    loops: list[Loop] = []
    placements: list[Placement] = []
    for level, memory in enumerate(memories):
        first = len(loops)
        innermost = level == len(memories) - 1
        cut = [Dim.K, Dim.OY, Dim.OX, *([Dim.C] if innermost and output.partial_bytes else [])]
        for _ in range(rng.randint(0, 4)):
            dim = rng.choice(cut)
            step = multiples.get(dim, 1)
            tiles = range(step, left[dim], step) if step else ()
            if tiles:
                loops.append(Loop(dim, rng.choice(tiles), left[dim], level))
                left[dim] = loops[-1].tile
        for operand in operands:
            if memory.has(operand.name):
                inside = [d for d in range(first + 1, len(loops) + 1) if loops[d - 1].dim in operand.dims]
                depth = rng.choice([first, *inside, *inside])
                placements.append(Placement(operand.name, memory.name, depth, rng.choice([1, 2])))
    return tuple(loops), tuple(placements)
