"""The way from Relay with QNN operators to the graph in integer form, in the order of passes."""

from __future__ import annotations

from functools import partial

from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.arithmetic.tflite import TfliteArithmetic
from match.compilation.stopwatch import Passed
from match.frontend.model import Model, Rounding
from match.graph.text import text
from match.graph.value import Graph
from match.passes.adaptive_averages import PoolCollectedWindows
from match.passes.channels_last import ChannelsLast
from match.passes.collected import CollectRows
from match.passes.depthwise_scales import DepthwiseScales
from match.passes.integerize import QuantizedReader
from match.passes.one_row import OneRow
from match.passes.powers import MultiplyPowers
from match.passes.qnn_functions import TabulateFunctions
from match.passes.reshapes_behind_elements import ReshapesBehindElements
from match.passes.resizes import WriteResizes
from match.passes.slices_of_splits import SliceSplits
from match.passes.volume_pooling import PoolVolumes
from match.passes.volumes import CutVolumes
from match.relay import relay, tvm
from match.relay.graph_reader import Fragment, read_graph
from match.relay.integer_steps import read_step
from match.relay.objects import main_function
from match.relay.plain import qnn_operators
from match.relay.real_readers import read_reals
from match.rewrites.fixed_point_groups import with_fixed_point_groups
from match.rewrites.quantized_groups import with_quantized_groups


def graph_of_relay(model: Model, module: tvm.IRModule, passed: Passed, truncates: bool | None, *, exact: bool) -> Graph:
    """The graph of a model's Relay module; arguments are those of `match.passes.pipeline.integer_network`."""
    prepared = _prepared(model, module, passed, exact=exact)
    quantized = _quantized(model, module, truncates, exact=exact)

    def fragment(call: relay.Call) -> Fragment | None:
        return quantized(call) or read_step(call)

    graph = read_graph(main_function(prepared), fragment=fragment, rest=read_reals).graph
    passed("integerize", partial(text, graph))
    if model.rounding == Rounding.TFLITE:  # imported by TVM
        graph = with_fixed_point_groups(graph)
        passed("fixed_point_groups", partial(text, graph))
    graph = with_quantized_groups(graph)
    passed("quantized_groups", partial(text, graph))
    return graph


def _quantized(model: Model, module: tvm.IRModule, truncates: bool | None, *, exact: bool) -> QuantizedReader:
    """What reads the QNN operators of a network."""
    if model.rounding == Rounding.TFLITE:  # imported by TVM
        if truncates is None:
            truncates = not qnn_operators(module)
        return QuantizedReader(TfliteArithmetic(), exact, truncates=truncates, half_to_even=False)
    return QuantizedReader(OnnxruntimeArithmetic(), exact, half_to_even=model.rounding == Rounding.ONNXRUNTIME)


def _prepared(model: Model, module: tvm.IRModule, passed: Passed, *, exact: bool) -> tvm.IRModule:
    """QNN operators and others as `QuantizedReader` and `read_graph` take them."""
    passes = (
        SliceSplits(),
        WriteResizes(),
        *(() if model.rounding == Rounding.TFLITE else (MultiplyPowers(),)),
        PoolCollectedWindows(),
        OneRow(),
        CutVolumes(),
        PoolVolumes(exact),
        DepthwiseScales(),
        TabulateFunctions(),
        ReshapesBehindElements(),
        CollectRows(),
        ChannelsLast(),
    )
    for transform in passes:
        module = transform(module)
        passed(type(transform).__module__.rpartition(".")[2], partial(_relay_text, module))
    return module


def _relay_text(module: tvm.IRModule) -> str:
    return str(module["main"].astext(show_meta_data=False)) + "\n"
