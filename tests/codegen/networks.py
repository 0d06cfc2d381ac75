"""Small networks for the mock target: functions with plans, and what TVM compiles between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from match.codegen.backend import PLAN_ATTRIBUTE
from match.dispatch.plan import LayerPlan
from match.dispatch.plan_codec import encode
from match.frontend.model import Model, ModelTensor, Rounding
from match.relay import relay, tvm


def function(plan: LayerPlan) -> Any:
    """A function that carries a plan; what it computes is for the types only."""
    layer = plan.layer
    channels = layer.input_channels
    shape = (1, layer.iy, layer.ix, channels)
    names = ("input", "addend") if any(o.name == "addend" for o in plan.schedule.operands) else ("input",)
    variables = [relay.var(name, shape=shape, dtype="uint8") for name in names]
    body = relay.zeros((1, layer.oy, layer.ox, layer.k), "uint8")
    attributes: dict[str, Any] = {
        "Compiler": "match",
        "global_symbol": plan.symbol,
        "Primitive": tvm.tir.IntImm("int32", 1),
        "Inline": tvm.tir.IntImm("int32", 1),
        PLAN_ATTRIBUTE: encode(plan),
    }
    made = relay.Function(variables, body)
    for key, value in attributes.items():
        made = made.with_attr(key, value)
    return made


def module(plans: Sequence[LayerPlan], inputs: Sequence[Any], body: Any) -> Any:
    """A module whose main computes `body(calls)`, where `calls` has a function for each plan."""
    made = tvm.IRModule()
    variables = [relay.GlobalVar(plan.symbol) for plan in plans]
    for variable, plan in zip(variables, plans, strict=True):
        made[variable] = function(plan)
    made = relay.transform.InferType()(made)
    made["main"] = relay.Function(list(inputs), body(*variables))
    return relay.transform.InferType()(made)


def model(made: Any, outputs: Sequence[str], name: str = "net") -> Model:
    """The model of a module, its outputs named."""
    main = made["main"]
    result = main.ret_type
    types = list(result.fields) if isinstance(result, tvm.ir.TupleType) else [result]
    return Model(
        name,
        "0" * 64,
        made,
        tuple(_tensor(variable.name_hint, variable.checked_type) for variable in main.params),
        tuple(_tensor(name, kind) for name, kind in zip(outputs, types, strict=True)),
        Rounding.TFLITE,
    )


def _tensor(name: str, kind: Any) -> ModelTensor:
    return ModelTensor(str(name), tuple(int(extent) for extent in kind.shape), str(kind.dtype))
