"""What keeps an ONNX file from being compiled and can be told before it is converted: all of it in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from match.errors import ModelError
from match.frontend.onnx_batch import is_open
from match.frontend.reasons import of_open_shapes, sentence

QUANTIZE = "give the network in float to `match quantize`, with inputs to calibrate on"
"""What to do about a model that is not quantized."""

_RECURRENT = (
    "convert the network to TFLite in full int8, whose LSTM is computed in integers; `match quantize` would leave it "
    "in floating point, on the control core"
)
_ON_INTEGERS = "DequantizeLinear", "MatMulInteger", "ConvInteger", "MatMulIntegerToFloat"
_OF_FEW_BITS = "MatMulNBits", "MatMulBnb4", "GatherBlockQuantized"
"""Operators of onnxruntime's on weights in blocks, each with a scale of its own."""
_DOMAINS = ("", "ai.onnx", "com.microsoft")


def check(graph: Any, open_shapes: Iterable[str], known: Callable[[], Iterable[str]], path: Path) -> None:
    """Refuse open shapes, operators of others, a float network, and one whose activations are quantized as it runs.

    Operators of others are those that TVM's importer would take for those of ONNX that are called alike. `open_shapes`
    is what `open_shapes_of` found. Operators beside the `known` ones are told with other reasons: constants may yet
    take their place.

    Raises:
        ModelError: there is one of these; the sentence tells all.
    """
    foreign = [f"{node.op_type} of the domain {node.domain}" for node in graph.node if node.domain not in _DOMAINS]
    reasons = [*open_shapes, *_not_quantized(graph)]
    others: list[str] = []
    if reasons:
        named = {*known(), *_OF_FEW_BITS, "Constant"}
        others = [
            node.op_type
            for node in graph.node
            if node.domain in _DOMAINS and node.op_type not in named and not node.op_type.startswith("DynamicQuantize")
        ]
    reasons += uses([*foreign, *others])
    if reasons:
        raise ModelError(sentence(path, reasons))


def uses(operators: Iterable[str]) -> list[str]:
    """The reason that operators are against a model, each once; none without operators."""
    names = list(dict.fromkeys(operators))
    if not names:
        return []
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return [f"uses {listed}, which cannot be compiled; replace {'it' if len(names) == 1 else 'them'} in the model"]


def open_shapes_of(inputs: Iterable[Any]) -> list[str]:
    """The reason that inputs are against a model whose dimensions the file leaves open; none if all are fixed."""
    found = [_open(value) for value in inputs if _is_open(value)]
    if not found:
        return []
    return [f"{of_open_shapes(found)}, for instance with python -m onnxruntime.tools.make_dynamic_shape_fixed"]


def _is_open(value: Any) -> bool:
    kind = value.type.tensor_type
    return not kind.HasField("shape") or any(map(is_open, kind.shape.dim))


def _open(value: Any) -> str:
    """An input with the names of its open dimensions."""
    free = [dim.dim_param or "?" for dim in value.type.tensor_type.shape.dim if is_open(dim)]
    return f"{value.name!r} ({', '.join(free)})" if free else repr(value.name)


def _not_quantized(graph: Any) -> Iterator[str]:
    operators = [node.op_type for node in graph.node]
    dynamic = next((name for name in operators if name.startswith("DynamicQuantize")), None)
    weights_alone = next((name for name in operators if name in _OF_FEW_BITS), None)
    if dynamic is not None:
        what = f"is quantized dynamically: {dynamic} finds the scales of activations while the network runs"
        yield f"{what}; {_RECURRENT if dynamic.endswith('LSTM') else QUANTIZE}"
    elif weights_alone is not None:
        what = f"has quantized weights alone: {weights_alone} computes with activations in floating point"
        yield f"{what}; {QUANTIZE}"
    elif not any(name.startswith("Q") or name in _ON_INTEGERS for name in operators):
        yield "is a float model: nothing in it is quantized; give it to `match quantize`, with inputs to calibrate on"
