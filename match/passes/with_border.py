"""A model with other inputs and outputs: what was asked for as a part of its network.

A quantize in front of all else, a dequantize after it or a change of layout then is the caller's, who knows the scale.
"""

from __future__ import annotations

from match.frontend.model import Model
from match.graph.value import Graph
from match.passes.border import Border
from match.passes.graph_border import graph_with_border


def with_border(model: Model, border: Border) -> Model:
    """The model with other inputs and outputs; what it computes in between stays.

    Raises:
        OptionError: an input or output cannot have the type or layout.
    """
    if border == Border():
        return model
    if isinstance(model.network, Graph):
        return graph_with_border(model, model.network, border)
    from match.passes.relay_border import relay_with_border

    return relay_with_border(model, model.network, border)
