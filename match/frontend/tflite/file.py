"""A TFLite file as typed values: tensors with their quantization and constants, operators with their options."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tflite

from match.errors import ModelError
from match.frontend.model import Quantization
from match.frontend.other_formats import TFLITE_GUIDE, is_tflite

Array = npt.NDArray[Any]

MALFORMED = (struct.error, IndexError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError, AssertionError)
"""What reading a file with wild offsets and lengths can raise."""

QUANTIZE = (
    "quantize weights and activations to int8 in TensorFlow's converter, with Optimize.DEFAULT, a "
    f"representative_dataset and the operators TFLITE_BUILTINS_INT8 ({TFLITE_GUIDE})"
)
"""What to do about a model that is not quantized."""

_BUILTIN_CODE = 10
"""Where the table of an operator code lists its field `builtin_code`, in bytes from the list's start."""

_NAME_END = 48
"""Characters of a name that errors show."""

_EMPTY_TABLE = struct.pack("<HHi", 4, 4, 4)
"""A table without fields, at byte 4: before it the sizes of what lists the fields and of the table itself."""


def short(name: str) -> str:
    """The end of a long name."""
    return name if len(name) <= _NAME_END else f"…{name[-_NAME_END:]}"


def _names(enumeration: type) -> dict[int, str]:
    """The names of an enumeration of the schema by their numbers."""
    return {value: name for name, value in vars(enumeration).items() if isinstance(value, int)}


@dataclass(frozen=True, eq=False)
class FileTensor:
    """A tensor of the file.

    dtype: NumPy's name of the type of an element; constants of 4 bits are unpacked to "int8".
    scales, zero_points: float32 and int64, none, one, or one for each index along `axis`.
    data: the values of a constant, in the tensor's shape; None for others.
    variable: whether it keeps its values from one inference to the next.
    open_batch: whether the file leaves the first dimension open, for which `shape` then has a number all the same.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scales: npt.NDArray[np.float32]
    zero_points: npt.NDArray[np.int64]
    axis: int
    data: Array | None
    variable: bool
    open_batch: bool

    @property
    def what(self) -> str:
        """How errors call it: the end of its name, which converters join from the names of all layers around it."""
        return repr(short(self.name))

    @property
    def quantization(self) -> Quantization | None:
        """What its integers stand for, if it has one scale."""
        if len(self.scales) != 1 or self.dtype == "float32":
            return None
        return Quantization(float(self.scales[0]), int(self.zero_points[0]))


@dataclass(frozen=True, eq=False)
class FileOperator:
    """An operator: its name, how errors call it, and its tensors by number, -1 for an input that is left out."""

    name: str
    what: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    table: Any

    def options(self, kind: Callable[[], Any]) -> Any:
        """The operator's options, of a class of the package tflite; the schema's defaults where the file has none."""
        options = kind()
        table = self.table.BuiltinOptions()
        expected = getattr(tflite.BuiltinOptions, type(options).__name__)
        if table is None:
            options.Init(_EMPTY_TABLE, 4)
        elif self.table.BuiltinOptionsType() != expected:
            raise ValueError(f"{self.what} has the options of another operator")
        else:
            options.Init(table.Bytes, table.Pos)
        return options


@dataclass(frozen=True, eq=False)
class File:
    """A subgraph of a file; inputs and outputs are numbers of tensors, `open_borders` those of open shapes.

    An open batch is none of these: its size in TFLite Micro is that of the shape.
    `once` are the subgraphs that are executed in front of the first inference, in this order.
    """

    tensors: tuple[FileTensor, ...]
    operators: tuple[FileOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    open_borders: tuple[int, ...]
    once: tuple[File, ...] = ()


def read_file(data: bytes, path: Path) -> File:
    """The content of a TFLite file; `path` is what errors call it.

    Raises:
        ModelError: it is no TFLite file, is cut off, has sparse weights, or several subgraphs that each inference has.
    """
    if not is_tflite(data):
        raise ModelError(f"{path} is not a TFLite file: it lacks the identifier TFL3; check what was exported")
    try:
        return _file(data, path)
    except MALFORMED as error:
        raise ModelError(f"{path} is truncated or corrupt; export or download the model again") from error


def _file(data: bytes, path: Path) -> File:
    model = tflite.Model.GetRootAs(data, 0)
    buffers = [buffer_bytes(data, model.Buffers(index)) for index in range(model.BuffersLength())]
    main = _subgraph(model, 0, buffers, path)
    if not main.outputs or len(set(main.inputs)) < len(main.inputs):
        problem = "no outputs" if not main.outputs else "an input twice"
        raise ModelError(f"{path} has {problem}; export the model again")
    calls = [one.options(tflite.CallOnceOptions) for one in main.operators if one.name == "CALL_ONCE"]
    once = tuple(dict.fromkeys(int(options.InitSubgraphIndex()) for options in calls))
    if len({0, *once}) != model.SubgraphsLength():
        problem = f"has {model.SubgraphsLength()} subgraphs; only models with one are supported"
        raise ModelError(f"{path} {problem}: export each signature alone, without loops and conditions")
    return replace(main, once=tuple(_subgraph(model, index, buffers, path) for index in once))


def _subgraph(model: Any, index: int, buffers: list[npt.NDArray[np.uint8]], path: Path) -> File:
    graph = model.Subgraphs(index)
    tensors = tuple(_tensor(graph.Tensors(index), buffers, path) for index in range(graph.TensorsLength()))
    inputs, outputs = _numbers(graph.InputsAsNumpy()), _numbers(graph.OutputsAsNumpy())
    tensors = _with_own_names(_with_own_names(tensors, inputs), outputs)
    open_borders = {number for number in (*inputs, *outputs) if any(extent <= 0 for extent in tensors[number].shape)}
    for number in inputs:
        signature = _numbers(graph.Tensors(number).ShapeSignatureAsNumpy())
        if any(extent < 0 for extent in signature[1:]):
            open_borders.add(number)
    operators = tuple(_operator(model, graph.Operators(at), at, tensors) for at in range(graph.OperatorsLength()))
    return File(tensors, operators, inputs, outputs, tuple(sorted(open_borders)))


def _text(name: bytes | None) -> str:
    return (name or b"").decode(errors="replace")


def _with_own_names(tensors: tuple[FileTensor, ...], border: tuple[int, ...]) -> tuple[FileTensor, ...]:
    """The tensors, with a number after the names of inputs or outputs that have none or another one's."""
    named, taken = list(tensors), set[str]()
    for number in dict.fromkeys(border):
        name = tensors[number].name
        if not name or name in taken:
            name = f"{name}_{number}" if name else f"tensor_{number}"
        taken.add(name)
        named[number] = replace(tensors[number], name=name)
    return tuple(named)


def _numbers(values: Any) -> tuple[int, ...]:
    """A vector of numbers of tensors; flatbuffers returns 0 for one that is not there."""
    return () if isinstance(values, int) else tuple(int(value) for value in values)


def buffer_bytes(data: bytes, buffer: Any) -> npt.NDArray[np.uint8]:
    """The bytes of a buffer: in its vector, or after the flatbuffer, `Offset` bytes from the start of the file.

    Raises:
        IndexError: the file ends before the buffer does.
    """
    if buffer.Offset() > 1:  # 1 stands for an offset that was never written
        if buffer.Offset() + buffer.Size() > len(data):
            raise IndexError("a buffer ends behind the file")
        return np.frombuffer(data, np.uint8, buffer.Size(), buffer.Offset())
    values = buffer.DataAsNumpy()
    return np.zeros(0, np.uint8) if isinstance(values, int) else values


def _tensor(tensor: Any, buffers: list[npt.NDArray[np.uint8]], path: Path) -> FileTensor:
    name = _text(tensor.Name())
    if tensor.Sparsity() is not None:
        raise ModelError(f"{path} has the sparse tensor {short(name)!r}; convert the model without sparsity")
    shape = _numbers(tensor.ShapeAsNumpy()) if tensor.ShapeLength() else ()
    kind = _names(tflite.TensorType)[tensor.Type()].lower()
    raw: npt.NDArray[np.uint8] = buffers[int(tensor.Buffer())]
    data: Array | None = None
    if len(raw) and kind not in ("string", "resource", "variant"):
        data = _unpacked(raw, shape) if kind == "int4" else raw.view(np.dtype(kind)).reshape(shape)
        kind = str(data.dtype)
    quantization = tensor.Quantization()
    scales, zero_points, axis = np.zeros(0, np.float32), np.zeros(0, np.int64), 0
    if quantization is not None and quantization.ScaleLength():
        scales = np.array(quantization.ScaleAsNumpy(), np.float32)
        zero_points = np.zeros(len(scales), np.int64)
        if quantization.ZeroPointLength():
            zero_points = zero_points + np.array(quantization.ZeroPointAsNumpy(), np.int64)
        axis = int(quantization.QuantizedDimension())
    signature = _numbers(tensor.ShapeSignatureAsNumpy())
    open_batch = bool(signature) and signature[0] < 0
    return FileTensor(name, shape, kind, scales, zero_points, axis, data, bool(tensor.IsVariable()), open_batch)


def _unpacked(raw: npt.NDArray[np.uint8], shape: tuple[int, ...]) -> Array:
    """Values of 4 bits, two in a byte, the lower half first."""
    both = np.stack([raw << 4, raw & 0xF0], axis=-1).reshape(-1)
    return (both.view(np.int8) >> 4)[: int(np.prod(shape))].reshape(shape)


def _operator(model: Any, operator: Any, position: int, tensors: tuple[FileTensor, ...]) -> FileOperator:
    code = model.OperatorCodes(operator.OpcodeIndex())
    number, names = _builtin_code(code), _names(tflite.BuiltinOperator)
    name = f"builtin operator {number}" if number > max(names) else names[number]  # a newer schema has more
    if name == "CUSTOM":
        name = f"custom operator {(code.CustomCode() or b'').decode(errors='replace')}"
    inputs, outputs = _numbers(operator.InputsAsNumpy()), _numbers(operator.OutputsAsNumpy())
    if any(not -1 <= number < len(tensors) for number in (*inputs, *outputs)):
        raise IndexError("an operator has a tensor that the file does not have")
    where = f" at {tensors[outputs[0]].what}" if outputs else ""
    return FileOperator(name, f"{name} (operator {position}{where})", inputs, outputs, operator)


def _builtin_code(code: Any) -> int:
    """The number of an operator: the larger of the field of one byte and the later field of four, as TFLite takes it.

    The package tflite reads the later field from 127 on alone; newer quantizers write lower numbers there, too.
    """
    table = code._tab
    place = table.Offset(_BUILTIN_CODE)
    later = struct.unpack_from("<i", table.Bytes, table.Pos + place)[0] if place else 0
    return max(later, code.DeprecatedBuiltinCode())
