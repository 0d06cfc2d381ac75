"""Decides which module executes a layer: asks each for a schedule and its cost, and takes the cheapest.

A module is asked in four steps, and the first that fails is the reason in its refusal: an operator pattern whose
constraints hold, a form of requantization, a schedule that fits its memories, the least predicted cycles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from match.codegen.constants import pack_constants
from match.cost import Cost
from match.errors import ScheduleError
from match.form import Form, choose_form
from match.hardware import HwModule, LayerConstants, MatchTarget, Verdict
from match.layer import Layer
from match.options import Options
from match.plan import CPU, Candidate, LayerDecision, LayerPlan
from match.requantize import Int64Array, Requantizer
from match.schedule.engine import engine
from match.schedule.mapping import Schedule
from match.schedule.predict import predict
from match.stopwatch import Stopwatch


@dataclass(frozen=True, eq=False)
class Workload:
    """A layer with its constants and, per channel, the smallest and largest accumulator it can reach."""

    layer: Layer
    constants: LayerConstants
    accumulator: tuple[Int64Array, Int64Array] | None


@dataclass(frozen=True, eq=False)
class _Offer:
    """What a module would do for a layer."""

    module: HwModule
    form: Form
    schedule: Schedule
    cost: Cost

    @property
    def candidate(self) -> Candidate:
        return Candidate(self.module.name, self.form.requantizer, self.form.fit, self.schedule, self.cost)


class Dispatcher:
    """Decides for the layers of one network; layers of equal geometry are searched once."""

    def __init__(self, target: MatchTarget, options: Options, stopwatch: Stopwatch) -> None:
        """Compares on the modules of `target`; the time for schedules is the phase "search" of `stopwatch`."""
        self._target = target
        self._options = options
        self._stopwatch = stopwatch
        self._engine = engine(options.engine)
        self._searched: dict[tuple[str, Requantizer | None, Layer], tuple[Schedule, Cost] | str] = {}

    def __call__(self, workload: Workload, symbol: str) -> LayerDecision:
        """The decision for a layer; `symbol` is the name of its C function.

        Raises:
            CostModelError: if a module's cost model fails.
        """
        layer = workload.layer
        offers: list[_Offer] = []
        candidates: list[Candidate] = []
        for module in self._target.modules:
            offer = self._ask(module, workload)
            if isinstance(offer, _Offer):
                offers.append(offer)
                candidates.append(offer.candidate)
            else:
                candidates.append(Candidate(module.name, refusal=offer))
        best = min(offers, key=lambda offer: offer.cost.cycles, default=None)
        outputs = layer.k * layer.oy * layer.ox
        operations = outputs * layer.c * layer.fy * layer.fx
        cpu_cycles = self._target.cpu_cost_model.cycles(layer.op.value, operations, outputs)
        if best is None or cpu_cycles < best.cost.cycles:
            return LayerDecision(layer.name, layer.op, CPU, layer.macs, outputs, cpu_cycles, tuple(candidates))
        plan = self._plan(best, symbol)
        return LayerDecision(
            layer.name,
            layer.op,
            best.module.name,
            layer.macs,
            outputs,
            best.cost.cycles,
            tuple(candidates),
            plan,
        )

    def _ask(self, module: HwModule, workload: Workload) -> _Offer | str:
        """The module's offer, or why it makes none."""
        verdict = _accepts(module, workload.layer)
        if not verdict.ok:
            return verdict.reason
        form = choose_form(module, workload.layer, workload.constants, workload.accumulator, self._options.numerics)
        if isinstance(form, str):
            return form
        found = self._search(module, form.requantizer, workload.layer)
        if isinstance(found, str):
            return found
        layer = workload.layer
        if form.constants.requantization is not None:
            layer = replace(layer, clip=form.constants.requantization.clip)
        return _Offer(module, form, replace(found[0], layer=layer), found[1])

    def _search(self, module: HwModule, requantizer: Requantizer | None, layer: Layer) -> tuple[Schedule, Cost] | str:
        """The best schedule, or why there is none. Name and values of a layer do not matter to it."""
        geometry = replace(layer, name="", pad_value=0, clip=(0, 0), input_range=None)
        key = (module.name, requantizer, geometry)
        if key not in self._searched:
            with self._stopwatch.phase("search"):
                self._searched[key] = self._searched_anew(module, requantizer, layer)
        return self._searched[key]

    def _searched_anew(
        self, module: HwModule, requantizer: Requantizer | None, layer: Layer
    ) -> tuple[Schedule, Cost] | str:
        cost_model = module.cost(layer, requantizer)
        try:
            schedule = self._engine.search(
                layer,
                module.operands(layer, requantizer),
                module.memories,
                cost_model,
                self._options.objective,
                module.tile_multiples(layer),
            )
        except ScheduleError as error:
            return f"it {str(error).removeprefix(f'layer {layer.name}').strip(' :.')}"
        return schedule, predict(schedule, cost_model)

    def _plan(self, offer: _Offer, symbol: str) -> LayerPlan:
        layer, requantizer = offer.schedule.layer, offer.form.requantizer
        requantization = offer.form.constants.requantization
        return LayerPlan(
            symbol=symbol,
            target=self._target.name,
            module=offer.module.name,
            layer=layer,
            requantizer=requantizer,
            schedule=offer.schedule,
            kernel=offer.module.kernel(layer, requantizer),
            negative_step=requantization.negative_step if requantization else 0,
            shift=int(requantization.shift[0]) if requantization and _one_shift(requantizer) else 0,
            constants=pack_constants(offer.module, layer, requantizer, offer.form.constants, offer.schedule),
            api=offer.module.api,
        )


def _one_shift(requantizer: Requantizer | None) -> bool:
    return requantizer is not None and not requantizer.per_channel_shift


def _accepts(module: HwModule, layer: Layer) -> Verdict:
    """Whether one of the module's patterns takes the layer; if not, the reason of the first for its operator."""
    verdicts = [pattern.check(layer) for pattern in module.patterns() if pattern.op is layer.op]
    if not verdicts:
        return Verdict(False, f"{module.name} has no {layer.op}")
    return next((verdict for verdict in verdicts if verdict.ok), verdicts[0])
