"""The way from Relay with QNN operators to the graph in integer form, in the order of passes."""

from __future__ import annotations

from functools import partial

from match.arithmetic.tflite import TfliteArithmetic
from match.compilation.stopwatch import Passed
from match.graph.text import text
from match.graph.value import Graph
from match.passes.integerize import QuantizedReader
from match.relay import relay, tvm
from match.relay.graph_reader import Fragment, read_graph
from match.relay.integer_steps import read_step
from match.relay.objects import main_function
from match.relay.plain import qnn_operators
from match.relay.qnn_functions import read_function
from match.relay.real_readers import read_reals
from match.rewrites.fixed_point_groups import with_fixed_point_groups
from match.rewrites.quantized_groups import with_quantized_groups


def graph_of_relay(module: tvm.IRModule, passed: Passed, truncates: bool | None, *, exact: bool) -> Graph:
    """The graph of a Relay module; other arguments are those of `match.passes.pipeline.integer_network`."""
    if truncates is None:
        truncates = not qnn_operators(module)
    quantized = QuantizedReader(TfliteArithmetic(), exact, truncates=truncates)

    def fragment(call: relay.Call) -> Fragment | None:
        return read_function(call) or quantized(call) or read_step(call)

    graph = read_graph(main_function(module), fragment=fragment, rest=read_reals).graph
    passed("integerize", partial(text, graph))
    for rewrite in (with_fixed_point_groups, with_quantized_groups):
        graph = rewrite(graph)
        passed(rewrite.__name__.removeprefix("with_"), partial(text, graph))
    return graph
