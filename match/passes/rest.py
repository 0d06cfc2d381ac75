"""What is left of QNN: operators that become what TVM makes of them."""

from __future__ import annotations

from match.graph.rewrite import on_inputs
from match.graph.value import Value
from match.relay import relay, tvm
from match.relay.graph_reader import Fragment, fields, read_graph
from match.relay.objects import main_function, operands
from match.relay.plain import without_qnn
from match.relay.rewrite import dtype, rebuild, shape


def rest_of(call: relay.Call) -> Fragment:
    """A QNN operator in plain operators.

    Raises:
        ModelError: TVM cannot express it with its parameters.
    """
    sources = dict.fromkeys(source for operand in operands(call) for source in fields(operand))
    inputs = tuple(source for source in sources if not isinstance(source, relay.Constant))
    variables = {x: relay.var(f"x{number}", shape=shape(x), dtype=dtype(x)) for number, x in enumerate(inputs)}
    replaced: dict[relay.Expr, relay.Expr] = dict(variables)

    def new(expr: relay.Expr) -> relay.Expr:
        if expr not in replaced:
            replaced[expr] = rebuild(expr, new) if isinstance(expr, relay.Call | relay.Tuple) else expr
        return replaced[expr]

    function = relay.Function(list(variables.values()), new(call))
    module = relay.transform.InferType()(without_qnn(tvm.IRModule.from_expr(function)))
    graph = read_graph(main_function(module)).graph

    def build(*values: Value) -> Value:
        (made,) = on_inputs(graph, values)
        return made

    return Fragment(inputs, build)
