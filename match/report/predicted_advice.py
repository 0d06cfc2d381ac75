"""Advice that the compiler itself can follow: the network is predicted with other arguments, which says the gain."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from match.dispatch.plan import CPU
from match.report.changes import Change, Otherwise
from match.report.layer_facts import cycles_of, is_floating, listed, names_of, of_control_core, unmapped
from match.report.schema import Advice, AdviceKind, LayerSummary, MemoryPlanSummary, OperatorSummary, Report

_CONVERSIONS = frozenset(
    {"cast", "dequantize", "layout", "layout_transform", "lookup", "quantize", "reshape", "transpose"}
)
"""Operators that may stand for nothing but another type or layout."""

_LARGER = 2, 4, 8
"""Times as much L1 as layers have that do not fit it: these are tried."""


def predicted_advice(report: Report, otherwise: Otherwise, least: float) -> Iterator[Advice]:
    """Changes that gain something; what can gain fewer than `least` cycles at most is not predicted."""
    try_out = _Tried(report, otherwise.cycles, least)
    yield from _border(report, otherwise, try_out)
    yield from _recurrent(report, otherwise, try_out)
    yield from _rescaled(report, try_out)
    yield from _memory(report, try_out)
    yield from _external(report, _Tried(report, lambda change: otherwise.whole, least))
    if not report.options.fuse:
        layers = [layer for layer in report.layers if layer.module != CPU]
        sentence = "Modules execute operators one at a time"
        yield from try_out(Change.of(fuse=True), "one by one", layers, sentence, cycles_of(layers))
    if report.options.numerics == "exact":
        layers = [
            layer for layer in report.layers if layer.cycles and (layer.module == CPU or _has_real_numbers(layer))
        ]
        sentence = f"Exact numerics leave {listed(layers)} in floating point, or to the control core"
        yield from try_out(Change.of(numerics="hardware"), "numerics", layers, sentence, cycles_of(layers))


class _Tried:
    """Predicts changes of a network, and says what they gain."""

    def __init__(self, report: Report, predict: Callable[[Change], int | None], least: float) -> None:
        self._total, self._predict, self._least = report.totals.cycles, predict, least

    def __call__(
        self,
        change: Change | None,
        kind: AdviceKind,
        layers: Sequence[LayerSummary],
        sentence: str,
        most: int,
        more: str = "",
    ) -> Iterator[Advice]:
        """A sentence, with what a change is predicted to gain; `most` are the cycles that it can take away.

        `more` is said behind.
        """
        if change is None or not layers or most < self._least:
            return
        cycles = self._predict(change)
        if cycles is not None and self._total - cycles >= max(self._least, 1):
            share = (cycles - self._total) / self._total
            told = f"with {change.text} the network is predicted to take {cycles:,} cycles instead of {self._total:,}"
            yield Advice(
                kind=kind,
                sentence=f"{sentence}: {told} ({share:+.0%}){more}.",
                cycles=self._total - cycles,
                layers=names_of(layers),
                change={name: dict(value) if name == "states" else value for name, value in change.arguments},
            )


def _border(report: Report, otherwise: Otherwise, try_out: _Tried) -> Iterator[Advice]:
    """Types and layouts of inputs and outputs that the caller could have, and states that it hands back and forth."""
    reading, writing = _first(report.layers), _last(report.layers)
    model = report.model
    both = reading | {place: cycles + reading.get(place, 0) for place, cycles in writing.items()}
    sentence = f"{_paired(otherwise.states)} are quantized alike, and converted for {sum(both.values()):,} cycles"
    more = ", if the caller hands the output back as the next input"
    converting = [report.layers[place] for place in both]
    states = [*try_out(otherwise.states, "states", converting, sentence, sum(both.values()), more)]
    yield from states
    if states:
        return
    sides = (
        (otherwise.inputs, reading, f"{_tensors('Input', [one.name for one in model.inputs])} converted"),
        (otherwise.outputs, writing, f"{_tensors('Output', [one.name for one in model.outputs])} converted"),
    )
    for change, conversions, what in sides:
        turned = change is not None and "input_type" not in dict(change.arguments) and change is otherwise.inputs
        kind: AdviceKind = "channels first" if turned else "float border"
        own, cycles = [report.layers[place] for place in conversions], sum(conversions.values())
        sentence = f"{what} by {listed(own)} for {cycles:,} cycles"
        yield from try_out(change, kind, own, sentence, cycles, ", if the caller has them so")


def _paired(change: Change | None) -> str:
    pairs = dict(change.arguments)["states"] if change else ()
    return "; ".join(f"Input {given} and output {output}" for given, output in pairs)


def _tensors(what: str, names: Sequence[str]) -> str:
    return f"{what} {names[0]} is" if len(names) == 1 else f"{what}s {', '.join(names)} are"


def _first(layers: Sequence[LayerSummary]) -> dict[int, int]:
    """Cycles of conversions of the network's inputs, by the places of their layers; groups may begin with some."""
    found: dict[int, int] = {}
    whole: set[int] = set()
    for place, layer in enumerate(layers):
        if (layer.network_inputs or layer.reads) and whole.issuperset(layer.reads):
            found[place] = layer.cycles if _converts(layer) else _beginning(layer.operators)
            whole |= {place} if _converts(layer) else set()
    return {place: cycles for place, cycles in found.items() if cycles}


def _beginning(operators: Iterable[OperatorSummary]) -> int:
    """Cycles of operators in front of the first one that is no conversion."""
    return sum(one.cycles or 0 for one in itertools.takewhile(lambda one: one.op in _CONVERSIONS, operators))


def _has_real_numbers(layer: LayerSummary) -> bool:
    """Whether a module computes a part of it in floating point."""
    return any(op.startswith("float_") for op in (layer.op, *(one.op for one in layer.operators)))


def _converts(layer: LayerSummary) -> bool:
    """Whether it only changes types and the order of elements, or may be a quantization in floating point."""
    operators = [one.op for one in layer.operators] or layer.op.split("+")
    return not layer.macs and (is_floating(layer) or _CONVERSIONS.issuperset(operators))


def _last(layers: Sequence[LayerSummary]) -> dict[int, int]:
    """The same of the network's outputs, which groups may end with."""
    read_by: dict[int, list[int]] = {}
    for place, layer in enumerate(layers):
        for source in layer.reads:
            read_by.setdefault(source, []).append(place)
    found: dict[int, int] = {}
    whole: set[int] = set()
    for place, layer in reversed(list(enumerate(layers))):
        read = read_by.get(place, [])
        if (layer.network_outputs or read) and whole.issuperset(read):
            found[place] = layer.cycles if _converts(layer) else _beginning(reversed(layer.operators))
            whole |= {place} if _converts(layer) else set()
    return {place: found[place] for place in sorted(found) if found[place]}


def _recurrent(report: Report, otherwise: Otherwise, try_out: _Tried) -> Iterator[Advice]:
    """LSTM and GRU in floating point that would be integers, if that was asked for."""
    sources = [one.source for one in otherwise.quantizable]
    layers = [layer for layer in report.layers if is_floating(layer) and layer.source in sources]
    modules = ", ".join(dict.fromkeys(one.module for one in otherwise.quantizable))
    sentence = (
        f"{', '.join(sources)}, in floating point on the control core, takes {cycles_of(layers):,} cycles, where "
        f"{modules} has weights and states of 8 bits"
    )
    change = Change.of(quantize_recurrent=True) if sources else None
    yield from try_out(change, "recurrent", layers, sentence, cycles_of(layers))


def _rescaled(report: Report, try_out: _Tried) -> Iterator[Advice]:
    """Layers that modules which shift alone refuse, and would take with their scales in weights."""
    if report.options.numerics == "exact" or report.options.rescale:
        return
    core = of_control_core(report)
    left = [layer for layer in report.layers if layer.module in core and layer.macs]
    layers = [layer for layer in left if any(one.refusal for one in layer.candidates)]
    sentence = f"{listed(layers)} on the control core takes {cycles_of(layers):,} cycles, as modules refuse its scales"
    more = ", which moves outputs as its report says"
    yield from try_out(Change.of(rescale=True), "scales", layers, sentence, cycles_of(layers), more)


def _memory(report: Report, try_out: _Tried) -> Iterator[Advice]:
    """Layers on the control core that a module would take if they fitted its memories."""
    core = of_control_core(report)
    for module in (one for one in report.target.modules if one.memories):
        layers = [layer for layer in report.layers if unmapped(layer, module.name, core)]
        if layers:
            memory = module.memories[0]
            sentence = (
                f"{listed(layers)} on the control core takes {cycles_of(layers):,} cycles, for no mapping fits the "
                f"{memory.bytes:,} bytes of {memory.name} of {module.name}"
            )
            sizes = (Change.of(l1=factor * memory.bytes) for factor in _LARGER)
            tried = (try_out(size, "memory", layers, sentence, cycles_of(layers)) for size in sizes)
            nothing: list[Advice] = []
            yield from next((found for one in tried if (found := [*one])), nothing)


def _external(report: Report, try_out: _Tried) -> Iterator[Advice]:
    """Waits for external memory, which a larger main memory would not have."""
    memory = report.memory
    if not isinstance(memory, MemoryPlanSummary):
        return
    outside = memory.external_memory.name
    waiting = sorted((layer for layer in report.layers if layer.wait_cycles), key=lambda layer: -layer.wait_cycles)
    if waiting:
        worst = waiting[0]
        size = f" of {worst.constant_bytes:,} bytes of constants" if worst.constant_bytes else ""
        most = sum(layer.wait_cycles for layer in waiting)
        main = report.target.main_memory
        sentence = (
            f"Waits for {outside} take {most:,} cycles, {worst.wait_cycles:,} of them for {worst.name}{size}, as "
            f"{main.name} has {main.bytes:,} bytes"
        )
        more = "; narrower weights (`match quantize --weight-bits auto`) or a smaller layer would wait for less, too"
        # The network may be cut otherwise where it need not leave main memory, which waits say nothing of.
        whole = max(most, memory.exposed_cycles)
        yield from try_out(Change.of(l2=memory.whole_bytes), "external memory", waiting, sentence, whole, more)
