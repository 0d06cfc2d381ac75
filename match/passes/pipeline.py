"""The way from a model to the integer form, in the order of passes and rewrites."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from match.compilation.stopwatch import Passed, unread
from match.frontend.model import Model, Rounding
from match.graph.value import Graph
from match.passes.sequence import Pass, plain, through
from match.rewrites.cells_written_out import with_cells_written_out
from match.rewrites.channels_last import with_channels_last
from match.rewrites.clips_inside import with_clips_inside
from match.rewrites.close_averages import with_close_averages
from match.rewrites.dead_channels import without_dead_channels
from match.rewrites.extrema import with_extrema
from match.rewrites.functions_of_rows import with_functions_of_rows
from match.rewrites.functions_of_two import with_forms_of_two
from match.rewrites.integer_chains import with_integer_chains
from match.rewrites.padding_inside import with_padding_inside
from match.rewrites.pooled_extremes import with_pooled_extremes
from match.rewrites.quantized_cells import with_quantized_cells
from match.rewrites.quantized_groups import with_other_groups, with_quantized_groups
from match.rewrites.split_gathers import split_gathers
from match.rewrites.stored_states import with_stored_states
from match.rewrites.tables import with_tables
from match.rewrites.undone_joins import without_undone_joins
from match.rewrites.unsigned import with_unsigned_activations


@dataclass(frozen=True)
class IntegerForm:
    """Which integer form of a network is asked for.

    quantized: whether the network was read as operators on real numbers between dequantize and quantize, as ONNX files
        and Relay are.
    The other fields are the arguments of `integer_network`.
    """

    quantized: bool
    activations: Literal["uint8"] | None = None
    exact: bool = True
    quantize_recurrent: bool = False
    remove_dead_channels: bool = True


PASSES: tuple[Pass[IntegerForm], ...] = (
    Pass("quantized_cells", plain(with_quantized_cells), lambda form: form.quantize_recurrent),
    Pass("quantized_groups", plain(with_quantized_groups), lambda form: form.quantize_recurrent),
    Pass("cells_written_out", plain(with_cells_written_out), lambda form: form.quantized),
    Pass("close_averages", plain(with_close_averages), lambda form: not form.exact),
    Pass(
        "quantized_groups",
        lambda graph, form: with_other_groups(graph, exact=form.exact),
        lambda form: form.quantized,
    ),
    Pass("pooled_extremes", plain(with_pooled_extremes), lambda form: form.quantized),
    Pass("channels_last", plain(with_channels_last), lambda form: form.quantized, anew=("unsigned",)),
    Pass("integer_chains", plain(with_integer_chains)),
    Pass("undone_joins", plain(without_undone_joins)),
    Pass("clips_inside", plain(with_clips_inside)),
    Pass("functions_of_two", lambda graph, form: with_forms_of_two(graph, exact=form.exact)),
    Pass("split_gathers", plain(split_gathers)),
    Pass("padding_inside", plain(with_padding_inside)),
    Pass("functions_of_rows", plain(with_functions_of_rows)),
    Pass("extrema", plain(with_extrema)),
    Pass("tables", plain(with_tables), anew=("unsigned",)),
    Pass("dead_channels", plain(without_dead_channels), lambda form: form.remove_dead_channels),
    Pass("unsigned", plain(with_unsigned_activations), lambda form: form.activations == "uint8", anew=("unsigned",)),
    Pass("stored_states", plain(with_stored_states)),
)
"""What every network goes through, in this order, on its way to the integer form."""


def integer_network(
    model: Model,
    activations: Literal["uint8"] | None = None,
    *,
    exact: bool = True,
    quantize_recurrent: bool = False,
    remove_dead_channels: bool = True,
    truncates: bool | None = None,
    passed: Passed = unread,
) -> Graph:
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
    if isinstance(model.network, Graph):
        graph = model.network
        quantized = model.rounding is Rounding.ONNXRUNTIME
    else:
        from match.passes.relay_pipeline import graph_of_relay

        read = graph_of_relay(model.network, passed, truncates, exact=exact)
        graph, quantized = replace(read, states=tuple(state.initial for state in model.states)), True
    form = IntegerForm(quantized, activations, exact, quantize_recurrent, remove_dead_channels)
    return through(PASSES, graph, form, passed)
