"""Makes the report out of what the compiler decided; computes sums, predictions for platforms, advice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from importlib import metadata

import msgspec

from match.analysis.simulate import Timeline
from match.codegen.network import Network, NetworkMemory
from match.codegen.steps import lives
from match.compilation.options import Options
from match.dispatch.plan import CPU, LayerDecision, LayerPlan, Offer
from match.frontend.model import Model, ModelTensor
from match.graph.operator import Array
from match.ir.deviation import Deviation
from match.ir.layer import Layer
from match.mapping.group_plan import GroupPlan, rooms
from match.mapping.schedule import Schedule
from match.prediction.group import operator_cycles
from match.prediction.predict import predict
from match.report.advice import advise
from match.report.changes import Otherwise
from match.report.layer_rows import causes_of
from match.report.memory import outside_main_memory, summarize
from match.report.reads import Reads
from match.report.schema import (
    Bottleneck,
    BufferSummary,
    CandidateSummary,
    EnlargedMemory,
    LayerSummary,
    LoopSummary,
    MemoryPlanSummary,
    MemorySummary,
    ModelSummary,
    ModuleSummary,
    MovedOutputs,
    MovedSummary,
    OperandSummary,
    OperatorSummary,
    OptionsSummary,
    Report,
    RequantizationSummary,
    RoomSummary,
    RunnerUpSummary,
    ScheduleSummary,
    StateSummary,
    TargetSummary,
    TensorSummary,
    TimelineSummary,
    Totals,
    WorkspaceBuffer,
    WorkspaceSummary,
)
from match.report.shares import shares
from match.report.stretches import simulated, stretches
from match.report.timeline import timeline
from match.target.cost import Cost
from match.target.group import GroupCost
from match.target.hardware import MatchTarget, Platform
from match.target.layers import cost_model_of

MOST_CALLS = 1000
"""Kernel calls of a layer that has a bar for each in the timeline."""


def build(
    *,
    model: Model,
    target: MatchTarget,
    options: Options,
    decisions: Sequence[LayerDecision],
    states: Sequence[Array] = (),
    workspace_bytes: int,
    constant_bytes: int,
    compile_seconds: Mapping[str, float],
    program_bytes: int = 0,
    network: Network | None = None,
    workspace: WorkspaceSummary | None = None,
    reads: Sequence[Reads] = (),
    elements: Mapping[str, int] | None = None,
    deviations: Mapping[str, Sequence[Deviation]] | None = None,
    moved_outputs: MovedOutputs | None = None,
    otherwise: Otherwise | None = None,
) -> Report:
    """The report of one compilation.

    Args:
        model: The network.
        target: The chip, with the modules and memory sizes that were compiled for.
        options: What the compiler was asked for.
        decisions: Every operator of the network, in execution order.
        states: What the model's states hold at first, as the network stores them.
        workspace_bytes: Most bytes of main memory that activations take at once, network inputs and outputs included.
        constant_bytes: Bytes that constants take of the memory that they lie in.
        compile_seconds: Wall-clock seconds by phase, in the order in which phases ran.
        program_bytes: Bytes that the program is estimated to take beside them.
        network: Its calls and places, if it was compiled.
        workspace: The same where TVM made nothing of it; without both there is no timeline.
        reads: What each of the decisions reads.
        elements: Those of the model's tensors, by the names that decisions have as sources.
        deviations: By how much operators that were changed differ from the model's, by the names of decisions.
        moved_outputs: By how much outputs move where modules requantize otherwise than the network.
        otherwise: What is known of the network compiled otherwise; without that it has neither timeline nor advice.
    """
    whole = dict(elements or {})
    memory = network.memory if network else None
    arrows = reads or [Reads()] * len(decisions)
    in_parts = {decision.source for decision in decisions if decision.parts > 1}
    removed_of = {source: _removed_of_parts(source, whole.pop(source, None), decisions) for source in in_parts}
    layers = tuple(
        _layer(
            decision,
            target,
            whole,
            (deviations or {}).get(decision.name, ()),
            removed_of.pop(decision.source, 0) if decision.parts > 1 else _removed_of_layer(decision, whole),
            arrow,
        )
        for decision, arrow in zip(decisions, arrows, strict=True)
    )
    kept = tuple(
        StateSummary(state.tensor.name, array.shape, array.dtype.name, array.nbytes, state.output)
        for state, array in zip(model.states, states, strict=True)
    )
    in_main = workspace_bytes + sum(state.bytes for state in kept)
    cycles = sum(layer.cycles for layer in layers)
    macs = sum(layer.macs for layer in layers)
    report = Report(
        generator=f"match-compiler {metadata.version('match-compiler')}",
        model=ModelSummary(
            name=model.name,
            sha256=model.sha256,
            macs=macs,
            inputs=tuple(_tensor(tensor) for tensor in model.inputs),
            outputs=tuple(_tensor(tensor) for tensor in model.outputs),
            states=kept,
            batch=model.batch,
            ranges=dict(model.ranges),
        ),
        target=_target(target, layers),
        options=_options(target, options),
        totals=Totals(
            cycles=cycles,
            milliseconds=1e3 * cycles / target.clock_hz,
            macs_per_cycle=macs / cycles if cycles else 0.0,
            l2_peak_bytes=in_main if memory or target.flash else in_main + constant_bytes,
            constant_bytes=constant_bytes,
            program_bytes=program_bytes,
            bytes_moved=sum(operand.bytes_moved for layer in layers for operand in _operands(layer)),
            energy_pj=_sum([layer.energy_pj for layer in layers]),
            inexact_layers=sum(not layer.exact for layer in layers),
            compile_seconds=dict(compile_seconds),
            causes=causes_of(layers),
            inside_bytes=network.inside.bytes if network and not memory else None,
        ),
        layers=layers,
        memory=_memory(memory, target, in_main) if memory else msgspec.UNSET,
        moved_outputs=moved_outputs,
        workspace=_workspace(network) if network and not memory else workspace,
    )
    if otherwise is None:
        return report
    if network or workspace:
        report = msgspec.structs.replace(report, timeline=_timeline(report, decisions, memory, target))
    return msgspec.structs.replace(report, advice=advise(report, otherwise))


def _options(target: MatchTarget, options: Options) -> OptionsSummary:
    return OptionsSummary(
        modules=tuple(module.name for module in target.modules),
        l1=options.l1,
        engine=options.engine,
        objective=options.objective,
        numerics=options.numerics.value,
        fuse=options.fuse,
        rescale=options.rescale,
        quantize_recurrent=options.quantize_recurrent,
        settings=dict(target.settings),
        at_most=str(options.bound) if options.bound else None,
    )


def _operands(layer: LayerSummary) -> tuple[OperandSummary, ...]:
    return layer.schedule.operands if layer.schedule else ()


def _memory(memory: NetworkMemory, target: MatchTarget, main_bytes: int) -> MemoryPlanSummary:
    assert target.external is not None, "networks take external memory of targets that have some"
    return summarize(memory, target.external, main_bytes)


def _workspace(network: Network) -> WorkspaceSummary:
    return WorkspaceSummary(
        steps=tuple(step.name for step in network.steps),
        buffers=tuple(
            WorkspaceBuffer(life.buffer.bytes, network.places[life.buffer.name].offset, life.first, life.last)
            for life in lives(network.steps, network.copies)
        ),
        bytes=network.workspace_bytes,
        operator_bytes=network.operator_constant_bytes,
    )


def _timeline(
    report: Report, decisions: Sequence[LayerDecision], memory: NetworkMemory | None, target: MatchTarget
) -> TimelineSummary:
    """The predicted timeline; what calls kernels too often has one bar for all of them."""

    def calls(plan: LayerPlan) -> int:
        return math.prod(loop.count for loop in plan.schedule.loops)

    def simulate_layer(plan: LayerPlan) -> Timeline | None:
        return simulated(plan, target) if calls(plan) <= MOST_CALLS else None

    external = target.external.memory.name if target.external else ""
    coarse = [place for place, one in enumerate(decisions) if one.plan and calls(one.plan) > MOST_CALLS]
    made = stretches(decisions, simulate_layer, memory, external)
    return timeline(made, coarse, outside_main_memory(report))


def _sum(energies: Sequence[float | None]) -> float | None:
    known = [energy for energy in energies if energy is not None]
    return sum(known) if len(known) == len(energies) else None


def _tensor(tensor: ModelTensor) -> TensorSummary:
    return TensorSummary(tensor.name, tensor.shape, tensor.dtype)


def _target(target: MatchTarget, layers: Sequence[LayerSummary]) -> TargetSummary:
    scratchpads = {module.name: module.memories for module in target.modules}
    peaks = {module.name: module.peak_macs for module in target.modules}

    def module(name: str) -> ModuleSummary:
        mine = [part for layer in layers for part in shares(layer) if part.module == name]
        return ModuleSummary(
            name=name,
            memories=tuple(MemorySummary(*room) for memory in scratchpads.get(name, ()) for room in memory.rooms),
            layers=len(mine),
            macs=sum(part.macs for part in mine),
            cycles=sum(part.cycles for part in mine),
            peak_macs=peaks.get(name),
        )

    return TargetSummary(
        name=target.name,
        clock_hz=target.clock_hz,
        main_memory=MemorySummary(target.main_memory.name, target.main_memory.size),
        modules=tuple(module(name) for name in (*scratchpads, CPU)),
        estimated_energy=target.estimated_energy,
        enlarged=tuple(EnlargedMemory(one.name, one.bytes, one.own) for one in target.enlarged),
        flash=MemorySummary(target.flash.name, target.flash.size) if target.flash else None,
    )


def _layer(
    decision: LayerDecision,
    target: MatchTarget,
    elements: Mapping[str, int],
    deviations: Sequence[Deviation],
    removed: int,
    reads: Reads,
) -> LayerSummary:
    taken = next((c for c in decision.candidates if c.module == decision.module and c.refusal is None), None)
    schedule = decision.plan.schedule if decision.plan else None
    cost = taken.cost if taken and schedule else None
    moved = dict(cost.moved) if cost else {}
    requantization = _requantization(taken) if taken and schedule else None
    return LayerSummary(
        name=decision.name,
        op=decision.op,
        module=decision.module,
        macs=decision.macs,
        outputs=decision.outputs,
        cycles=round(decision.cycles),
        compute_cycles=round(cost.compute) if cost else None,
        dma_cycles=round(cost.transfer) if cost else None,
        overhead_cycles=round(cost.overhead) if cost else None,
        bound=_bound(cost, decision.waits) if cost else None,
        energy_pj=decision.energy,
        l1_bytes=schedule.used_bytes(schedule.inner_memory) if schedule and not schedule.direct else 0,
        schedule=_schedule(schedule, moved) if schedule else None,
        requantization=requantization,
        candidates=tuple(_candidate(candidate) for candidate in decision.candidates),
        platform_cycles=_on_platforms(decision, target),
        source=decision.source,
        exact=decision.reference and (requantization is None or requantization.exact) and not deviations,
        floating=decision.floating,
        runner_up=RunnerUpSummary(other.module, other.cost) if (other := decision.runner_up) else None,
        input_shapes=decision.input_shapes,
        output_shapes=decision.output_shapes,
        removed_channels=removed,
        operators=tuple(_operators(decision.plan, target, elements)) if decision.plan else (),
        moved=MovedSummary(*map(max, zip(*map(astuple, deviations), strict=True))) if deviations else None,
        constant_bytes=len(decision.plan.constants) if decision.plan else None,
        weight_bits=_weight_bits(decision.plan.layer) if decision.plan else None,
        wait_cycles=round(decision.waits),
        parts=decision.parts,
        reads=reads.operators,
        network_inputs=reads.inputs,
        network_outputs=reads.outputs,
    )


def _bound(cost: Cost, waits: float) -> Bottleneck:
    """What takes most of a layer's cycles."""
    return "external" if waits > max(cost.compute, cost.transfer, cost.overhead) else cost.bound


def _operators(plan: LayerPlan, target: MatchTarget, elements: Mapping[str, int]) -> Iterator[OperatorSummary]:
    """The operators of a chain or a group; none of another layer."""
    layer = plan.layer
    if not layer.fused:
        return
    cycles: list[int | None] = [None] * len(layer.operators)
    calls: Counter[int] = Counter()
    if plan.schedule.plan:
        calls.update(call.operator for call in plan.schedule.plan.calls)
        cost = cost_model_of(plan.modules(target), layer, plan.requantizers)
        assert isinstance(cost, GroupCost)
        cycles = [round(one) for one in operator_cycles(plan.schedule, cost)]
    for number, (stage, own, predicted) in enumerate(zip(layer.operators, plan.operators, cycles, strict=False)):
        channels = stage.output_channels
        removed = _removed(elements.get(own.source), stage.output_elements // channels, channels)
        yield OperatorSummary(
            stage.what,
            stage.macs,
            stage.output_elements,
            predicted,
            own.source,
            removed,
            _weight_bits(stage),
            own.unit.name if own.unit else plan.module,
            calls[number] or 1,
        )


def _weight_bits(layer: Layer) -> int | None:
    """Bits in which each weight of an operator is stored; None without weights, and for several operators."""
    return layer.weight_bits if layer.weight_dtype and not layer.fused else None


def _removed_of_layer(decision: LayerDecision, elements: Mapping[str, int]) -> int:
    """The channels that are removed from a layer's only output; a scalar has none."""
    if len(decision.output_shapes) != 1 or not decision.output_shapes[0]:
        return 0
    *places, channels = decision.output_shapes[0]
    return _removed(elements.get(decision.source), math.prod(places), channels)


def _removed_of_parts(source: str, whole: int | None, decisions: Sequence[LayerDecision]) -> int:
    """The channels that are removed from an operator in parts, which has `whole` of them in the model."""
    if whole is None:
        return 0
    own = [decision for decision in decisions if decision.source == source and decision.parts > 1 and decision.macs]
    computed = sum(decision.outputs for decision in own if decision.plan is None)
    for plan in (decision.plan for decision in own if decision.plan):
        operators = zip(plan.layer.operators, plan.operators, strict=True)
        computed += sum(layer.output_elements for layer, one in operators if layer.macs and one.source in ("", source))
    return max(0, whole - computed)


def _removed(whole: int | None, places: int, channels: int) -> int:
    """Channels that a tensor of `whole` elements has in the model and not here, where it has `channels` at `places`."""
    return max(0, whole // places - channels) if whole is not None and whole % places == 0 else 0


def _on_platforms(decision: LayerDecision, target: MatchTarget) -> dict[str, int]:
    """Cycles of the layer's schedule on the platforms that have a cost model of their own, where it can run there."""
    plan = decision.plan
    found: dict[str, int] = {}
    for platform in target.platforms:
        if platform.cost is None:
            continue
        if plan is None:
            found[platform.place] = round(decision.cycles)
        elif plan.external is None and _runs_on(platform, plan):
            cost = cost_model_of(plan.modules(target), plan.layer, plan.requantizers, platform.cost)
            found[platform.place] = round(predict(plan.schedule, cost).cycles)
    return found


def _runs_on(platform: Platform, plan: LayerPlan) -> bool:
    """Whether a platform has all modules of a layer."""
    return platform.modules is None or all(unit.name in platform.modules for unit in plan.units)


def _schedule(schedule: Schedule, moved: Mapping[str, int]) -> ScheduleSummary:
    return ScheduleSummary(
        loops=tuple(LoopSummary(loop.dim.value, loop.count, loop.tile, loop.extent) for loop in schedule.loops),
        tile={dim.value: extent for dim, extent in schedule.extents(len(schedule.loops)).items()},
        memories=tuple(
            MemorySummary(room, schedule.used_bytes(memory, room))
            for memory in schedule.memories
            for room, _ in memory.rooms
        ),
        scratch_bytes=schedule.scratch,
        loss=schedule.loss,
        operands=tuple(
            OperandSummary(
                name=operand.name,
                role=operand.role.value,
                buffers=tuple(
                    BufferSummary(
                        memory=memory.name,
                        depth=buffer.placement.depth,
                        buffers=buffer.placement.buffers,
                        bytes=buffer.bytes,
                    )
                    for memory in schedule.memories
                    for buffer in schedule.buffers(memory)
                    if buffer.placement.operand == operand.name
                ),
                bytes_moved=moved.get(operand.name, 0),
            )
            for operand in schedule.operands
        ),
        kernel_calls=len(schedule.plan.calls) if schedule.plan else 0,
        rooms=tuple(_rooms(schedule.layer, schedule.plan)) if schedule.plan else (),
    )


def _rooms(layer: Layer, plan: GroupPlan) -> Iterator[RoomSummary]:
    """The rooms of a group, as its plan numbers them."""
    for kind, number, item, offset in rooms(layer, plan):
        if kind == "fetch":
            fetch = plan.fetches[number]
            what, operator = "constants" if fetch.components else "input", plan.calls[fetch.awaited].operator
        else:
            what, operator = kind, number
        yield RoomSummary(what, operator, offset, item.bytes, item.first, item.last)


def _requantization(candidate: Offer) -> RequantizationSummary | None:
    if candidate.requantizer is None or candidate.fit is None:
        return None
    fit = candidate.fit
    return RequantizationSummary(candidate.requantizer.name, fit.exact, fit.share, fit.max_step)


def _candidate(candidate: Offer) -> CandidateSummary:
    return CandidateSummary(
        module=candidate.module,
        cycles=round(candidate.cost.cycles) if candidate.cost else None,
        energy_pj=candidate.cost.energy if candidate.cost else None,
        refusal=candidate.refusal,
        requantization=_requantization(candidate),
        unmapped=candidate.unmapped,
    )
