"""What is left of QNN: operators that become what TVM makes of them."""

from __future__ import annotations

from dataclasses import replace

from match.errors import ModelError
from match.graph.value import Value, ordered
from match.relay import relay, tvm
from match.relay.graph_reader import Fragment, fields, read_graph
from match.relay.integer_form import is_real_sums
from match.relay.objects import main_function, operands
from match.relay.rewrite import dtype, operator_name, rebuild, shape


def rest_of(call: relay.Call) -> Fragment:
    """A QNN operator, or one that is marked as real, in plain operators.

    Raises:
        ModelError: TVM cannot express it with its parameters.
    """
    inner = call.args[0] if is_real_sums(call) else call
    sources = dict.fromkeys(source for operand in operands(inner) for source in fields(operand))
    inputs = tuple(source for source in sources if not isinstance(source, relay.Constant))
    variables = {x: relay.var(f"x{number}", shape=shape(x), dtype=dtype(x)) for number, x in enumerate(inputs)}
    replaced: dict[relay.Expr, relay.Expr] = dict(variables)

    def new(expr: relay.Expr) -> relay.Expr:
        if expr not in replaced:
            replaced[expr] = rebuild(expr, new) if isinstance(expr, relay.Call | relay.Tuple) else expr
        return replaced[expr]

    function = relay.Function(list(variables.values()), new(call))
    names = [operator_name(one) for one in (call, *call.args) if operator_name(one).startswith("qnn.")]
    graph = read_graph(main_function(plain(tvm.IRModule.from_expr(function), names))).graph

    def build(*values: Value) -> Value:
        known = dict(zip(graph.inputs, values, strict=True))
        for value in ordered(graph.outputs):
            known.setdefault(value, replace(value, inputs=tuple(known[x] for x in value.inputs)))
        return known[graph.outputs[0]]

    return Fragment(inputs, build)


def plain(module: tvm.IRModule, names: list[str]) -> tvm.IRModule:
    """A module without QNN operators, types inferred; `names` are those that it has.

    Raises:
        ModelError: TVM cannot express them with their parameters.
    """
    try:
        with tvm.target.Target("c"):  # a requantization in floating point asks what the processor can do
            return relay.qnn.transform.CanonicalizeOps()(relay.transform.InferType()(module))
    except tvm.TVMError as error:
        what = f"the model's {', '.join(names)} cannot be compiled with these parameters; change them"
        raise ModelError(what) from error
