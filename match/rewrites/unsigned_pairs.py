"""int8 tensors become uint8 where onnxruntime makes them so: in networks that quantize to both types.

The numbers stay the same. But onnxruntime's additions, products and means of windows add the zero point in float32
before they round, so that a type decides the last bit.
"""

from __future__ import annotations

from dataclasses import replace

from match.graph.elements import Dequantize, Quantize
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, readers

_BOTH = {"int8", "uint8"}
_MIDDLE = 128


def with_unsigned_pairs(graph: Graph) -> Graph:
    """The graph with uint8 for each int8 tensor that is quantized, dequantized, and read as real numbers once.

    Others keep their type, as do all of a network without uint8 tensors, which onnxruntime can compute as int8.
    """
    quantized = [value for value in graph.values if isinstance(value.operator, Quantize)]
    if not {value.dtype for value in quantized} >= _BOTH:
        return graph
    read = readers(graph)

    def are_pairs(levels: Value) -> bool:
        numbers = {value for value in read[levels] if value is not None and isinstance(value.operator, Dequantize)}
        return len(numbers) == len(set(read[levels])) and sum(len(read[value]) for value in numbers) == 1

    pairs = {value for value in quantized if value.dtype == "int8" and are_pairs(value)}

    def rule(value: Value, original: Value) -> Value:
        operator = value.operator
        if isinstance(operator, Quantize) and original in pairs:
            zero_point = operator.function.zero_point + _MIDDLE
            function = replace(operator.function, zero_point=zero_point, dtype="uint8")
            made = replace(operator, function=function)
            return replace(value, operator=made, tensor=made.result(*(x.tensor for x in value.inputs)))
        if isinstance(operator, Dequantize) and original.inputs[0] in pairs:
            return replace(value, operator=replace(operator, zero_point=operator.zero_point + _MIDDLE))
        return value

    return rewrite(graph, rule)
