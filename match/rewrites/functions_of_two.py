"""Functions of two tensors get a form: an addition, sums of tables, lines, or a table of all pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.graph.pairs import FunctionOfTwo
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value
from match.quantized.functions_of_two import function_of_two


def with_forms_of_two(graph: Graph, *, exact: bool) -> Graph:
    """The graph with a form for each function of two tensors; if not `exact` an addition within one step, too."""

    def rule(value: Value, original: Value) -> Value:
        del original
        function = value.operator
        if not isinstance(function, FunctionOfTwo):
            return value
        a, b = value.inputs
        outputs, clip = function.outputs.astype(np.int64), function.clip
        form = function_of_two(a, b, outputs, function.slopes, clip, function.dtype, close=not exact, exact=value.exact)
        return replace(form, source=value.source)

    return rewrite(graph, rule)
