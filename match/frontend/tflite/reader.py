"""What the readers of operators read of a file, and the tensors that were computed so far."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.errors import ModelError
from match.frontend.reasons import reason
from match.frontend.tflite.file import MALFORMED, QUANTIZE, Array, File, FileOperator, FileTensor
from match.frontend.tflite.kept import Kept
from match.frontend.tflite.real import Real, Source
from match.graph.make import array_of, constant
from match.graph.value import Value
from match.ir.dtypes import value_range

_INSIDE = (
    "quantize it as its neighbours are, or leave between DEQUANTIZE and QUANTIZE only what is a function of each "
    "element of one tensor, SOFTMAX or LOG_SOFTMAX"
)
"""What to do about an operator in floating point inside a quantized network."""


class TfliteReader:
    """Tensors of operators as those of the graph, as constants and with their quantization.

    `sources` has the real numbers that 8-bit tensors stand for, `reals` what is computed of them value by value, and
    `kept` what operators keep in tensors of their own, in their order.
    All methods raise ModelError where the network has something else than what is asked for.
    """

    def __init__(self, file: File, path: Path) -> None:
        self.file = file
        self.path = path
        self.values: dict[int, Value] = {}
        self.sources: dict[int, Source] = {}
        self.reals: dict[int, Real] = {}
        self.kept: list[Kept] = []

    def with_values(self, values: Mapping[int, Value]) -> TfliteReader:
        """The same, but for what some tensors are."""
        other = TfliteReader(self.file, self.path)
        other.values = {**self.values, **values}
        other.sources, other.reals, other.kept = self.sources, self.reals, self.kept
        return other

    def error(self, operator: FileOperator, problem: str) -> ModelError:
        """What is wrong with an operator, as the end of the sentence '... has <operator>, which'."""
        return ModelError(f"{self.path} has {operator.what}, which {problem}")

    def has(self, operator: FileOperator, position: int) -> bool:
        """Whether an input is there: those that are left out are at the end, or have the number -1."""
        return position < len(operator.inputs) and operator.inputs[position] >= 0

    def tensor(self, operator: FileOperator, position: int = 0) -> FileTensor:
        """What the file says about an input."""
        if not self.has(operator, position):
            raise self.error(operator, f"lacks its input {position}; export the model again")
        return self.file.tensors[operator.inputs[position]]

    def output(self, operator: FileOperator, position: int = 0) -> FileTensor:
        """What the file says about an output."""
        return self.file.tensors[operator.outputs[position]]

    def value(self, operator: FileOperator, position: int = 0) -> Value:
        """An input as a tensor of the graph; constants, too."""
        tensor = self.tensor(operator, position)
        number = operator.inputs[position]
        if number not in self.values and number in self.reals:
            self.values[number] = self.reals[number].value
        if number not in self.values:
            if tensor.data is None:
                if tensor.variable:
                    raise self.error(operator, "keeps state from one inference to the next; replace it in the model")
                raise self.error(operator, f"reads {tensor.what}, which nothing computes; export the model again")
            self.values[number] = constant(tensor.data, tensor.dtype)
        return self.values[number]

    def constant(self, operator: FileOperator, position: int) -> Array | None:
        """An input's values if it is a constant of the file, else None."""
        return self.tensor(operator, position).data if self.has(operator, position) else None

    def is_constant(self, operator: FileOperator) -> bool:
        """Whether all inputs are constants of the file, or computed of these alone."""
        given = [number for number in operator.inputs if number >= 0]
        return all(self.file.tensors[number].data is not None or self._folded(number) is not None for number in given)

    def _folded(self, number: int) -> Array | None:
        """The elements of a tensor that was computed of constants."""
        value = self.values.get(number)
        return None if value is None else array_of(value)

    def integers(self, operator: FileOperator, position: int) -> list[int]:
        """The numbers of a small input, constant or computed of constants alone."""
        values = self.constant(operator, position)
        if values is None:
            values = array_of(self.value(operator, position))
        if values is None:
            what = self.tensor(operator, position).what
            raise self.error(operator, f"takes {what} from what the network computes; make it a constant")
        return [int(value) for value in np.asarray(values).reshape(-1)]

    def quantization(self, operator: FileOperator, tensor: FileTensor) -> QuantizedType:
        """Scale and zero point of a tensor that has one of each."""
        if tensor.dtype not in ("int8", "uint8", "int16", "int32"):
            raise self.error(operator, f"has {tensor.what} of type {tensor.dtype}; quantize it to int8")
        if len(tensor.scales) != 1:
            problem = "is not quantized" if not len(tensor.scales) else "has a scale for each channel"
            raise self.error(operator, f"has {tensor.what}, which {problem}; quantize it with one scale")
        scale = tensor.scales[0]
        if not (np.isfinite(scale) and scale > 0):
            raise self.error(operator, f"has {tensor.what} with the scale {scale}; quantize it again")
        least, largest = value_range(tensor.dtype)
        if not least <= tensor.zero_points[0] <= largest:
            problem = f"has {tensor.what} with the zero point {tensor.zero_points[0]}, which {tensor.dtype} lacks"
            raise self.error(operator, f"{problem}; quantize it again")
        return QuantizedType(scale, int(tensor.zero_points[0]), tensor.dtype)

    def check_symmetric(self, operator: FileOperator, weights: FileTensor) -> None:
        """Refuse int8 weights with a zero point, which TFLite Micro's kernel does not subtract."""
        if weights.dtype == "int8" and np.any(weights.zero_points):
            problem = f"has {weights.what} with a zero point, which TFLite Micro takes for 0"
            raise self.error(operator, f"{problem}; quantize weights symmetrically")

    def check_bias(self, operator: FileOperator, position: int) -> None:
        """Refuse a bias of another type than int32.

        TFLite Micro takes one of int64, which belongs to int16 inputs, for int32 numbers of twice the count.
        """
        kind = self.tensor(operator, position).dtype
        if kind != "int32":
            raise self.error(operator, f"has a bias of type {kind}; quantize it to int32")

    def check_alike(self, operator: FileOperator, positions: Iterable[int], within: float = 0.0) -> None:
        """Refuse inputs with another scale or zero point than the output's where a kernel passes integers on.

        TFLite Micro refuses them, too. `within` is by how much scales may differ.
        """
        output = self.output(operator)
        if output.dtype not in ("int8", "uint8", "int16"):
            return
        tensors = [self.tensor(operator, position) for position in positions]
        if not any(len(tensor.scales) for tensor in (output, *tensors)):
            return
        expected = self.quantization(operator, output)
        for tensor in tensors:
            found = self.quantization(operator, tensor)
            if abs(found.scale - expected.scale) > within or found.zero_point != expected.zero_point:
                problem = f"has {tensor.what} in another quantization than its output; quantize both with one scale"
                raise self.error(operator, f"{problem} and zero point")

    def narrow(self, operator: FileOperator, tensor: FileTensor) -> QuantizedType:
        """The quantization of a tensor of 8 bits."""
        if tensor.dtype == "float32":
            if self._has_activations("int16"):
                problem = "computes in float32 between integers of 16 bits"
                raise self.error(operator, f"{problem}; quantize it as its neighbours are, or all activations to int8")
            if self._has_activations("int8", "uint8"):
                raise self.error(operator, f"computes in float32 between integers; {_INSIDE}")
            what = f"{operator.what} computes in float32, as all activations are real numbers"
            raise ModelError(f"{self.path} has quantized weights alone: {what}; {QUANTIZE}")
        if tensor.dtype == "int16":
            what = f"{operator.what} with {tensor.what} of 16 bits, and of this operator 8 bits alone can be compiled"
            raise ModelError(f"{self.path} has {what}; {QUANTIZE}")
        if tensor.dtype not in ("int8", "uint8"):
            what = f"{operator.what} has {tensor.what} of type {tensor.dtype}, which is wider or no number"
            raise ModelError(f"{self.path} is not an 8-bit model: {what}; {QUANTIZE}")
        return self.quantization(operator, tensor)

    def _has_activations(self, *dtypes: str) -> bool:
        """Whether numbers of one of these types are computed or given."""
        return any(
            tensor.data is None and tensor.dtype in dtypes and not tensor.variable for tensor in self.file.tensors
        )

    def input_quantization(self, operator: FileOperator, position: int = 0) -> QuantizedType:
        """The quantization of an input of 8 bits."""
        return self.narrow(operator, self.tensor(operator, position))

    def output_quantization(self, operator: FileOperator) -> QuantizedType:
        """The quantization of the operator's output, of 8 bits."""
        return self.narrow(operator, self.output(operator))


Handler = Callable[[TfliteReader, FileOperator], Value | tuple[Value, ...]]
"""Makes an operator's output of what it reads, or a tuple of its outputs."""

Handlers = Mapping[str, Handler]
"""Handlers of operators, by their names in TFLite's schema."""


@contextmanager
def fitting(read: TfliteReader, operator: FileOperator) -> Generator[None]:
    """What is done for an operator.

    Raises:
        ModelError: the operator does not fit its tensors.
    """
    try:
        yield
    except MALFORMED as error:
        raise read.error(operator, f"does not fit its tensors ({reason(error)}); export the model again") from error


def results_of(read: TfliteReader, operator: FileOperator, handler: Handler) -> tuple[Value, ...]:
    """An operator's outputs.

    Raises:
        ModelError: the handler's own, or that the operator does not fit its tensors.
    """
    with fitting(read, operator):
        results = handler(read, operator)
    return results if isinstance(results, tuple) else (results,)
