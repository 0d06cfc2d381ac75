"""The predicted timeline of a compiled network, operator by operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from match.analysis.simulate import Event, Timeline, simulate
from match.analysis.timeline.chrome_trace import CORE, Span, Stretch, dma
from match.codegen.network import NetworkMemory
from match.dispatch.plan import LayerDecision, LayerPlan
from match.target.external_cost import external_cost
from match.target.hardware import MatchTarget
from match.target.layers import cost_model_of


def simulated(plan: LayerPlan, target: MatchTarget) -> Timeline:
    """The predicted timeline of a layer on a module, tile by tile."""
    cost = cost_model_of(plan.modules(target), plan.layer, plan.requantizers)
    if plan.external and target.external:
        cost = external_cost(cost, target.external, target.main_memory.name)
    return simulate(plan.schedule, cost)


def stretches(
    layers: Sequence[LayerDecision],
    simulate_layer: Callable[[LayerPlan], Timeline | None],
    memory: NetworkMemory | None,
    external: str,
) -> Iterator[Stretch]:
    """A stretch for each operator, in the order of execution, as long as the operator is predicted to take.

    Args:
        layers: the network's operators.
        simulate_layer: makes the timeline of one that has a schedule; None if all its kernel calls are to be one bar.
        memory: where the network lies, if main memory cannot hold it.
        external: name of the external memory.
    """
    begin = 0.0
    transfers = _transfers(memory, external) if memory else {}
    starts = _starts(memory) if memory else {}
    for number, layer in enumerate(layers):
        spans = [
            *(span.moved(-begin) for span in transfers.get(number, ())),
            *_waiting(layer.waits, external, [span.moved(-begin) for span in starts.get(number, ())]),
        ]
        events: tuple[Event, ...] = ()
        units: tuple[str, ...] = ()
        if layer.plan is None:
            spans += _on_core(layer)
        else:
            timeline = simulate_layer(layer.plan)
            if timeline is None:
                spans.append(Span(layer.module, "kernel", layer.name, layer.waits, layer.cycles))
            else:
                factor = (layer.cycles - layer.waits) / timeline.cycles if timeline.cycles else 1.0
                spans += _offload(layer, factor * timeline.offload)
                events = tuple(_moved(timeline.events, layer.waits, factor))
                units = _units(layer.plan)
        yield Stretch(layer.name, layer.module, events, layer.cycles, layer.source, tuple(spans), units)
        begin += layer.cycles


def _units(plan: LayerPlan) -> tuple[str, ...]:
    """The module of each kernel call of a group; nothing for what has one module."""
    if plan.schedule.plan is None:
        return ()
    asked = (plan.operators[call.operator].unit for call in plan.schedule.plan.calls)
    return tuple(unit.name if unit else plan.module for unit in asked)


def _moved(events: Iterable[Event], by: float, factor: float) -> Iterator[Event]:
    """Events that begin later. Times are `factor` as long, where a cost model predicts whole mappings by itself."""
    for action, *times in events:
        yield Event(action, *(by + factor * time for time in times))


def _on_core(layer: LayerDecision) -> Iterator[Span]:
    """The control core computes, and the core that executes tile loops has nothing to do."""
    if layer.cycles > layer.waits:
        yield Span(layer.module, "kernel", layer.name, layer.waits, layer.cycles)
        yield Span(CORE, "idle", f"idle during {layer.name}", layer.waits, layer.cycles)


def _offload(layer: LayerDecision, cycles: float) -> Iterator[Span]:
    """What a layer takes before its first transfer."""
    if cycles > 0:
        yield Span(CORE, "offload", f"offload {layer.name}", layer.waits, layer.waits + cycles)


def _waiting(cycles: float, external: str, starts: Iterable[Span]) -> Iterator[Span]:
    """What the core does before a layer's own work: it starts transfers of constants, and waits for external memory."""
    now = 0.0
    for start in starts:
        if start.begin > now:
            yield Span(CORE, "wait", f"wait for {external}", now, start.begin)
        if start.end > start.begin:
            yield start
        now = start.end
    if cycles > now:
        yield Span(CORE, "wait", f"wait for {external}", now, cycles)


def _transfers(memory: NetworkMemory, external: str) -> dict[int, list[Span]]:
    """Transfers that are no layer's own, by the operator at whose step they are started: constants, and strips."""
    found: dict[int, list[Span]] = {}
    latency, lane = memory.plan.latency, dma(external)
    for one in latency.arrivals:
        details: dict[str, str | int] = {"operand": "weights", "bytes": memory.problem.steps[one.step].constants}
        name = f"constants of {memory.problem.steps[one.step].name}"
        found.setdefault(_first(memory, one.at), []).append(Span(lane, "transfer", name, one.begin, one.end, details))
    for step in memory.strips:
        name = f"output of {memory.problem.steps[step].name} in strips"
        begin, end = latency.works[step], latency.begins[step + 1]
        found.setdefault(_first(memory, step), []).append(
            Span(lane, "transfer", name, begin, end, {"operand": "output"})
        )
    return found


def _starts(memory: NetworkMemory) -> dict[int, list[Span]]:
    """The core starts transfers of constants, by the operator at whose step it does."""
    found: dict[int, list[Span]] = {}
    for one in memory.plan.latency.arrivals:
        name = f"fetch constants of {memory.problem.steps[one.step].name}"
        begin = one.started - memory.problem.issue
        details: dict[str, str | int] = {"operand": "weights"}
        found.setdefault(_first(memory, one.at), []).append(Span(CORE, "start", name, begin, one.started, details))
    return found


def _first(memory: NetworkMemory, step: int) -> int:
    """The operator with which a step begins; one without operators is a part of what is before it."""
    return next((number for number, own in enumerate(memory.steps) if own >= step), len(memory.steps) - 1)
