"""The part of the report about a network that main memory cannot hold."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import UNSET

from match.codegen.network import NetworkMemory
from match.report.schema import MemoryPlanSummary, MemoryStep, MemorySummary, Report, TensorPlace
from match.target.hardware import External


def summarize(memory: NetworkMemory, external: External, main_bytes: int) -> MemoryPlanSummary:
    """Where everything lies and what that costs."""
    plan, problem = memory.plan, memory.problem
    return MemoryPlanSummary(
        external_memory=MemorySummary(external.memory.name, external.memory.size),
        main_bytes=main_bytes,
        external_bytes=plan.external,
        image_bytes=plan.image,
        operator_bytes=problem.resident,
        whole_bytes=memory.whole,
        traffic_cycles=round(plan.latency.traffic),
        exposed_cycles=round(sum(plan.latency.exposed)),
        hidden=plan.latency.hidden,
        steps=tuple(_step(memory, number, step.name) for number, step in enumerate(problem.steps)),
        tensors=tuple(
            TensorPlace(
                name=tensor.name,
                bytes=tensor.bytes,
                external=tensor.name in plan.choice.spilled,
                offset=plan.tensors[tensor.name],
                first=tensor.first,
                last=tensor.last,
                read_by=tuple(
                    n for n, step in enumerate(problem.steps) if n > tensor.first and tensor.name in step.tensors
                ),
            )
            for tensor in problem.tensors
        ),
    )


class MainMemoryUse(NamedTuple):
    """Bytes of main memory by what they are for: activations, with inputs, outputs and states; constants; program."""

    activations: int
    constants: int
    program: int


def main_memory_use(report: Report) -> MainMemoryUse:
    """What a network and its program take of main memory at most."""
    totals = report.totals
    if report.target.flash is not None:
        return MainMemoryUse(totals.l2_peak_bytes, 0, 0)
    constants = totals.constant_bytes if report.memory is UNSET else 0
    return MainMemoryUse(totals.l2_peak_bytes - constants, constants, totals.program_bytes)


def outside_main_memory(report: Report) -> dict[str, str]:
    """The name of the external memory by that of the main memory; empty if main memory holds the network."""
    if report.memory is UNSET:
        return {}
    return {report.target.main_memory.name: report.memory.external_memory.name}


def _step(memory: NetworkMemory, number: int, name: str) -> MemoryStep:
    plan = memory.plan
    cut = plan.cuts.get(number)
    return MemoryStep(
        name=name,
        constants=_way(memory, number),
        constant_bytes=memory.problem.steps[number].constants,
        offset=plan.constants.get(number),
        fetched_at=plan.choice.fetched[number],
        cut=cut is not None,
        block_bytes=cut.bytes if cut else 0,
        block_offset=plan.blocks.get(number),
        exposed_cycles=round(plan.latency.exposed[number]),
    )


def _way(memory: NetworkMemory, number: int) -> Literal["none", "resident", "fetched", "cut"]:
    choice = memory.plan.choice
    if number in choice.resident:
        return "resident"
    if number in choice.cut:
        return "cut"
    return "none" if choice.fetched[number] is None else "fetched"
