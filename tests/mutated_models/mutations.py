"""Model files with one thing changed: bits, bytes, cuts, integers, and fields of the file's own schema."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import tflite
from google.protobuf.message import Message

from tests.frontend.test_integer_onnx import nemo, plinio, quantlab
from tests.random_networks.onnx import random_onnx
from tests.tflite.streams import wake_word

Change = Callable[[bytes, np.random.Generator], bytes]

TFLITE = "tflite", "variables"
"""Kinds of files that are TFLite; the second has networks that keep variables."""

NETWORKS = Path(__file__).parents[1] / "tflite" / "networks"
ONNX_SEEDS = 40
EXTREMES = (0, 1, -1, 2, 3, 7, 127, 128, 255, 256, 1 << 15, 1 << 31, (1 << 31) - 1, 1 << 32, (1 << 63) - 1, -(1 << 63))
REALS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e-30, 1e30, float("inf"), float("-inf"), float("nan"))


def mutated(kind: str, seed: int) -> bytes:
    """The bytes of a changed file of a kind: of `TFLITE`, "onnx" (QDQ), or "integer" (integer arithmetic in ONNX)."""
    rng = np.random.default_rng([seed, 7])
    data = _source(kind, int(rng.integers(1 << 30)))
    fields = tflite_field if kind in TFLITE else onnx_field
    changes: tuple[Change, ...] = (bits, some_bytes, cut, word, fields, fields, fields)
    return changes[int(rng.integers(len(changes)))](data, rng)


def _source(kind: str, number: int) -> bytes:
    if kind == "variables":
        return _streaming()
    if kind == "tflite":
        files = sorted(NETWORKS.glob("*.tflite"))
        return files[number % len(files)].read_bytes()
    if kind == "integer":
        return (nemo, quantlab, plinio)[number % 3]().model().SerializeToString()
    return _network(number % ONNX_SEEDS)


@cache
def _streaming() -> bytes:
    with TemporaryDirectory() as folder:
        return wake_word(Path(folder)).read_bytes()


@cache
def _network(seed: int) -> bytes:
    return random_onnx(seed).SerializeToString()


def bits(data: bytes, rng: np.random.Generator) -> bytes:
    """One to three bits are others."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        changed[_place(changed, rng)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def some_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Some neighbouring bytes are others, missing or there twice."""
    place, count = _place(data, rng), int(rng.integers(1, 9))
    between = (rng.bytes(count), b"", data[place : place + count] * 2)[int(rng.integers(3))]
    return data[:place] + between + data[place + count :]


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    """The end, or the beginning, is missing."""
    place = _place(data, rng)
    return data[:place] if rng.random() < 0.8 else data[place:]


def word(data: bytes, rng: np.random.Generator) -> bytes:
    """Four bytes are an integer at the end of a range, or those of another place."""
    place, other = (_place(data, rng) & ~3 for _ in range(2))
    number = struct.pack("<q", _extreme(rng))[:4] if rng.random() < 0.6 else data[other : other + 4]
    return data[:place] + number + data[place + len(number) :]


def _place(data: bytes | bytearray, rng: np.random.Generator) -> int:
    """Most often in the first or the last part of the file, where there are more fields than weights."""
    part = int(rng.integers(3))
    few = max(1, len(data) // 8)
    begin, end = ((0, few), (len(data) - few, len(data)), (0, len(data)))[part]
    return int(rng.integers(begin, end))


def _extreme(rng: np.random.Generator) -> int:
    return EXTREMES[int(rng.integers(len(EXTREMES)))]


def onnx_field(data: bytes, rng: np.random.Generator) -> bytes:
    """A field of an ONNX file's messages is another, missing or there twice."""
    model = onnx.load_from_string(data)
    messages = list(_messages(model))
    message = messages[int(rng.integers(len(messages)))]
    field = message.DESCRIPTOR.fields[int(rng.integers(len(message.DESCRIPTOR.fields)))]
    value = _value(field, rng)
    if not field.is_repeated:
        _set(message, field.name, value)
    else:
        elements = getattr(message, field.name)
        if len(elements) and rng.random() < 0.5:
            del elements[int(rng.integers(len(elements)))]
        elif len(elements) and value is not None and rng.random() < 0.7:
            elements[int(rng.integers(len(elements)))] = value
        elif value is not None:
            elements.append(value)
        elif len(elements):
            elements.add().CopyFrom(elements[int(rng.integers(len(elements)))])
    return model.SerializeToString()


def _messages(message: Message) -> Iterator[Message]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                yield from _messages(inner)


def _value(field: Any, rng: np.random.Generator) -> Any:
    """A value of a field's type; None of a message's."""
    kinds = type(field)
    if field.cpp_type in (kinds.CPPTYPE_FLOAT, kinds.CPPTYPE_DOUBLE):
        return REALS[int(rng.integers(len(REALS)))]
    if field.cpp_type == kinds.CPPTYPE_STRING:
        text = ("", "x", "y", "axis", "Conv", "NOTSET", "\u202e", "a" * 300)[int(rng.integers(8))]
        return text.encode() if field.type == kinds.TYPE_BYTES else text
    if field.cpp_type == kinds.CPPTYPE_ENUM:
        numbers = [value.number for value in field.enum_type.values]
        return numbers[int(rng.integers(len(numbers)))]
    if field.cpp_type == kinds.CPPTYPE_MESSAGE:
        return None
    wide = field.cpp_type in (kinds.CPPTYPE_INT64, kinds.CPPTYPE_UINT64)
    least = 0 if field.cpp_type in (kinds.CPPTYPE_UINT32, kinds.CPPTYPE_UINT64) else -(1 << (63 if wide else 31))
    most = least + (1 << (64 if wide else 32)) - 1
    return min(max(_extreme(rng), least), most)


def _set(message: Message, name: str, value: Any) -> None:
    if value is None:
        message.ClearField(name)
    else:
        setattr(message, name, value)


def tflite_field(data: bytes, rng: np.random.Generator) -> bytes:
    """A field of a TFLite file's tables has other bytes."""
    tables = list(_tables(data))
    table = tables[int(rng.integers(len(tables)))]
    vtable = table.Pos - struct.unpack_from("<i", data, table.Pos)[0]
    count = (struct.unpack_from("<H", data, vtable)[0] - 4) // 2
    places = [offset for offset in struct.unpack_from(f"<{count}H", data, vtable + 4) if offset]
    if not places:
        return word(data, rng)
    place, size = table.Pos + places[int(rng.integers(len(places)))], (1, 2, 4, 4)[int(rng.integers(4))]
    number = struct.pack("<f", REALS[int(rng.integers(len(REALS)))]) if rng.random() < 0.2 else b""
    number = (number or struct.pack("<q", _extreme(rng)))[:size]
    return data[:place] + number + data[place + size :]


def _tables(data: bytes) -> Iterator[Any]:
    """The tables of a file: the model's, its operators', its tensors'."""
    model = tflite.Model.GetRootAs(data, 0)
    yield model._tab
    yield from (model.OperatorCodes(number)._tab for number in range(model.OperatorCodesLength()))
    for graph in map(model.Subgraphs, range(model.SubgraphsLength())):
        yield graph._tab
        for tensor in map(graph.Tensors, range(graph.TensorsLength())):
            yield tensor._tab
            if (quantization := tensor.Quantization()) is not None:
                yield quantization._tab
        for operator in map(graph.Operators, range(graph.OperatorsLength())):
            yield operator._tab
            if (options := operator.BuiltinOptions()) is not None:
                yield options
