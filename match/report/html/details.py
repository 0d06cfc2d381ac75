"""What is told of a layer when it is selected: shapes, cost, loops, buffers, why it runs there, how exact it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from match.report.html.cycles import CAUSE_NAMES
from match.report.html.palette import CAUSES
from match.report.html.text import facts, joined, link, name, number, share, size, stacked, table
from match.report.layer_rows import causes, peak_share, shapes
from match.report.pieces import SHARED, shared_cycles
from match.report.schema import (
    CandidateSummary,
    LayerSummary,
    OperatorSummary,
    Report,
    ScheduleSummary,
    ValidatedLayer,
)
from match.report.table import exactness


def details(report: Report) -> Markup:
    """A hidden part for each layer."""
    return joined(
        Markup('<article id="layer-{}" hidden><h2>{}</h2>{}</article>').format(
            place, name(report.layers[place].name), about
        )
        for place, about in enumerate(each(report))
    )


def each(report: Report, numbers: Sequence[int] | None = None) -> list[Markup]:
    """What is told of each layer; `numbers` are those by which the page knows the layers, none: their places."""
    known = range(len(report.layers)) if numbers is None else numbers
    readers: dict[int, list[int]] = {}
    for place, layer in enumerate(report.layers):
        for source in layer.reads:
            readers.setdefault(source, []).append(place)
    peaks = {module.name: module.peak_macs for module in report.target.modules}
    return [_layer(report, place, readers.get(place, []), known, peaks) for place in range(len(report.layers))]


def _layer(
    report: Report, place: int, readers: list[int], numbers: Sequence[int], peaks: Mapping[str, int | None]
) -> Markup:
    layer = report.layers[place]
    parts = [
        facts(_facts(report, layer, readers, numbers, peaks)),
        stacked("Cycles", ((CAUSE_NAMES[one], count, CAUSES[one]) for one, count in causes(layer).items()), "cycles"),
        *_operators(layer),
        *(_schedule(layer.schedule) if layer.schedule else ()),
        *_choice(report, layer),
    ]
    return joined(parts)


def _facts(
    report: Report, layer: LayerSummary, readers: list[int], numbers: Sequence[int], peaks: Mapping[str, int | None]
) -> Iterator[tuple[str, str | Markup]]:
    milliseconds = 1e3 * layer.cycles / report.target.clock_hz
    reached = peak_share(layer, peaks)
    yield "In the model", name(layer.source) if layer.source else ""
    yield "Operator", layer.op.replace("+", " + ")
    yield "Module", layer.module
    if layer.output_shapes:
        yield "Shapes", f"{shapes(layer.input_shapes) or 'nothing'} → {shapes(layer.output_shapes)}"
    yield "Not computed", f"{layer.removed_channels} channels of no use" if layer.removed_channels else ""
    yield "Part of", f"an operator in {layer.parts} parts" if layer.parts > 1 else ""
    yield "Reads", _links(report, layer.reads, numbers, [report.model.inputs[one].name for one in layer.network_inputs])
    outputs = [report.model.outputs[one].name for one in layer.network_outputs]
    yield "Read by", _links(report, readers, numbers, outputs)
    yield "Predicted", f"{layer.cycles:,} cycles, {milliseconds:.3f} ms, {share(layer.cycles, report.totals.cycles)}"
    if layer.macs and layer.cycles:
        of_peak = "" if reached is None else f", {reached:.1%} of the peak"
        yield "MACs", f"{layer.macs:,}, {layer.macs / layer.cycles:.2f} per cycle{of_peak}"
    yield "Bound by", layer.bound or ""
    yield "Energy", "" if layer.energy_pj is None else f"{layer.energy_pj / 1e6:,.3f} µJ"
    yield "Constants", size(layer.constant_bytes) if layer.constant_bytes else ""
    yield "Weights", f"{layer.weight_bits} bits each" if layer.weight_bits else ""
    yield "Exact", exactness(layer)
    if layer.requantization:
        yield "Requantized by", layer.requantization.form
    for validated in report.validated:
        for one in validated.layers or ():
            if one.name == layer.name:
                yield f"Validated on {validated.platform}", _validated(one)
    for measurement in report.measured:
        for group in measurement.layers:
            if layer.name in group.layers:
                with_others = f" for {len(group.layers)} layers" if len(group.layers) > 1 else ""
                yield f"On {measurement.platform}", f"{group.count:,} {measurement.unit}{with_others}"


def _validated(one: ValidatedLayer) -> str:
    if not one.differing:
        return f"all {one.elements:,} elements are the network's own"
    known = f", and up to {one.known_steps} is known" if one.known_steps else ""
    return f"{one.differing:,} of {one.elements:,} elements differ, by up to {one.largest:g}{known}"


def _links(report: Report, places: Sequence[int], numbers: Sequence[int], others: list[str]) -> Markup:
    layers = (link(numbers[place], report.layers[place].name) for place in places)
    return Markup(", ").join((*(name(other) for other in others), *layers))


def _operators(layer: LayerSummary) -> Iterator[Markup]:
    if layer.operators:
        yield Markup("<h3>Operators, executed as one</h3>")
        shared = shared_cycles(layer)
        if shared is None:
            yield table(("operator", "MACs"), ((_operator(one), one.macs or None) for one in layer.operators))
            yield Markup('<p class="hint">They take turns, tile by tile: cycles are those of all.</p>')
        else:
            rows = [(_operator(one), one.macs or None, one.cycles) for one in layer.operators]
            rest = Markup("{}<br><small>offload, transfers that nothing hides, waits</small>").format(SHARED)
            yield table(("operator", "MACs", "cycles"), [*rows, (rest, None, shared)])


def _operator(one: OperatorSummary) -> Markup:
    return Markup("{}<br><small>{}</small>").format(one.op, name(one.source))


def _schedule(schedule: ScheduleSummary) -> Iterator[Markup]:
    yield Markup("<h3>Loops</h3>")
    if schedule.loops:
        yield table(
            ("loop", "times", "tile", "of"), ((one.dim, one.count, one.tile, one.extent) for one in schedule.loops)
        )
    else:
        yield Markup("<p>None: the whole layer fits.</p>")
    yield facts([("Largest tile", ", ".join(f"{dim} {extent}" for dim, extent in schedule.tile.items()))])
    yield Markup("<h3>Buffers</h3>")
    yield table(
        ("operand", "memory", "bytes", "buffers", "inside loops", "bytes moved"),
        (
            (operand.name, one.memory, one.bytes, one.buffers, one.depth, operand.bytes_moved)
            for operand in schedule.operands
            for one in operand.buffers
        ),
    )
    taken = ", ".join(f"{size(memory.bytes)} of {memory.name}" for memory in schedule.memories)
    yield facts([("In use", taken), ("For the kernel", size(schedule.scratch_bytes) if schedule.scratch_bytes else "")])


def _choice(report: Report, layer: LayerSummary) -> Iterator[Markup]:
    if layer.candidates:
        yield Markup("<h3>Why {}</h3>").format(layer.module)
        yield facts((one.module, _offer(one, layer.module)) for one in layer.candidates)
    if layer.runner_up:
        unit = {"latency": "cycles", "energy": "pJ", "bytes": "bytes", "edp": "pJ x cycles", "ram": "cycles"}.get(
            report.options.objective, ""
        )
        yield Markup("<p>Runner-up: {}, with {} {} for the whole network.</p>").format(
            layer.runner_up.module, number(round(layer.runner_up.cost)), unit
        )


def _offer(one: CandidateSummary, chosen: str) -> str | Markup:
    """What a module would have cost, or why it refused."""
    if one.cycles is None:
        return f"refused because {one.refusal}" if one.refusal else "made no offer"
    energy = "" if one.energy_pj is None else f", {one.energy_pj / 1e6:,.3f} µJ"
    off = ", not exact" if one.requantization and not one.requantization.exact else ""
    offer = f"{one.cycles:,} cycles{energy}{off}"
    return Markup("<strong>{}</strong>").format(offer) if one.module == chosen else offer
