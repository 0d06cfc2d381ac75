"""Variables of a TFLite file: tensors that a network keeps from one inference to the next.

Operators name a variable by a handle. READ_VARIABLE gives what the last ASSIGN_VARIABLE in front of it wrote, in the
order of the file: in the same inference, in the one before, or in what CALL_ONCE executes in front of the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count

import numpy as np
import tflite

from match.errors import ModelError
from match.frontend.model import ModelState, ModelTensor
from match.frontend.tflite.file import Array, File, FileOperator, FileTensor
from match.frontend.tflite.kept import Kept
from match.frontend.tflite.reader import TfliteReader, fitting
from match.graph.make import array_of, constant
from match.graph.value import Value
from match.ir.graph import Tensor

OPERATORS = frozenset({"ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"})

Name = tuple[str, str]
"""The container of a variable, and its name there."""


class Variables:
    """The variables of a subgraph, while its operators are read in their order.

    `initial` has their values in front of the first inference.
    """

    def __init__(self, read: TfliteReader, initial: Mapping[Name, Array]) -> None:
        self._read, self._initial = read, initial
        self._handles: dict[int, Name] = {}
        self._assigned: set[Name] = set()
        for operator in read.file.operators:
            with fitting(read, operator):
                if operator.name == "VAR_HANDLE":
                    self._handles[operator.outputs[0]] = _name_of(operator)
                elif operator.name == "ASSIGN_VARIABLE":
                    self._assigned.add(self._name(operator))
        self._called = dict(_distinct(read.file, self._handles.values()))
        self._now: dict[Name, Value] = {}
        self._before: dict[Name, tuple[FileTensor, Value]] = {}

    def execute(self, operator: FileOperator) -> None:
        """Go on to one of `OPERATORS`.

        Raises:
            ModelError: it reads or writes a variable as a tensor of another type or shape than others do.
        """
        if operator.name == "READ_VARIABLE":
            name, tensor = self._name(operator), self._read.output(operator)
            if name not in self._now:
                self._now[name] = self._value_before(name, tensor)
            self._check(operator, name, Tensor(tensor.shape, tensor.dtype))
            self._read.values[operator.outputs[0]] = self._now[name]
        elif operator.name == "ASSIGN_VARIABLE":
            name, value = self._name(operator), self._read.value(operator, 1)
            self._check(operator, name, value.tensor)
            self._now.pop(name, None)  # they are kept in the order of the last assignments
            self._now[name] = value

    @property
    def constants(self) -> dict[Name, Array]:
        """What has been assigned.

        Raises:
            ModelError: it is no constant.
        """
        found = {name: array_of(value) for name, value in self._now.items()}
        for (_, name), array in found.items():
            if array is None:
                raise ModelError(
                    f"{self._read.path} computes what its variable {name!r} is in front of the first inference; "
                    "make it a constant"
                )
        return {name: array for name, array in found.items() if array is not None}

    @property
    def kept(self) -> tuple[Kept, ...]:
        """Those that are read in front of what is assigned to them, in the order of the last assignments."""
        found: list[Kept] = []
        for name, after in self._now.items():
            if name in self._before:
                tensor, before = self._before[name]
                known = ModelTensor(before.source, tensor.shape, tensor.dtype, tensor.quantization)
                found.append(Kept(ModelState(known, self._first(name, tensor)), before, after))
        return tuple(found)

    def _name(self, operator: FileOperator) -> Name:
        if operator.inputs[0] not in self._handles:
            raise self._read.error(operator, "has a variable that no VAR_HANDLE names; export the model again")
        return self._handles[operator.inputs[0]]

    def _value_before(self, name: Name, tensor: FileTensor) -> Value:
        """What an inference finds in a variable: a constant if none assigns another value."""
        if name not in self._assigned:
            return constant(self._first(name, tensor))
        before = Value(Tensor(tensor.shape, tensor.dtype), source=self._called[name])
        self._before[name] = tensor, before
        return before

    def _first(self, name: Name, tensor: FileTensor) -> Array:
        """What the first inference finds: the integer that stands for 0 where nothing was assigned before."""
        found = self._initial.get(name)
        if found is not None:
            return found
        zero = 0 if tensor.quantization is None else tensor.quantization.zero_point
        return np.full(tensor.shape, zero, tensor.dtype)

    def _check(self, operator: FileOperator, name: Name, tensor: Tensor) -> None:
        """Refuse a variable that is a tensor of another type or shape elsewhere."""
        known = [self._initial[name]] if name in self._initial else []
        others = [Tensor(one.shape, str(one.dtype)) for one in known]
        others += [self._now[name].tensor] if name in self._now else []
        for other in others:
            if other != tensor:
                raise self._read.error(
                    operator,
                    f"takes the variable {name[1]!r} for {tensor.dtype} {list(tensor.shape)}, which is "
                    f"{other.dtype} {list(other.shape)} elsewhere; export the model again",
                )


def _name_of(operator: FileOperator) -> Name:
    options = operator.options(tflite.VarHandleOptions)
    return _text(options.Container()), _text(options.SharedName())


def _text(name: bytes | None) -> str:
    return (name or b"").decode(errors="replace")


def _distinct(file: File, names: Iterable[Name]) -> Iterator[tuple[Name, str]]:
    """What each variable is called: its name, with a number behind it if another variable or tensor has that name."""
    taken = {file.tensors[number].name for number in (*file.inputs, *file.outputs)}
    for name in dict.fromkeys(names):
        usual = name[1] or "state"
        own = next(one for number in count(1) if (one := usual if number == 1 else f"{usual}_{number}") not in taken)
        taken.add(own)
        yield name, own
