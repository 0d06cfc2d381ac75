"""Makes the plan of a layer from a module's request and the schedule that was found."""

from __future__ import annotations

from match.dispatch.packed_constants import pack_constants
from match.dispatch.plan import LayerPlan, OperatorPlan, ScratchPlan, Unit
from match.dispatch.request import Request, Workload
from match.ir.layer import Chain, Group, Layer
from match.ir.requantization import Requantization
from match.mapping.schedule import Schedule
from match.prediction.blocks import largest_tile
from match.requantize.form import Form
from match.requantize.registers import common_step
from match.target import methods
from match.target.chain import ChainCost
from match.target.hardware import DirectApi, HwModule, MatchTarget
from match.target.layers import cost_model_of


def plan_layer(request: Request, schedule: Schedule, workload: Workload, target: MatchTarget) -> LayerPlan:
    """The plan of a layer, a chain or a group on the module of a request. The plan computes the schedule's layer.

    Raises:
        TargetError: if a method of the module fails, or packs other bytes than its operands have.
    """
    layer, module, forms = schedule.layer, request.module, request.forms
    in_group = isinstance(layer.attributes, Group)
    nested = len(schedule.memories) > len(module.memories)
    return LayerPlan(
        symbol=workload.symbol,
        source=workload.source,
        target=target.name,
        module=module.name,
        layer=layer,
        schedule=schedule,
        operators=tuple(
            _operator(unit, own, form, work.source if layer.fused else "", in_group=in_group)
            for unit, own, form, work in zip(request.modules, layer.operators, forms, workload.operators, strict=True)
        ),
        constants=pack_constants(
            request.modules, layer, request.requantizers, [form.constants for form in forms], schedule
        ),
        api=module.scratchpad_api,
        direct=module.api if isinstance(module.api, DirectApi) else None,
        external=target.external.api if nested and target.external else None,
        scratch=_scratch(request, schedule) if isinstance(layer.attributes, Chain) else ScratchPlan(),
        overwritable=_overwritable(request, layer) if module.direct and target.external is None else {},
    )


def _overwritable(request: Request, layer: Layer) -> dict[str, int]:
    """What a module without a scratchpad answers, whose layers are single operators."""
    (requantizer,) = request.requantizers
    return methods.overwritable(request.module, layer, requantizer)


def _operator(module: HwModule, layer: Layer, form: Form, source: str, *, in_group: bool) -> OperatorPlan:
    requantization, requantizer = form.constants.requantization, form.requantizer
    one_shift = requantization is not None and requantizer is not None and not requantizer.per_channel_shift
    return OperatorPlan(
        methods.kernel(module, layer, requantizer),
        requantizer,
        _negative_step(requantization),
        int(requantization.shift[0]) if requantization and one_shift else 0,
        methods.operands(module, layer, requantizer) if in_group else (),
        source,
        Unit(module.name, module.scratchpad_api) if in_group else None,
    )


def _negative_step(requantization: Requantization | None) -> int:
    """What the tile says of corrections: 0 if there are none, 1 if channels differ or no accumulator reaches any."""
    if requantization is None or requantization.negative_below is None:
        return 0
    return common_step(requantization) or 1


def _scratch(request: Request, schedule: Schedule) -> ScratchPlan:
    """Offsets of the tensors between operators."""
    layer = schedule.layer
    model = cost_model_of(request.modules, layer, request.requantizers)
    assert isinstance(model, ChainCost)
    layout = model.layout(layer, largest_tile(layer, schedule.extents(len(schedule.loops))))
    return ScratchPlan(tuple(int(offset) for offset in layout.tensors), int(layout.kernels))
