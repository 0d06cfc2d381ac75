"""What keeps a TFLite file from being compiled and can be told before it is read: all of it in one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Set
from types import MappingProxyType

from match.errors import ModelError
from match.frontend.reasons import of_open_shapes, sentence
from match.frontend.tflite import dilated, real_functions
from match.frontend.tflite.file import QUANTIZE, File
from match.frontend.tflite.reader import TfliteReader, fitting

_KERNELS = frozenset({"BROADCAST_ARGS", "FLOOR_DIV", "FLOOR_MOD", "IF", "L2_POOL_2D", "ROUND", "WHILE"})
"""Operators that TFLite Micro has kernels of, and that are not read here, or in floating point alone."""

_VOLUMES = "write it as convolutions of maps, or quantize the network as ONNX, whose convolutions of volumes are read"

_BY_ONNX = "give it to `match quantize`, with inputs to calibrate on"

_INSTEAD = MappingProxyType({"CONV_3D": _VOLUMES, "CONV_3D_TRANSPOSE": "write it as transposed convolutions of maps"})
"""What to do about an operator, if that is more than to replace it."""


def check(read: TfliteReader, known: Set[str]) -> None:
    """Refuse open shapes, a float network, operators whose names are not `known`, and dilation of an open batch.

    Raises:
        ModelError: there is one of these; the sentence tells all.
    """
    reasons = [*_reasons(read, known)]
    if reasons:
        raise ModelError(sentence(read.path, reasons))


def _reasons(read: TfliteReader, known: Set[str]) -> Iterator[str]:
    """What is wrong, each with what to do; of operators of one name the first."""
    file = read.file
    if file.open_borders:
        yield of_open_shapes([file.tensors[number].what for number in file.open_borders])
    if not any(tensor.dtype in ("int8", "uint8", "int16") for tensor in file.tensors):
        yield f"is a float model: nothing in it is quantized; {QUANTIZE}, or {_BY_ONNX}"
    for operator, problem in dilated.of_open_batches(file)[:1]:
        yield f"has {operator.what}, which {problem}"
    yield from _two_kinds_of_state(file)
    told = set[str]()
    for operator in (one for subgraph in (file, *file.once) for one in subgraph.operators):
        with fitting(read, operator):
            is_function = real_functions.is_known(operator)
        if operator.name in known or operator.name in told or is_function:
            continue
        told.add(operator.name)
        yield f"has {operator.what}, which {_unknown(operator.name)}"


def _two_kinds_of_state(file: File) -> Iterator[str]:
    """What is wrong with the first layer that has a state of its own in a network with variables."""
    if any(operator.name == "READ_VARIABLE" for operator in file.operators):
        for operator in file.operators:
            if any(number >= 0 and file.tensors[number].variable for number in operator.inputs):
                yield (
                    f"has {operator.what}, whose state begins anew at each inference, beside variables, which go on; "
                    "export all layers with their states as variables, or none"
                )
                return


def _unknown(name: str) -> str:
    """The end of the sentence about an operator that is not read."""
    instead = _INSTEAD.get(name, "replace it in the model")
    if name in _KERNELS or name.startswith("custom operator"):
        return f"cannot be compiled; {instead}"
    return f"cannot be compiled: TFLite Micro, whose integers are computed, has no kernel of it; {instead}"
