"""What a reader of a report can do to make the network faster or exact, ranked by predicted cycles.

A sentence stands for at least `LEAST_SHARE` of the network's cycles. Where other arguments of the compiler do it, the
network was predicted with them, and says what that gains (`predicted_advice`). Else everything follows from the report:
what was decided, what it costs, and why modules refused. What can be gained is the most that can, then: the predicted
cycles of what would no longer be computed, or that are spent above the rate of the same operator elsewhere in the
network.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence

from match.ir.layer import GROUP
from match.report.changes import Otherwise
from match.report.layer_facts import cycles_of, is_floating, listed, names_of, of_control_core, unmapped
from match.report.predicted_advice import predicted_advice
from match.report.schema import Advice, AdviceKind, LayerSummary, MemoryPlanSummary, Report

MOST = 5
"""Sentences."""

LEAST_SHARE = 0.1
"""Share of the network's predicted cycles; less is not worth a change."""

SLOWNESS = 4
"""How many times fewer MACs a cycle than the best layer of the same operator and module are far below."""

NOTICEABLE = 0.1
"""The noise of an output, as a share of its own power, from which what exact numerics cost is found out and told."""

_IN_QDQ = "; of an ONNX file in QOperator form, in QDQ form, which has all layers (such as transposed convolutions)"
"""How layers are quantized that onnxruntime's quantizer leaves in floating point."""

OFFLOAD_SHARE = 0.5
"""Share of the network's cycles from which its layers are too small for their offload."""

_NO_LAYER = "it is no layer that modules have, or has shapes that none of them describes"
"""Why no module was asked."""

_OF_BORDERS = "float border", "channels first", "states"
"""Kinds of changes that take away what stands at the network's border."""

_CPU = "cpu"
_LAYOUT = "layout"
_REQUANTIZE = "requantize"
_TRANSPOSING = frozenset({"transpose", "layout_transform"})


def advise(report: Report, otherwise: Otherwise) -> tuple[Advice, ...]:
    """At most `MOST` sentences, the one with the most cycles first; none where nothing is found.

    What `otherwise` predicts is asked only where enough cycles may be gained.
    """
    predicted = [*predicted_advice(report, otherwise, LEAST_SHARE * report.totals.cycles)]
    told = frozenset(name for one in predicted if one.kind in _OF_BORDERS for name in one.layers)
    recurrent = otherwise.unquantized.union(one.source for one in otherwise.quantizable)
    found: list[Advice] = [
        *_idle(report),
        *predicted,
        *_border(report, told),
        *_unquantized(report, otherwise),
        *_floating(report, recurrent, otherwise),
        *_layouts(report, told),
        *_control_core(report, told),
        *(() if any(one.kind == "memory" for one in predicted) else _memory(report)),
        *_slow(report),
        *_offload(report),
    ]
    least = LEAST_SHARE * report.totals.cycles
    worth = sorted((one for one in found if one.cycles >= least), key=lambda one: -one.cycles)
    return (*worth, *_inexact(report, otherwise))[:MOST]


def _idle(report: Report) -> Iterator[Advice]:
    """Modules that take nothing, since they refuse."""
    core = of_control_core(report)
    for module in report.target.modules:
        if module.layers or module.name in core:
            continue
        asked = [layer for layer in report.layers if layer.macs and layer.op != GROUP]
        refused = [layer for layer in asked if _refusal(layer, module.name)]
        offered = any(
            offer.cycles is not None for row in report.layers for offer in row.candidates if offer.module == module.name
        )
        if refused and not offered:
            reason, macs = _most_frequent(refused, module.name)
            yield _advice(
                "idle module",
                refused,
                f"{module.name} takes no layer; mostly ({_percent(macs, report.model.macs)} of the MACs) it "
                f"refused because {reason}. The layers that it refused take {cycles_of(refused):,} cycles.",
                warning=True,
            )


def _border(report: Report, told: Container[str]) -> Iterator[Advice]:
    """Float inputs and outputs, which the control core turns into integers and back; options do not help."""
    layers = report.layers
    first, last = _inside(layers)
    sides = (
        ("input", report.model.inputs, layers[:first], "quantize it where it is recorded"),
        ("output", report.model.outputs, layers[last + 1 :], "let its reader take integers"),
    )
    for side, tensors, rows, advice in sides:
        floating = [layer for layer in rows if is_floating(layer) and layer.name not in told]
        if floating and any(tensor.dtype.startswith("float") for tensor in tensors):
            yield _advice(
                "float border",
                floating,
                f"The network's {side} is in floating point, and {listed(floating)} on the control core "
                f"takes {cycles_of(floating):,} cycles: {advice}.",
            )


def _inside(layers: Sequence[LayerSummary]) -> tuple[int, int]:
    """Places of the first and of the last layer that are not beside the network's border."""
    integers = [place for place, layer in enumerate(layers) if not _beside(layer)]
    return (integers[0], integers[-1]) if integers else (len(layers), len(layers))


def _floating(report: Report, recurrent: Container[str], otherwise: Otherwise) -> Iterator[Advice]:
    """Floating point inside the network: of operators that the model leaves in it, and of those that it quantizes."""
    first, last = _inside(report.layers)
    rows = report.layers[first : last + 1]
    inside = [layer for layer in rows if is_floating(layer) and layer.source not in recurrent]
    if cycles_of(inside) < LEAST_SHARE * report.totals.cycles:
        return
    known, names = otherwise.quantized(), _operators(report)
    quantized = [layer for layer in inside if names[layer.name] in known]
    left = [layer for layer in inside if names[layer.name] not in known]
    if left:
        if otherwise.wide_activations:
            how = "the model quantizes activations to 16 bits, and modules compute with 8: quantize them to 8 bits"
        else:
            how = f"quantize these operators, too{_IN_QDQ if any(layer.macs for layer in left) else ''}"
        yield _advice(
            "float operators",
            left,
            f"{listed(left)} inside the network: floating point on the control core takes {cycles_of(left):,} cycles; "
            f"{how}.",
        )
    if quantized:
        yield _advice(
            "float operators",
            quantized,
            f"{listed(quantized)} inside the network: floating point on the control core takes "
            f"{cycles_of(quantized):,} cycles, though the model quantizes what is read and written there: no integers "
            "are known that give the reference's; replace these operators by others.",
        )


def _operators(report: Report) -> dict[str, str]:
    """The model's operator of each layer: of one without a name that of its readers, if they are of one."""
    found = [layer.source for layer in report.layers]
    reading: dict[int, set[str]] = {}
    for place, layer in reversed(list(enumerate(report.layers))):
        names = reading.get(place, set())
        found[place] = layer.source or (next(iter(names)) if len(names) == 1 else "")
        for source in layer.reads:
            reading.setdefault(source, set()).add(found[place])
    return {layer.name: name for layer, name in zip(report.layers, found, strict=True)}


def _unquantized(report: Report, otherwise: Otherwise) -> Iterator[Advice]:
    """LSTM and GRU that could be integers if the model quantized their inputs."""
    layers = [layer for layer in report.layers if is_floating(layer) and layer.source in otherwise.unquantized]
    if cycles_of(layers) >= max(1, LEAST_SHARE * report.totals.cycles):
        names, total = ", ".join(sorted(otherwise.unquantized)), report.totals.cycles
        sentence = (
            f"{names} takes {cycles_of(layers):,} cycles in floating point, as the model does not quantize its input"
        )
        cycles = otherwise.quantized_inputs()
        if cycles is not None:
            gain = f"{cycles:,} cycles instead of {total:,} ({(cycles - total) / total:+.0%})"
            asked = "--quantize-recurrent --calibrate X.npz, samples of the inputs"
            sentence += f": with {asked}, it gets 8 bits, and the network is predicted to take {gain}"
        yield Advice(
            kind="recurrent",
            sentence=f"{sentence}.",
            cycles=cycles_of(layers) if cycles is None else total - cycles,
            layers=names_of(layers),
        )


def _layouts(report: Report, told: Container[str]) -> Iterator[Advice]:
    """Tensors that are laid out anew."""
    transposed = [
        layer for layer in report.layers if not is_floating(layer) and _transposes(layer) and layer.name not in told
    ]
    if transposed:
        yield _advice(
            "channels first",
            transposed,
            f"{listed(transposed)} on the control core reorders channels for {cycles_of(transposed):,} cycles: "
            f"export the network with channels last (NHWC), and give it its input so.",
        )
    converted = [layer for layer in report.layers if layer.op == _LAYOUT]
    if converted:
        yield _advice(
            "layouts",
            converted,
            f"Tensors change their layout {_times(len(converted))} between units, which takes "
            f"{cycles_of(converted):,} cycles on the control core: keep neighbouring layers on one module.",
        )


def _control_core(report: Report, told: Container[str]) -> Iterator[Advice]:
    """Operators that no module takes, and requantizations that none executes, each kind together.

    What a module would take, too, is cheaper on the control core.
    """
    known, core = _known(report), of_control_core(report)
    modules = [module.name for module in report.target.modules if module.name != _CPU]
    groups: dict[str, list[LayerSummary]] = defaultdict(list)
    for layer in report.layers:
        other = (
            is_floating(layer)
            or layer.op == _LAYOUT
            or _transposes(layer)
            or any(unmapped(layer, name, core) for name in modules)
            or any(offer.cycles is not None for offer in layer.candidates if offer.module in modules)
            or layer.name in told
        )
        if layer.module == _CPU and layer.name not in known and not other:
            groups[layer.op].append(layer)
    for op, layers in groups.items():
        reasons = {name: _most_frequent(layers, name)[0] for name in modules if any(_refusal(x, name) for x in layers)}
        why = "; ".join(f"{name} refused because {reason}" for name, reason in reasons.items()) or _NO_LAYER
        if op == _REQUANTIZE:
            scales = ", since no module executes their scales" if reasons else ""
            sentence = (
                f"The requantization of {listed(layers)} runs on the control core and takes {cycles_of(layers):,} "
                f"cycles{scales}: {why}."
            )
        else:
            places = "one place" if len(layers) == 1 else f"{len(layers)} places"
            sentence = f"{op} runs on the control core in {places} for {cycles_of(layers):,} cycles: {why}."
        kind = "requantization" if op == _REQUANTIZE else "control core"
        yield _advice(kind, layers, sentence)


def _slow(report: Report) -> Iterator[Advice]:
    """Layers far below what the same unit reaches with the same operator."""
    best: dict[tuple[str, str], LayerSummary] = {}
    working = [layer for layer in report.layers if layer.module != _CPU and layer.macs and layer.bound != "external"]
    working = [layer for layer in working if layer.op != GROUP and layer.cycles > layer.wait_cycles]
    for layer in working:
        key = (layer.module, layer.op)
        if key not in best or _rate(layer) > _rate(best[key]):
            best[key] = layer
    for layer in working:
        peer = best[layer.module, layer.op]
        if SLOWNESS * _rate(layer) < _rate(peer):
            gain = round(layer.cycles - layer.wait_cycles - layer.macs / _rate(peer))
            yield Advice(
                kind="slow layer",
                sentence=f"{layer.name} reaches {_rate(layer):.1f} MAC/cycle on {layer.module}, where {peer.name} "
                f"reaches {_rate(peer):.1f}, which costs {gain:,} cycles; it is bound by {layer.bound}: give it "
                f"channels and sizes like those of {peer.name}.",
                cycles=gain,
                layers=(layer.name,),
            )


def _inexact(report: Report, otherwise: Otherwise) -> Iterator[Advice]:
    """Outputs that move by much as modules requantize otherwise than the network, and the price of exact ones."""
    outputs = report.moved_outputs.outputs if report.moved_outputs else ()
    if any(output.noise > NOTICEABLE for output in outputs):
        price, cycles = "moves none", otherwise.exact_whole()
        if cycles is not None:
            outside = isinstance(report.memory, MemoryPlanSummary)
            now = otherwise.whole if outside and otherwise.whole is not None else report.totals.cycles
            price += f" and takes {cycles:,} predicted cycles instead of {now:,}"
            price += f" ({(cycles - now) / now:+.1%})" if now else ""
            price += ", both with everything in main memory" if outside else ""
        off = [layer for layer in report.layers if layer.requantization and not layer.requantization.exact]
        yield Advice(
            kind="inexact",
            sentence=f"Requantization in the modules' own forms moves outputs by much: {moved_text(report)}; "
            f"--numerics exact {price}.",
            cycles=0,
            layers=names_of(off),
        )


def moved_text(report: Report) -> str:
    """How many outputs move in the samples that were compared, and by how much at most."""
    moved = report.moved_outputs
    assert moved is not None, "outputs were compared"
    differing, elements = (sum(own) for own in zip(*((o.differing, o.elements) for o in moved.outputs), strict=True))
    steps = [output.largest for output in moved.outputs if output.unit == "steps"]
    reals = [output for output in moved.outputs if output.unit == "real"]
    most = max(steps, default=0.0)
    by = [f"up to {most:,.0f} step{'' if most == 1 else 's'}"] if most else []
    by += [f"{one.name} by up to {one.largest:.3g}" for one in reals if one.largest]
    samples = "1 random sample" if moved.samples == 1 else f"{moved.samples} random samples"
    of_elements = f"{differing:,} of {elements:,} in {samples}"
    return f"{of_elements}, {' and '.join(by)}" if by else of_elements


def _memory(report: Report) -> Iterator[Advice]:
    """Layers on the control core that a module would take if they fitted its memories."""
    known, core = _known(report), of_control_core(report)
    for module in (one for one in report.target.modules if one.memories):
        layers = [layer for layer in report.layers if unmapped(layer, module.name, core) and layer.name not in known]
        if layers:
            memory = module.memories[0]
            yield _advice(
                "memory",
                layers,
                f"{listed(layers)} on the control core takes {cycles_of(layers):,} cycles, for on {module.name} "
                f"{_most_frequent(layers, module.name)[0]}: give {memory.name} more than {memory.bytes:,} bytes "
                "(--l1).",
            )


def _offload(report: Report) -> Iterator[Advice]:
    """Handing layers to modules, where that takes more than all else."""
    cycles = report.totals.causes.get("offload", 0)
    if cycles > OFFLOAD_SHARE * report.totals.cycles:
        core = of_control_core(report)
        layers = [layer for layer in report.layers if layer.module not in core]
        one = len(layers) == 1
        what = "a layer to its module" if one else f"{len(layers)} layers to modules"
        yield Advice(
            kind="offload",
            sentence=f"To hand {what}, with the starts of kernels and transfers, takes "
            f"{cycles:,} of {report.totals.cycles:,} cycles: fewer layers with more channels, or several samples at "
            "once, would compute more for that.",
            cycles=cycles,
            layers=names_of(layers),
        )


def _advice(kind: AdviceKind, layers: Sequence[LayerSummary], sentence: str, *, warning: bool = False) -> Advice:
    """A sentence that stands for all cycles of these layers."""
    return Advice(kind=kind, sentence=sentence, cycles=cycles_of(layers), layers=names_of(layers), warning=warning)


def _known(report: Report) -> frozenset[str]:
    """Layers that a sentence about a module that takes nothing is about."""
    return frozenset(name for advice in _idle(report) for name in advice.layers)


def _transposes(layer: LayerSummary) -> bool:
    return layer.module == _CPU and bool(_TRANSPOSING & set(layer.op.split("+")))


def _beside(layer: LayerSummary) -> bool:
    """Whether it may stand between a float border and the network's integers: products in floating point are inside."""
    return (is_floating(layer) and not layer.macs) or not layer.cycles


def _refusal(layer: LayerSummary, module: str) -> str | None:
    return next((offer.refusal for offer in layer.candidates if offer.module == module), None)


def _most_frequent(layers: Sequence[LayerSummary], module: str) -> tuple[str, int]:
    """The reason with which a module refused the most MACs, and these; of layers without any, the most layers."""
    weights: dict[str, tuple[int, int]] = {}
    for layer in layers:
        reason = _refusal(layer, module)
        if reason:
            macs, count = weights.get(reason, (0, 0))
            weights[reason] = (macs + layer.macs, count + 1)
    reason = max(weights, key=lambda text: weights[text])
    return reason, weights[reason][0]


def _rate(layer: LayerSummary) -> float:
    """What a layer reaches while it does not wait for external memory."""
    return layer.macs / (layer.cycles - layer.wait_cycles)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "0%"
