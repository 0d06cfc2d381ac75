"""The way from a model to the integer form, in the order of passes and rewrites."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.arithmetic.tflite import TfliteArithmetic
from match.compilation.stopwatch import Passed, unread
from match.errors import OptionError
from match.frontend.model import Model, Rounding
from match.graph.text import text
from match.graph.value import Graph
from match.passes.adaptive_averages import PoolCollectedWindows
from match.passes.channels_last import ChannelsLast
from match.passes.compose_arithmetic import ComposeArithmetic
from match.passes.depthwise_scales import DepthwiseScales
from match.passes.fixed_point_groups import FuseFixedPointGroups
from match.passes.integerize import QuantizedReader
from match.passes.interpolations import FuseInterpolations
from match.passes.moves_in_bytes import MovesInBytes
from match.passes.narrow_requantizations import NarrowRequantizations
from match.passes.one_row import OneRow
from match.passes.pads_behind_reshapes import PadsBehindReshapes
from match.passes.powers import MultiplyPowers
from match.passes.qnn_functions import TabulateFunctions
from match.passes.quantize_border import qnn_operators
from match.passes.quantized_groups import FuseQuantizedGroups
from match.passes.real_layers import SumInIntegers
from match.passes.real_sums import SumRealLayers
from match.passes.real_tables import TabulateRealFunctions
from match.passes.recurrent_cells import NONE_TO_QUANTIZE, QuantizeCells, UnrollCells
from match.passes.reshapes_behind_elements import ReshapesBehindElements
from match.passes.resizes import WriteResizes
from match.passes.row_functions import FuseRowFunctions
from match.passes.slices_of_splits import SliceSplits
from match.passes.volume_pooling import PoolVolumes
from match.passes.volumes import CutVolumes
from match.passes.whole_constants import WriteOutConstants
from match.relay import tvm
from match.relay.graph_reader import GraphReading, read_graph
from match.relay.graph_writer import write_graph
from match.relay.objects import main_function
from match.rewrites.clips_inside import with_clips_inside
from match.rewrites.dead_channels import without_dead_channels
from match.rewrites.extrema import with_added_extrema
from match.rewrites.functions_of_rows import with_functions_of_rows
from match.rewrites.functions_of_two import with_forms_of_two
from match.rewrites.padding_inside import with_padding_inside
from match.rewrites.split_gathers import split_gathers
from match.rewrites.tables import with_tables
from match.rewrites.unsigned import with_unsigned_activations
from match.rewrites.whole_constants import with_whole_constants


def integer_relay(
    model: Model, activations: Literal["uint8"] | None = None, *, exact: bool = True, quantize_recurrent: bool = False
) -> tvm.IRModule:
    """The network of `integer_network` as a Relay module."""
    return integer_network(model, activations, exact=exact, quantize_recurrent=quantize_recurrent).module


def integer_network(
    model: Model,
    activations: Literal["uint8"] | None = None,
    *,
    exact: bool = True,
    quantize_recurrent: bool = False,
    remove_dead_channels: bool = True,
    truncates: bool | None = None,
    passed: Passed = unread,
) -> GraphReading:
    """The network in integer form (docs/integer-form.md).

    Args:
        model: as a front end returns it; it is not changed.
        activations: "uint8" stores all activations unsigned, for machines whose multipliers need that; None keeps the
            types of the model.
        exact: False lets operators that the reference rounds in floating point be within one step of it, in integers
            that modules take, where they would else stay with the control core.
        quantize_recurrent: True makes integers of recurrent layers in floating point, which makes another network.
        remove_dead_channels: False keeps what is proven constant, to compare with compilers that compute it.
        truncates: whether averages of integers in Relay are rounded towards zero; None: in a network without QNN
            operators, which is integer arithmetic as it stands. A part of a network may have none itself.
        passed: is told of each pass and rewrite, by the name of its module, when it is done.

    Raises:
        OptionError: no recurrent layer can be quantized where that is asked for.
    """
    reading = None
    if isinstance(model.network, Graph):
        if quantize_recurrent:
            raise OptionError(NONE_TO_QUANTIZE)
        forms = partial(with_forms_of_two, exact=exact)
        graph, first = (
            model.network,
            (with_whole_constants, with_clips_inside, forms, with_padding_inside, with_functions_of_rows),
        )
    else:
        module = _prepared(model, model.network, passed, exact=exact, quantize_recurrent=quantize_recurrent)
        quantized = _quantized(model, model.network, truncates, exact=exact)
        reading = read_graph(main_function(module), fragment=quantized)
        passed("integerize", partial(text, reading.graph))
        graph, first = reading.graph, ()
    rewrites = (
        *first,
        split_gathers,
        with_added_extrema,
        with_tables,
        *((without_dead_channels,) if remove_dead_channels else ()),
        *((with_unsigned_activations,) if activations == "uint8" else ()),
    )
    for rewrite in rewrites:
        graph = rewrite(graph)
        passed(_name(rewrite), partial(text, graph))
    return write_graph(graph, reading)


def _quantized(model: Model, module: tvm.IRModule, truncates: bool | None, *, exact: bool) -> QuantizedReader:
    """What reads the QNN operators of a network."""
    if model.rounding == Rounding.TFLITE:  # imported by TVM
        if truncates is None:
            truncates = not qnn_operators(module)
        return QuantizedReader(TfliteArithmetic(), exact, truncates=truncates, half_to_even=False)
    return QuantizedReader(OnnxruntimeArithmetic(), exact, half_to_even=model.rounding == Rounding.ONNXRUNTIME)


def _prepared(
    model: Model, module: tvm.IRModule, passed: Passed, *, exact: bool, quantize_recurrent: bool
) -> tvm.IRModule:
    """QNN operators and others as `QuantizedReader` and `read_graph` take them."""
    tflite = model.rounding == Rounding.TFLITE  # imported by TVM
    passes = (
        *((QuantizeCells(),) if quantize_recurrent else ()),
        SliceSplits(),
        UnrollCells(),
        WriteResizes(),
        *((FuseFixedPointGroups(),) if tflite else (MultiplyPowers(),)),
        PoolCollectedWindows(),
        OneRow(),
        CutVolumes(),
        PoolVolumes(exact),
        PadsBehindReshapes(),
        DepthwiseScales(),
        NarrowRequantizations(),
        TabulateFunctions(),
        ReshapesBehindElements(),
        MovesInBytes(),
        FuseQuantizedGroups(exact),
        SumInIntegers(),
        ChannelsLast(),
        WriteOutConstants(),
        FuseInterpolations(),
        ComposeArithmetic(),
        *(() if tflite else (FuseRowFunctions(), TabulateRealFunctions())),
        SumRealLayers(),
    )
    for transform in passes:
        module = transform(module)
        passed(_name(transform), partial(_relay_text, module))
    return module


def _name(transform: Callable[..., object]) -> str:
    """The name of the module that a pass or a rewrite is in."""
    function = transform.func if isinstance(transform, partial) else transform
    return function.__module__.rpartition(".")[2]


def _relay_text(module: tvm.IRModule) -> str:
    return str(module["main"].astext(show_meta_data=False)) + "\n"
