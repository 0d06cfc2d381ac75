"""Questions to modules: whether a module accepts a layer, in which arithmetic, and with which search problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from match.compilation.options import Options
from match.dispatch.narrow_weights import with_weight_bits
from match.errors import TargetError, in_a_line
from match.ir.constants import LayerConstants
from match.ir.layer import Group, Layer
from match.ir.requantization import Int64Array, Requantizer
from match.mapping.memory import Memory
from match.processes.workers import Workers
from match.requantize.form import Form
from match.requantize.kept import Forms
from match.search.problem import SearchProblem
from match.target.hardware import HwModule, MatchTarget, Verdict
from match.target.layers import cost_model_of, operands_of, tile_multiples_of
from match.target.operands import OperandError

Key = tuple[tuple[str, ...], tuple[Requantizer | None, ...], Layer]


@dataclass(frozen=True)
class GroupModules:
    """The modules of a group by name: the one that is offloaded to, and those that execute each of its operators."""

    leader: str
    operators: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Workload:
    """A layer with its constants and, per channel, the smallest and largest accumulator it can reach.

    `symbol` is the name of its C function, and `source` its name in the model, empty if that is not known. `reference`
    tells whether it computes the reference's integers. For a chain or a group, `stages` are its operators one by one,
    and constants and accumulators belong to the last operator. `modules` are those of a group.
    """

    layer: Layer
    constants: LayerConstants
    accumulator: tuple[Int64Array, Int64Array] | None
    symbol: str
    source: str = ""
    reference: bool = True
    stages: tuple[Workload, ...] = ()
    modules: GroupModules | None = None

    @property
    def operators(self) -> tuple[Workload, ...]:
        """The operators of a chain or a group in order, or the layer itself."""
        return self.stages or (self,)


@dataclass(frozen=True, eq=False)
class Request:
    """A module's way to compute a layer that it accepts; `key` is the same for layers that cost the same.

    `layer` has the bits in which the module stores its weights. `forms` has one entry for each operator: one, or
    several for a chain or a group. `modules` execute the operators: others than `module` in groups alone.
    """

    module: HwModule
    modules: tuple[HwModule, ...]
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
    known = {module.name: module for module in target.modules}
    each = [[_modules(module, workload, known) for module in target.modules] for workload in workloads]
    refusals = [
        [_refusal(*asked, workload) for asked in zip(target.modules, own, strict=True)]
        for workload, own in zip(workloads, each, strict=True)
    ]
    asked = (
        (module, own.layer, own.constants, own.accumulator)
        for workload, several, reasons in zip(workloads, each, refusals, strict=True)
        for modules, reason in zip(several, reasons, strict=True)
        if reason is None
        for module, own in zip(modules, workload.operators, strict=True)
    )
    forms.choose_all(asked, options.numerics, workers)
    forms.keep()
    return [
        [
            _accepted(module, modules, workload, options, forms) if reason is None else reason
            for module, modules, reason in zip(target.modules, several, reasons, strict=True)
        ]
        for workload, several, reasons in zip(workloads, each, refusals, strict=True)
    ]


def _modules(module: HwModule, workload: Workload, known: Mapping[str, HwModule]) -> tuple[HwModule, ...]:
    """The modules of each operator of a layer that a module is asked about."""
    if workload.modules is not None:
        return tuple(known[name] for name in workload.modules.operators)
    return (module,) * len(workload.operators)


def _refusal(module: HwModule, modules: Sequence[HwModule], workload: Workload) -> str | None:
    """Why none of the module's patterns takes a layer; None if one does."""
    if workload.modules is not None and workload.modules.leader != module.name:
        return f"it is part of a group on {workload.modules.leader}"
    try:
        verdict = accepts(module, workload.layer, modules)
    except Exception as error:
        raise _fault(module, workload.layer, "patterns", error) from error
    return None if verdict.ok else verdict.reason


def _accepted(
    module: HwModule, modules: tuple[HwModule, ...], workload: Workload, options: Options, known: Forms
) -> Request | str:
    """The module's way to compute a layer that its patterns take, or the reason why it has none."""
    forms: list[Form] = []
    for unit, own in zip(modules, workload.operators, strict=True):
        form = known.choose(unit, own.layer, own.constants, own.accumulator, options.numerics)
        if isinstance(form, str):
            return form
        forms.append(form)
    requantizers = tuple(form.requantizer for form in forms)
    layer = _stored(modules, workload)
    if any(layer.pitches) or isinstance(layer.attributes, Group):
        try:
            operands_of(modules, layer, requantizers)
        except OperandError as error:
            return str(error)
    names = tuple(unit.name for unit in modules)
    return Request(module, modules, layer, tuple(forms), (names, requantizers, layer.geometry))


def _stored(modules: Sequence[HwModule], workload: Workload) -> Layer:
    """The layer with the bits in which modules store the weights of each operator."""
    operators: list[Layer] = []
    for module, own in zip(modules, workload.operators, strict=True):
        try:
            operators.append(with_weight_bits(module, own.layer, own.constants))
        except Exception as error:
            raise _fault(module, own.layer, "bits of weights", error) from error
    return workload.layer.with_operators(operators)


def aligned_memories(module: HwModule, *requantizers: Requantizer | None) -> tuple[Memory, ...]:
    """The module's memories, the innermost with blocks aligned to what the requantizers' parameters need."""
    if module.direct:
        return ()
    *outer, inner = module.memories
    needed = max((form.parameter_alignment for form in requantizers if form is not None), default=1)
    return (*outer, replace(inner, alignment=max(inner.alignment, needed)))


def problem(request: Request, options: Options) -> SearchProblem:
    """The search problem of a request.

    Raises:
        TargetError: if the module cannot say what its operands, tiles and cost model are.
    """
    module, layer, requantizers = request.module, request.layer, request.requantizers
    modules = request.modules
    return SearchProblem(
        module=module.name,
        engine=options.engine,
        objective=options.searched[0],
        layer=layer,
        operands=operands_of(modules, layer, requantizers),
        memories=aligned_memories(module, *requantizers),
        multiples=tuple(tile_multiples_of(modules, layer).items()),
        cost_model=cost_model_of(modules, layer, requantizers),
    )


def _fault(module: HwModule, layer: Layer, what: str, error: Exception) -> TargetError:
    return TargetError(
        f"module {module.name}, layer {layer.name}: its {what}: {in_a_line(error)}; `match check-target` tells more."
    )


def accepts(module: HwModule, layer: Layer, modules: Sequence[HwModule] = ()) -> Verdict:
    """Whether one of the module's patterns takes the layer; if not, the reason of the first that has its operators.

    `modules` are those of the operators of a group, or nothing where all are this one.
    """
    if layer.output_dtype == "int32" and (layer.fused or layer.op not in module.sums):
        return Verdict(False, f"its outputs are sums of 32 bits and {module.name} hands out 8 bits")
    if isinstance(layer.attributes, Group):
        return _each(modules or (module,) * len(layer.operators), layer)
    if layer.input_dtype == "int16" and layer.op not in module.int16:
        return Verdict(False, f"its activations have 16 bits and {module.name} reads 8")
    verdicts = [pattern.check(layer) for pattern in module.patterns() if pattern.describes(layer)]
    if not verdicts:
        return Verdict(False, f"{module.name} has no {layer.what}")
    whole = next((verdict for verdict in verdicts if verdict.ok), verdicts[0])
    if not whole.ok or not layer.fused:
        return whole
    return _each((module,) * len(layer.operators), layer)


def _each(modules: Sequence[HwModule], layer: Layer) -> Verdict:
    """Whether modules take each operator of a layer by itself."""
    for module, stage in zip(modules, layer.operators, strict=True):
        if isinstance(layer.attributes, Group) and not module.groups:
            return Verdict(False, f"{module.name} executes no groups")
        verdict = accepts(module, stage)
        if not verdict.ok:
            return Verdict(False, f"its {stage.op.value} is refused: {verdict.reason}")
    return Verdict(True)
