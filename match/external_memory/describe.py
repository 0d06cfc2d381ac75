"""What the placement of a network is asked: its steps, tensors and constants in numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from match.codegen.network import Network
from match.codegen.steps import WORKSPACE_ALIGNMENT, Buffer, CallStep, lives
from match.dispatch.plan import LayerDecision, LayerPlan
from match.external_memory.strips import least_strips
from match.frontend.model import tensor_bytes
from match.ir.layer import Role
from match.mapping.memory import align
from match.placement.problem import Lifetime, PlacementProblem, Step
from match.target.cost import Block
from match.target.hardware import External, MatchTarget

_ROOM = 1 << 17
"""The most bytes for the blocks of a cut layer: with more, layers gain next to nothing."""


def describe(
    network: Network, decisions: Sequence[LayerDecision], target: MatchTarget, external: External
) -> PlacementProblem:
    """The placement problem of a network, with `decisions` about its layers."""
    memory = target.main_memory
    plans = {d.plan.symbol: d.plan for d in decisions if d.plan}
    alignment = max(WORKSPACE_ALIGNMENT, memory.alignment)
    outside = sum(align(tensor_bytes([tensor]), memory.alignment) for tensor in (*network.inputs, *network.outputs))
    outside += align(network.state_bytes, alignment)
    cycles = _cycles(network.steps, decisions)
    constants = sum(align(len(plan.constants), alignment) for plan in plans.values())
    return PlacementProblem(
        steps=tuple(
            _step(step, plans.get(step.function), cycles[number], external, alignment)
            for number, step in enumerate(network.steps)
        ),
        tensors=tuple(_tensors(network, plans)),
        main=memory.size - network.program_bytes(target) - outside - (alignment - memory.alignment),
        external=external.memory.size - constants - align(network.operator_constant_bytes, alignment),
        alignment=alignment,
        resident=network.operator_constant_bytes,
        issue=_issue(plans, target) if external.issue is None else external.issue,
        room=_ROOM,
    )


def _issue(plans: Mapping[str, LayerPlan], target: MatchTarget) -> float:
    """Cycles of the core to start a transfer: the most that a module's cost model gives for one of its own."""
    modules = {module.name: module for module in target.modules}
    return max(
        (modules[plan.module].cost(plan.layer, plan.requantizer).issue(plan.layer) for plan in plans.values()),
        default=0.0,
    )


def steps_of(steps: Sequence[CallStep], decisions: Sequence[LayerDecision]) -> tuple[int, ...]:
    """The step of each decision, in execution order; what has no code is in that of the decision before it."""
    own = {name: number for number, step in enumerate(steps) for name in step.layers}
    return tuple(accumulate((own.get(decision.name, 0) for decision in decisions), max))


def _cycles(steps: Sequence[CallStep], decisions: Sequence[LayerDecision]) -> list[float]:
    """Predicted cycles of each step."""
    cycles = [0.0] * len(steps)
    for decision, step in zip(decisions, steps_of(steps, decisions), strict=True):
        cycles[step] += decision.cycles
    return cycles


def _step(step: CallStep, plan: LayerPlan | None, cycles: float, external: External, alignment: int) -> Step:
    touched = tuple(buffer.name for buffer in step.touched)
    if plan is None:
        return Step(step.name, cycles, touched, tensor_blocks=tuple(_strips(step, alignment)))
    schedule, size = plan.schedule, len(plan.constants)
    if schedule.direct:  # its kernel reads and writes main memory, where constants come as a whole
        return Step(step.name, cycles, touched, constants=size, fetch=_fetch(size, external))
    memory = schedule.inner_memory
    blocks = {buffer.placement.operand: buffer.bytes * buffer.placement.buffers for buffer in schedule.buffers(memory)}
    constant = next((o.name for o in schedule.operands if o.role is Role.CONSTANT), None)
    return Step(
        name=step.name,
        cycles=cycles,
        tensors=touched,
        constants=size,
        fetch=_fetch(size, external),
        constant_block=blocks[constant] if constant is not None and size else None,
        tensor_blocks=tuple((buffer.name, blocks[operand]) for operand, buffer in buffers(plan, step)),
    )


def _strips(step: CallStep, alignment: int) -> Iterator[tuple[str, int]]:
    """The tensor that an operator can write strip by strip, with the least bytes that this takes; or nothing."""
    if step.pieces is None or (output := step.buffers[-1]) is None:
        return
    if output not in step.buffers[:-1]:
        yield output.name, least_strips(step.pieces, alignment)


def with_constants(problem: PlacementProblem, sizes: Mapping[int, int], external: External) -> PlacementProblem:
    """The problem where the constants of steps, by number, take other `sizes` in bytes."""
    return replace(
        problem,
        steps=tuple(
            replace(step, constants=sizes[number], fetch=_fetch(sizes[number], external)) if number in sizes else step
            for number, step in enumerate(problem.steps)
        ),
    )


def _fetch(size: int, external: External) -> float:
    """Cycles to bring so many bytes of constants in at once."""
    return external.dma.transfer(Block("", (size,), size, 1)) if size else 0.0


def buffers(plan: LayerPlan, step: CallStep) -> Iterator[tuple[str, Buffer]]:
    """The operands of a layer that lie in the workspace, by name, and their buffers; the network's tensors do not."""
    operands = plan.schedule.operands
    ordered = [o.name for role in (Role.INPUT, Role.OUTPUT) for o in operands if o.role is role]
    for operand, buffer in zip(ordered, step.buffers, strict=True):
        if buffer is not None:
            yield operand, buffer


def _tensors(network: Network, plans: Mapping[str, LayerPlan]) -> Iterator[Lifetime]:
    copied = {copy.source.buffer for copy in network.copies}
    for life in lives(network.steps, network.copies):
        touching = [step for step in network.steps if life.buffer in step.touched]
        movable = life.buffer not in copied and all(
            step.function in plans or life.buffer.name in dict(_strips(step, 1)) for step in touching
        )
        yield Lifetime(life.buffer.name, life.buffer.bytes, life.first, life.last, movable)
