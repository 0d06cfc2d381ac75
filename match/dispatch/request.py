"""What modules are asked: whether they accept a layer, in which arithmetic, and what to search for then."""

from __future__ import annotations

from dataclasses import dataclass, replace

from match.compilation.options import Options
from match.errors import CostModelError, TargetError
from match.ir.constants import LayerConstants
from match.ir.layer import Layer
from match.ir.requantization import Int64Array, Requantizer
from match.mapping.schedule import Memory
from match.requantize.form import Form, choose_form
from match.search.problem import SearchProblem
from match.target.cost import CostModel
from match.target.hardware import HwModule, Verdict

Key = tuple[str, Requantizer | None, Layer]


@dataclass(frozen=True, eq=False)
class Workload:
    """A layer with its constants and, per channel, the smallest and largest accumulator it can reach.

    `symbol` is the name of its C function, `source` what the model calls it, empty if that is not known,
    `reference` whether it is what the reference computes.
    """

    layer: Layer
    constants: LayerConstants
    accumulator: tuple[Int64Array, Int64Array] | None
    symbol: str
    source: str = ""
    reference: bool = True


@dataclass(frozen=True, eq=False)
class Request:
    """What a module that accepts a layer would compute it with; `key` is the same for layers that cost the same."""

    module: HwModule
    form: Form
    key: Key


def request(module: HwModule, workload: Workload, options: Options) -> Request | str:
    """How the module would compute a layer, or why it does not.

    Raises:
        TargetError: if the module's patterns cannot be asked.
    """
    try:
        verdict = _accepts(module, workload.layer)
    except Exception as error:
        raise _fault(module, workload.layer, "patterns", error) from error
    if not verdict.ok:
        return verdict.reason
    form = choose_form(module, workload.layer, workload.constants, workload.accumulator, options.numerics)
    if isinstance(form, str):
        return form
    return Request(module, form, (module.name, form.requantizer, workload.layer.geometry))


def aligned_memories(module: HwModule, requantizer: Requantizer | None) -> tuple[Memory, ...]:
    """The module's memories, the innermost with blocks aligned to what the requantizer's parameters need."""
    *outer, inner = module.memories
    needed = 1 if requantizer is None else requantizer.parameter_alignment
    return (*outer, replace(inner, alignment=max(inner.alignment, needed)))


def problem(request: Request, layer: Layer, options: Options) -> SearchProblem:
    """The search that a request takes.

    Raises:
        CostModelError: if the module has no cost model for it.
        TargetError: if it cannot say what its operands and tiles are.
    """
    module, requantizer = request.module, request.form.requantizer
    try:
        operands, multiples = module.operands(layer, requantizer), tuple(module.tile_multiples(layer).items())
    except Exception as error:
        raise _fault(module, layer, "operands and tiles", error) from error
    return SearchProblem(
        module=module.name,
        engine=options.engine,
        objective=options.objective,
        layer=layer,
        operands=operands,
        memories=aligned_memories(module, requantizer),
        multiples=multiples,
        cost_model=_cost_model(module, layer, requantizer),
    )


def _fault(module: HwModule, layer: Layer, what: str, error: Exception) -> TargetError:
    reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
    return TargetError(
        f"module {module.name}, layer {layer.name}: its {what}: {reason}; `match check-target` tells more."
    )


def _cost_model(module: HwModule, layer: Layer, requantizer: Requantizer | None) -> CostModel:
    try:
        return module.cost(layer, requantizer)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
        raise CostModelError(f"module {module.name}, layer {layer.name}: its cost model: {reason}.") from error


def _accepts(module: HwModule, layer: Layer) -> Verdict:
    """Whether one of the module's patterns takes the layer; if not, the reason of the first for its operator."""
    if layer.output_dtype == "int32" and layer.op not in module.sums:
        return Verdict(False, f"its outputs are sums of 32 bits and {module.name} hands out 8 bits")
    verdicts = [pattern.check(layer) for pattern in module.patterns() if pattern.op is layer.op]
    if not verdicts:
        return Verdict(False, f"{module.name} has no {layer.op}")
    return next((verdict for verdict in verdicts if verdict.ok), verdicts[0])
