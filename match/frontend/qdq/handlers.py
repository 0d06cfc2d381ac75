"""All operators of ONNX that are read as the graph's."""

from __future__ import annotations

from types import MappingProxyType

from match.frontend.qdq import (
    borders,
    choices,
    functions,
    layers,
    pooling,
    qoperators,
    recurrent,
    reductions,
    resizes,
    rows,
    scatters,
    sequences,
    shapes,
    sums,
)
from match.frontend.qdq.reader import Handler

HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        **borders.HANDLERS,
        **choices.HANDLERS,
        **functions.HANDLERS,
        **layers.HANDLERS,
        **pooling.HANDLERS,
        **qoperators.HANDLERS,
        **recurrent.HANDLERS,
        **reductions.HANDLERS,
        **resizes.HANDLERS,
        **rows.HANDLERS,
        **scatters.HANDLERS,
        **sequences.HANDLERS,
        **shapes.HANDLERS,
        **sums.HANDLERS,
    }
)
"""What reads each operator that the graph has classes for."""
