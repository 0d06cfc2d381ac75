"""Small networks for the mock target: functions with plans, and what TVM compiles between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from match.codegen.capacity import fits, shortage
from match.codegen.control_core import ControlCore
from match.codegen.lower import lower
from match.codegen.network import Network
from match.dispatch.plan import CPU, LayerDecision, LayerPlan
from match.dispatch.plan_codec import PLAN_ATTRIBUTE, decode, encode
from match.errors import CapacityError
from match.frontend.model import Model, ModelTensor, Rounding
from match.graph.opaque import Opaque
from match.graph.work import Loop
from match.partitioning.pattern import Core
from match.partitioning.pattern.rows import is_computed, work_of
from match.partitioning.steps import Planned, Steps, network_steps, with_names
from match.relay import relay, tvm
from match.relay.graph_reader import read_graph
from match.relay.objects import main_function, operands
from match.target.hardware import MatchTarget


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


@dataclass(frozen=True, eq=False)
class _Cut:
    """A network whose operators on the control core are rows of their own."""

    steps: Steps
    decisions: Sequence[LayerDecision]
    target: MatchTarget


def build(made: Any, target: MatchTarget, model: Model) -> Network:
    """The network of a module, ready to be written, if main memory holds it."""
    reading = read_graph(main_function(made))
    graph = reading.graph
    planned: list[Planned] = []
    decisions: list[LayerDecision] = []
    rows: list[Core | None] = []
    for number, value in enumerate(value for value in graph.values if is_computed(value)):
        work = work_of(value)
        call = value.operator.function.expr if isinstance(value.operator, Opaque) else None  # pyright: ignore
        if isinstance(call, relay.Call) and isinstance(call.op, relay.GlobalVar):
            plan = decode(str(made[call.op].attrs[PLAN_ATTRIBUTE]))
            planned.append(Planned(value, tuple(reading.values[x] for x in operands(call)), plan))
            decisions.append(LayerDecision(plan.layer.name, plan.layer.op, plan.module, 0, 0, 0.0, plan=plan))
            rows.append(None)
        elif work.loop is Loop.END:
            before = next(row for row in rows if row and row.root in value.inputs)
            rows[rows.index(before)] = Core((*before.covered, value), value)
        else:
            decisions.append(LayerDecision(f"{work.name.rpartition('.')[2]}_{number}", work.name, CPU, 0, 0, 0.0))
            rows.append(Core((value,), value))
    steps = with_names(network_steps(graph, planned, rows), decisions)
    network = lower(_Cut(steps, decisions, target), model, ControlCore(target.name))
    if not fits(network, target):
        raise CapacityError(shortage(network, target))
    return network


def _tensor(name: str, kind: Any) -> ModelTensor:
    return ModelTensor(str(name), tuple(int(extent) for extent in kind.shape), str(kind.dtype))
