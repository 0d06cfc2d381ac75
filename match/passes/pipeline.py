"""The way from a model to the integer form, in the order of passes and rewrites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

from match.compilation.stopwatch import Passed, unread
from match.frontend.model import Model, Rounding
from match.graph.text import text
from match.graph.value import Graph
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
from match.rewrites.repeated_operands import with_repeated_operands
from match.rewrites.split_gathers import split_gathers
from match.rewrites.stored_states import with_stored_states
from match.rewrites.tables import with_tables
from match.rewrites.undone_joins import without_undone_joins
from match.rewrites.unsigned import with_unsigned_activations

Rewrite = Callable[[Graph], Graph]


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
    for rewrite in (
        *((with_quantized_cells, with_quantized_groups) if quantize_recurrent else ()),
        *((with_cells_written_out,) if quantized else ()),
        with_integer_chains,
        *(() if exact else (with_close_averages,)),
        *((partial(with_other_groups, exact=exact), with_pooled_extremes, with_channels_last) if quantized else ()),
        without_undone_joins,
        with_repeated_operands,
        with_clips_inside,
        partial(with_forms_of_two, exact=exact),
        with_padding_inside,
        with_functions_of_rows,
        split_gathers,
        with_extrema,
        with_tables,
        *((without_dead_channels,) if remove_dead_channels else ()),
        *((with_unsigned_activations,) if activations == "uint8" else ()),
        with_stored_states,
    ):
        graph = rewrite(graph)
        passed(_name(rewrite), partial(text, graph))
    return graph


def _name(rewrite: Rewrite) -> str:
    """The name of the module that a rewrite is in."""
    function = rewrite.func if isinstance(rewrite, partial) else rewrite
    return function.__module__.rpartition(".")[2]
