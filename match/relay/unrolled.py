"""Recurrent layers as graphs of their steps."""

from __future__ import annotations

from dataclasses import replace

from match.graph.recurrent import Gru, Lstm
from match.graph.value import Value, ordered
from match.relay import relay, tvm
from match.relay.graph_reader import read_graph
from match.relay.objects import main_function
from match.relay.recurrent import in_steps


def steps_of(value: Value) -> Value:
    """The states of all steps of a recurrent layer, each computed by operators of its own."""
    layer, (x,) = value.operator, value.inputs
    assert isinstance(layer, Lstm | Gru), "other operators have no steps"
    variable = relay.var("x", shape=x.shape, dtype=x.dtype)
    module = tvm.IRModule.from_expr(relay.Function([variable], in_steps(layer, variable, x.tensor)))
    graph = read_graph(main_function(relay.transform.InferType()(module))).graph
    known = {graph.inputs[0]: x}
    for one in ordered(graph.outputs):
        if one not in known:
            inputs = tuple(known[source] for source in one.inputs)
            exact = one.exact and value.exact
            known[one] = replace(one, inputs=inputs, exact=exact, source=value.source, parts=value.parts)
    return known[graph.outputs[0]]
