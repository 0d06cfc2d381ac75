"""A network that was cut, as TVM builds it: a Relay module.

Each layer that a module takes becomes a global function with ``Compiler="match"``, which holds the layer in integer
Relay and, as the attribute `PLAN_ATTRIBUTE`, everything that code generation needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from match.dispatch.plan import InPlace, LayerPlan
from match.dispatch.plan_codec import IN_PLACE_ATTRIBUTE, PLAN_ATTRIBUTE, encode
from match.graph.layouts import FromLayout, ToLayout
from match.graph.opaque import Constant
from match.graph.value import Graph, Value, computed
from match.mapping.storage import Storage
from match.partitioning.pattern import Match
from match.partitioning.steps import Step, Steps
from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.graph_writer import core_function
from match.relay.rewrite import operator_name


def relay_module(steps: Steps, layers: Iterable[tuple[Match, LayerPlan | InPlace]]) -> tvm.IRModule:
    """The module of a network's steps; `layers` are those that have plans."""
    by_symbol = {plan.symbol: (match, plan) for match, plan in layers}
    functions: dict[relay.GlobalVar, relay.Function] = {}
    parameters = [relay.var(x.source, shape=x.shape, dtype=x.dtype) for x in steps.inputs]
    known: dict[Value, relay.Expr] = dict(zip(steps.inputs, parameters, strict=True))

    def read(value: Value) -> relay.Expr:
        if value not in known and isinstance(value.operator, Constant):
            known[value] = relay.const(value.operator.array, value.operator.array.dtype.name)
        return known[value]

    for step in steps.steps:
        arguments = list(map(read, step.reads))
        if step.plan is not None:
            variable = relay.GlobalVar(step.plan.symbol)
            functions[variable] = _layer(*by_symbol[step.plan.symbol], step.layouts)
            known[step.writes[0]] = relay.Call(variable, arguments)
        else:
            known |= zip(step.writes, _results(step, arguments), strict=True)
    outputs = list(map(read, steps.outputs))
    body = relay.Tuple(outputs) if len(outputs) > 1 else outputs[0]
    functions[relay.GlobalVar("main")] = relay.Function(parameters, body)
    module = relay.transform.InferType()(tvm.IRModule(functions))
    if any(operator_name(expr).startswith("qnn.") for expr in post_order(module["main"])):
        module = relay.qnn.transform.CanonicalizeOps()(module)
    return module


def _results(step: Step, arguments: list[relay.Expr]) -> list[relay.Expr]:
    """What the control core computes in a step."""
    assert step.body is not None, "what has no plan has a body"
    function = core_function(step.body)
    body = relay.bind(function.body, dict(zip(function.params, arguments, strict=True)))
    return [body] if len(step.writes) == 1 else list(body.fields)


def _layer(match: Match, plan: LayerPlan | InPlace, layouts: tuple[Storage, ...]) -> relay.Function:
    """The layer as a function of its inputs, with all tensors in their layouts in main memory."""
    *read, written = layouts
    inputs: list[Value] = []
    known: dict[Value, Value] = {}
    for number, (x, layout) in enumerate(zip(match.inputs, read, strict=True)):
        tensor = x.tensor if layout.in_order else replace(x.tensor, shape=layout.room)
        inputs.append(Value(tensor, source=f"input_{number}"))
        dense = FromLayout(layout=layout, shape=x.shape)
        known[x] = inputs[-1] if layout.in_order else computed(dense, inputs[-1])
    for value in match.covered:
        known[value] = replace(value, inputs=tuple(known.get(x, x) for x in value.inputs))
    result = known[match.root]
    if not written.in_order:
        result = computed(ToLayout(layout=written), result)
    function = core_function(Graph(tuple(inputs), (result,)))
    kind = relay.TensorType(result.shape, result.dtype)
    function = relay.Function(function.params, function.body, kind)  # typed, so that calls of it have types at once
    attributes: dict[str, Any] = {
        "Compiler": "match",
        "global_symbol": plan.symbol,
        "Primitive": tvm.tir.IntImm("int32", 1),
        "Inline": tvm.tir.IntImm("int32", 1),
        PLAN_ATTRIBUTE if isinstance(plan, LayerPlan) else IN_PLACE_ATTRIBUTE: encode(plan),
    }
    for key, value in attributes.items():
        function = function.with_attr(key, value)
    return function
