"""Questions to modules: whether a module accepts a layer, in which arithmetic, and with which search problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from match.compilation.options import Options
from match.dispatch.narrow_weights import with_weight_bits
from match.errors import TargetError, in_a_line
from match.ir.constants import LayerConstants
from match.ir.layer import Layer
from match.ir.requantization import Int64Array, Requantizer
from match.mapping.schedule import Memory
from match.processes.workers import Workers
from match.requantize.form import Form
from match.requantize.kept import Forms
from match.search.problem import SearchProblem
from match.target.hardware import HwModule, MatchTarget, Verdict
from match.target.layers import cost_model_of, operands_of, tile_multiples_of
from match.target.operands import OperandError

Key = tuple[str, tuple[Requantizer | None, ...], Layer]


@dataclass(frozen=True, eq=False)
class Workload:
    """A layer with its constants and, per channel, the smallest and largest accumulator it can reach.

    `symbol` is the name of its C function, and `source` its name in the model, empty if that is not known. `reference`
    tells whether it computes the reference's integers. For a chain or a group, `stages` are its operators one by one,
    and constants and accumulators belong to the last operator.
    """

    layer: Layer
    constants: LayerConstants
    accumulator: tuple[Int64Array, Int64Array] | None
    symbol: str
    source: str = ""
    reference: bool = True
    stages: tuple[Workload, ...] = ()

    @property
    def operators(self) -> tuple[Workload, ...]:
        """The operators of a chain or a group in order, or the layer itself."""
        return self.stages or (self,)


@dataclass(frozen=True, eq=False)
class Request:
    """A module's way to compute a layer that it accepts; `key` is the same for layers that cost the same.

    `layer` has the bits in which the module stores its weights. `forms` has one entry for each operator: one, or
    several for a chain or a group.
    """

    module: HwModule
    layer: Layer
    forms: tuple[Form, ...]
    key: Key

    @property
    def requantizers(self) -> tuple[Requantizer | None, ...]:
        """The form of requantization of each of its operators."""
        return tuple(form.requantizer for form in self.forms)

    @property
    def farthest(self) -> Form:
        """The form that is farthest from the network's own arithmetic; of equals the last one."""
        fitted = [form for form in self.forms if form.fit is not None] or list(self.forms)
        return max(reversed(fitted), key=lambda form: (form.fit.max_step, form.fit.share) if form.fit else (0, 0.0))


def requests(
    workloads: Sequence[Workload], target: MatchTarget, options: Options, workers: Workers
) -> list[list[Request | str]]:
    """For each layer how each of the target's modules computes it, or the reason why it does not.

    Raises:
        TargetError: if a module's patterns cannot be asked.
    """
    forms = Forms(options.cache)
    refusals = [[_refusal(module, workload) for module in target.modules] for workload in workloads]
    asked = (
        (module, own.layer, own.constants, own.accumulator)
        for workload, reasons in zip(workloads, refusals, strict=True)
        for module, reason in zip(target.modules, reasons, strict=True)
        if reason is None
        for own in workload.operators
    )
    forms.choose_all(asked, options.numerics, workers)
    forms.keep()
    return [
        [
            _accepted(module, workload, options, forms) if reason is None else reason
            for module, reason in zip(target.modules, reasons, strict=True)
        ]
        for workload, reasons in zip(workloads, refusals, strict=True)
    ]


def _refusal(module: HwModule, workload: Workload) -> str | None:
    """Why none of the module's patterns takes a layer; None if one does."""
    try:
        verdict = accepts(module, workload.layer)
    except Exception as error:
        raise _fault(module, workload.layer, "patterns", error) from error
    return None if verdict.ok else verdict.reason


def _accepted(module: HwModule, workload: Workload, options: Options, known: Forms) -> Request | str:
    """The module's way to compute a layer that its patterns take, or the reason why it has none."""
    forms: list[Form] = []
    for own in workload.operators:
        form = known.choose(module, own.layer, own.constants, own.accumulator, options.numerics)
        if isinstance(form, str):
            return form
        forms.append(form)
    requantizers = tuple(form.requantizer for form in forms)
    layer = _stored(module, workload)
    if any(layer.pitches) or layer.links:
        try:
            operands_of(module, layer, requantizers)
        except OperandError as error:
            return str(error)
    return Request(module, layer, tuple(forms), (module.name, requantizers, layer.geometry))


def _stored(module: HwModule, workload: Workload) -> Layer:
    """The layer with the bits in which the module stores the weights of each operator."""
    try:
        operators = tuple(with_weight_bits(module, own.layer, own.constants) for own in workload.operators)
    except Exception as error:
        raise _fault(module, workload.layer, "bits of weights", error) from error
    return replace(workload.layer, stages=operators) if workload.stages else operators[0]


def aligned_memories(module: HwModule, *requantizers: Requantizer | None) -> tuple[Memory, ...]:
    """The module's memories, the innermost with blocks aligned to what the requantizers' parameters need."""
    *outer, inner = module.memories
    needed = max((form.parameter_alignment for form in requantizers if form is not None), default=1)
    return (*outer, replace(inner, alignment=max(inner.alignment, needed)))


def problem(request: Request, options: Options) -> SearchProblem:
    """The search problem of a request.

    Raises:
        TargetError: if the module cannot say what its operands, tiles and cost model are.
    """
    module, layer, requantizers = request.module, request.layer, request.requantizers
    return SearchProblem(
        module=module.name,
        engine=options.engine,
        objective=options.searched[0],
        layer=layer,
        operands=operands_of(module, layer, requantizers),
        memories=aligned_memories(module, *requantizers),
        multiples=tuple(tile_multiples_of(module, layer).items()),
        cost_model=cost_model_of(module, layer, requantizers),
    )


def _fault(module: HwModule, layer: Layer, what: str, error: Exception) -> TargetError:
    return TargetError(
        f"module {module.name}, layer {layer.name}: its {what}: {in_a_line(error)}; `match check-target` tells more."
    )


def accepts(module: HwModule, layer: Layer) -> Verdict:
    """Whether one of the module's patterns takes the layer; if not, the reason of the first that has its operators."""
    if layer.output_dtype == "int32" and (layer.stages or layer.op not in module.sums):
        return Verdict(False, f"its outputs are sums of 32 bits and {module.name} hands out 8 bits")
    if layer.links:
        return _each(module, layer) if module.groups else Verdict(False, f"{module.name} executes no groups")
    if layer.input_dtype == "int16" and layer.op not in module.int16:
        return Verdict(False, f"its activations have 16 bits and {module.name} reads 8")
    verdicts = [pattern.check(layer) for pattern in module.patterns() if pattern.describes(layer)]
    if not verdicts:
        return Verdict(False, f"{module.name} has no {layer.what}")
    whole = next((verdict for verdict in verdicts if verdict.ok), verdicts[0])
    if not whole.ok or not layer.stages:
        return whole
    return _each(module, layer)


def _each(module: HwModule, layer: Layer) -> Verdict:
    """Whether the module takes each operator of a layer by itself."""
    for stage in layer.stages:
        verdict = accepts(module, stage)
        if not verdict.ok:
            return Verdict(False, f"its {stage.op.value} is refused: {verdict.reason}")
    return Verdict(True)
