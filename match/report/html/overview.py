"""What one sees first: latency, memory, where the cycles go, and what would help."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from match.report.advice import moved_text
from match.report.html.cycles import CAUSE_NAMES
from match.report.html.figures import Chart
from match.report.html.palette import AREAS, CAUSES, unit_colours
from match.report.html.text import facts, joined, link, meter, number, share, size, stacked, table
from match.report.layer_rows import causes
from match.report.memory import main_memory_use
from match.report.memory_areas import CALLERS, PROGRAM, STATES
from match.report.pieces import pieces
from match.report.schema import AccuracySummary, MemoryPlanSummary, Report
from match.report.settings import hypothetical, objective_text, settings_text
from match.report.shares import units

_SLOWEST = 8
_PJ_IN_UJ = 1e6
_PJ_IN_NJ = 1e3


def overview(report: Report, cycles: Chart) -> Markup:
    """The first tab."""
    warned = joined(
        Markup('<p class="card"><strong class="warning">Warning</strong> {}</p>').format(one)
        for one in hypothetical(report)
    )
    return Markup(
        '{}<div class="cards">{}</div>'
        '<div class="columns"><section class="card"><h2>Where the cycles go</h2>{}{}{}</section>'
        '<section class="card"><h2>Memory</h2>{}</section></div>'
        '<section class="card"><h2>Cycles of each layer, and of the operators of groups</h2>{}</section>'
        '<div class="columns"><section class="card"><h2>What would help</h2>{}</section>'
        '<section class="card"><h2>What takes longest</h2>{}</section></div>'
        '{}<section class="card"><h2>How it was compiled</h2>{}</section>'
    ).format(
        warned,
        joined(_cards(report)),
        stacked("By unit", by_unit(report), "cycles"),
        stacked("By cause", by_cause(report), "cycles"),
        stacked("Energy by unit, in nJ", _energy(report), "nJ") if report.totals.energy_pj else "",
        joined(_memories(report)),
        cycles.content,
        _advice(report),
        _slowest(report),
        _validated(report),
        _compiled(report),
    )


def _cards(report: Report) -> Iterator[Markup]:
    totals, target = report.totals, report.target
    main = target.main_memory
    yield _card(
        "Latency", f"{totals.milliseconds:,.3f} ms", f"{totals.cycles:,} cycles at {target.clock_hz / 1e6:g} MHz"
    )
    yield _card("Throughput", f"{totals.macs_per_cycle:.2f} MAC/cycle", f"{report.model.macs:,} MACs")
    if totals.energy_pj is not None:
        by = ", from estimates" if target.estimated_energy else ""
        yield _card("Energy", f"{totals.energy_pj / _PJ_IN_UJ:,.3f} µJ", f"for one inference{by}")
    used = sum(main_memory_use(report))
    yield _card(f"{main.name}", size(used), f"{share(used, main.bytes)} of {size(main.bytes)}")
    yield _card("Constants", size(totals.constant_bytes), f"{size(totals.bytes_moved)} moved in one inference")
    inexact = totals.inexact_layers
    moved = f"; outputs: {moved_text(report)}" if report.moved_outputs else ""
    yield _card(
        "Exactness",
        "exact" if not inexact else f"{inexact} of {len(report.layers)} layers",
        "every layer computes the reference's numbers" if not inexact else f"may differ from the reference{moved}",
    )
    for one in report.validated:
        yield _card(f"Beside {one.reference}", one.verdict, f"{one.samples} samples of the C on {one.platform}")
        if one.accuracy is not None:
            yield _accuracy(one.accuracy, one.reference)
    for measurement in report.measured:
        yield _card(f"On {measurement.platform}", number(measurement.total), f"{measurement.unit} counted")


def _accuracy(seen: AccuracySummary, reference: str) -> Markup:
    low, high = seen.interval
    others = [(reference, seen.reference_right), ("exact numerics", seen.exact_right)]
    told = ", ".join(f"{name} {right / seen.samples:.2%}" for name, right in others if right is not None)
    return _card(
        "Accuracy",
        f"{seen.right / seen.samples:.2%}",
        f"of the C on {seen.samples} labelled samples, 95 % confidence {low:.1%} to {high:.1%}; {told}",
    )


def _validated(report: Report) -> Markup:
    """What was compared, and what came of it."""
    parts = joined(
        Markup("<h3>{}</h3>{}").format(one.compared, joined(Markup("<p>{}</p>").format(line) for line in one.found))
        for one in report.validated
    )
    return Markup('<section class="card"><h2>Validated</h2>{}</section>').format(parts) if parts else Markup()


def _card(label: str, value: str, note: str) -> Markup:
    return Markup('<div class="card stat"><h2>{}</h2><b>{}</b><p>{}</p></div>').format(label, value, note)


def by_unit(report: Report) -> Iterator[tuple[str, float, str]]:
    """Cycles of each unit, with its colour."""
    colours = unit_colours(report.target)
    for module in report.target.modules:
        yield module.name, module.cycles, colours[module.name]


def by_cause(report: Report) -> Iterator[tuple[str, float, str]]:
    """Cycles by what they go into, with its colour."""
    found = [causes(layer) for layer in report.layers]
    for cause, label in CAUSE_NAMES.items():
        yield label, sum(one.get(cause, 0) for one in found), CAUSES[cause]


def _energy(report: Report) -> Iterator[tuple[str, float, str]]:
    """Each unit, or units together, with the nJ of their layers and the colour of what these are offloaded to."""
    colours = unit_colours(report.target)
    found = {module.name: (0.0, colours[module.name]) for module in report.target.modules}
    for layer in report.layers:
        energy, colour = found.get(units(layer), (0.0, colours[layer.module]))
        found[units(layer)] = energy + (layer.energy_pj or 0.0), colour
    for name, (energy, colour) in found.items():
        yield name, round(energy / _PJ_IN_NJ), colour


def _memories(report: Report) -> Iterator[Markup]:
    totals, target = report.totals, report.target
    main = target.main_memory
    if isinstance(report.memory, MemoryPlanSummary):
        memory = report.memory
        parts = [("network", memory.main_bytes, AREAS["activations"]), (PROGRAM, totals.program_bytes, AREAS[PROGRAM])]
        yield meter(main.name, parts, main.bytes)
        outside = memory.external_memory
        yield meter(
            outside.name,
            [
                ("constants", memory.image_bytes, AREAS["constants that stay"]),
                ("activations", memory.external_bytes - memory.image_bytes, AREAS["activations"]),
            ],
            outside.bytes,
        )
    else:
        kept, used = sum(state.bytes for state in report.model.states), main_memory_use(report)
        constants = ("constants", totals.constant_bytes, AREAS["constants that stay"])
        program = (PROGRAM, totals.program_bytes, AREAS[PROGRAM])
        activations = (f"activations, {CALLERS}", used.activations - kept, AREAS["activations"])
        states = (STATES, kept, AREAS[STATES])
        if (flash := target.flash) is None:
            yield meter(main.name, [constants, activations, states, program], main.bytes)
        else:
            yield meter(main.name, [activations, states], main.bytes)
            yield meter(flash.name, [constants, program], flash.bytes)
    for memory, bytes_, most in _scratchpads(report):
        yield meter(memory, [("fullest layer", most, AREAS["output"])], bytes_)
    for one in report.sizes:
        yield Markup("<p>Built for {}: {} of code, {} of constants, {} of variables.</p>").format(
            one.platform, size(one.text), size(one.rodata), size(one.data + one.bss)
        )


def _scratchpads(report: Report) -> Iterator[tuple[str, int, int]]:
    """The memories of modules by name: their bytes, and the most that a layer takes of them."""
    sizes: dict[str, int] = {}
    for module in report.target.modules:
        for memory in module.memories:
            sizes[memory.name] = max(memory.bytes, sizes.get(memory.name, 0))
    sizes.pop(report.target.main_memory.name, None)
    used = [memory for layer in report.layers if layer.schedule for memory in layer.schedule.memories]
    for name, bytes_ in sizes.items():
        most = max((memory.bytes for memory in used if memory.name == name), default=0)
        if most:
            yield name, bytes_, most


def _advice(report: Report) -> Markup:
    if not report.advice:
        return Markup("<p>No advice: nothing that the compiler knows to improve would save a tenth of the cycles.</p>")
    places = {layer.name: place for place, layer in enumerate(report.layers)}

    def one(sentence: str, layers: tuple[str, ...], warning: bool) -> Markup:
        links = Markup(" ").join(link(places[name], name) for name in layers if name in places)
        badge = Markup('<strong class="warning">Warning</strong> ') if warning else Markup()
        return Markup('<li>{}{}<p class="links">{}</p></li>').format(badge, sentence, links)

    return Markup('<ol class="advice">{}</ol>').format(
        joined(one(advice.sentence, advice.layers, advice.warning) for advice in report.advice)
    )


def _slowest(report: Report) -> Markup:
    colours = unit_colours(report.target)
    slow = sorted(pieces(report), key=lambda piece: -piece.cycles)[:_SLOWEST]
    most = max((piece.cycles for piece in slow), default=0) or 1
    modules = [layer.module for layer in report.layers]
    rows = joined(
        Markup(
            '<tr><th scope="row">{}</th><td class="inline"><i style="width:{:.2f}%;background:{}"></i></td>'
            '<td>{}</td><td class="number">{}</td><td class="number">{}</td></tr>'
        ).format(
            link(piece.place, piece.name),
            100 * piece.cycles / most,
            colours.get(modules[piece.place], "currentColor"),
            modules[piece.place],
            number(piece.cycles),
            share(piece.cycles, report.totals.cycles),
        )
        for piece in slow
    )
    return Markup('<div class="scroll"><table class="slowest"><tbody>{}</tbody></table></div>').format(rows)


def _sizes(given: int | dict[str, int] | None) -> str:
    """The sizes of L1 that were given: one, or that of each module."""
    if isinstance(given, dict):
        return ", ".join(f"{size(bytes_)} of {name}" for name, bytes_ in given.items())
    return size(given) if given else ""


def _compiled(report: Report) -> Markup:
    options = report.options
    switches = [
        text
        for text, on in (
            ("one operator at a time", not options.fuse),
            ("rescaled", options.rescale),
            ("recurrent layers quantized", options.quantize_recurrent),
        )
        if on
    ]
    tensors = [
        (kind, tensor.name, "x".join(map(str, tensor.shape)) or "scalar", tensor.dtype)
        for kind, own in (
            ("input", report.model.inputs),
            ("output", report.model.outputs),
            ("state", report.model.states),
        )
        for tensor in own
    ]
    return Markup("{}{}").format(
        facts(
            [
                ("Modules", ", ".join(options.modules)),
                ("Engine", options.engine),
                ("Objective", objective_text(options)),
                ("Numerics", options.numerics),
                ("L1", _sizes(options.l1)),
                ("Set", settings_text(options)),
                ("Besides", ", ".join(switches)),
                ("Compiler", report.generator),
                ("SHA-256 of the model", Markup("<code>{}</code>").format(report.model.sha256)),
            ]
        ),
        table(("tensor", "name", "shape", "type"), tensors),
    )
