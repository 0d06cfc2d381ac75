"""TFLite networks that keep variables, and TFLite Micro on a stream of inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tflite_micro.python.tflite_micro import runtime

from tests.tflite.case import NONE, VALID, Network, Quantization

Array = npt.NDArray[Any]


class StreamingNetwork(Network):
    """A TFLite file with variables under construction."""

    def handle(self, name: str) -> int:
        """A handle of a variable."""
        number = self.model.tensor((), "resource")
        self.model.operator("VAR_HANDLE", (), number, "VarHandleOptions", sharedName=name.encode())
        return number

    def begin(self, values: Mapping[str, Array], quantization: Quantization) -> None:
        """Variables before the first inference, in a subgraph that is executed once."""
        init = self.model.subgraph()
        for name, data in values.items():
            handle = init.tensor((), "resource")
            init.operator("VAR_HANDLE", (), handle, "VarHandleOptions", sharedName=name.encode())
            first = init.tensor(data.shape, str(data.dtype), *quantization, data=data)
            init.operator("ASSIGN_VARIABLE", (handle, first), (), "AssignVariableOptions")
        self.model.operator("CALL_ONCE", (), (), "CallOnceOptions", initSubgraphIndex=len(self.model.others))

    def read(self, handle: int, shape: Sequence[int], quantization: Quantization | None, dtype: str = "int8") -> int:
        """What a variable holds."""
        return self.apply("READ_VARIABLE", [handle], self.tensor(shape, quantization, dtype), "ReadVariableOptions")

    def assign(self, handle: int, value: int) -> None:
        """A variable holds a tensor from now on."""
        self.outputs.pop(value, None)
        self.model.operator("ASSIGN_VARIABLE", (handle, value), (), "AssignVariableOptions")

    def past(self, x: int, name: str, shape: Sequence[int], before: int, quantization: Quantization) -> int:
        """The last `before` rows of a stream in front of its new ones, which are `x` of this shape (1, rows, 1, n)."""
        _, rows, _, channels = shape
        handle = self.handle(name)
        whole = self.tensor((1, before + rows, 1, channels), quantization)
        held = self.read(handle, (1, before, 1, channels), quantization)
        self.apply("CONCATENATION", [held, x], whole, "ConcatenationOptions", axis=1)
        ends = (0, rows, 0, 0), (1, before + rows, 1, channels), (1, 1, 1, 1)
        numbers = [self.constant(np.array(end, np.int32)) for end in ends]
        kept = self.tensor((1, before, 1, channels), quantization)
        self.assign(handle, self.apply("STRIDED_SLICE", [whole, *numbers], kept, "StridedSliceOptions"))
        self.outputs[whole] = name
        return whole

    def convolution(self, x: int, rows: int, channels: tuple[int, int], output: int) -> int:
        """A convolution over all `rows` of a stream."""
        weights = self.weights((channels[1], rows, 1, channels[0]), 0.01 + 0.002 * np.arange(channels[1]))
        options: dict[str, Any] = {"padding": VALID, "strideH": 1, "strideW": 1, "fusedActivationFunction": NONE}
        return self.apply("CONV_2D", [x, weights], output, "Conv2DOptions", **options)

    def write(self, folder: Path, name: str = "stream") -> Path:
        """The file."""
        path = folder / f"{name}.tflite"
        path.write_bytes(self.model.build([number for number, _ in self.inputs], list(self.outputs)))
        return path


def wake_word(folder: Path, *, initial: bool = True, channels: int = 16) -> Path:
    """Two layers in a stream, each of which sees rows of earlier inferences."""
    network, first, second = StreamingNetwork(), (0.05, -5), (0.4, 11)
    x = network.input((1, 2, 1, 8), first)
    if initial:
        rng = np.random.default_rng(3)
        values = {name: rng.integers(-128, 128, shape).astype(np.int8) for name, shape in (("x", (1, 3, 1, 8)),)}
        network.begin(values, first)
    seen = network.past(x, "x", (1, 2, 1, 8), 3, first)
    hidden = network.convolution(seen, 5, (8, channels), network.tensor((1, 1, 1, channels), second))
    again = network.past(hidden, "hidden", (1, 1, 1, channels), 4, second)
    network.convolution(again, 5, (channels, 4), network.tensor((1, 1, 1, 4), (0.4 * channels**0.5, -3)))
    return network.write(folder)


def micro(path: Path, steps: Iterable[Array]) -> list[Array]:
    """The first output of TFLite Micro for each step of a stream, from the first inference on."""
    interpreter = runtime.Interpreter.from_bytes(path.read_bytes(), arena_size=1 << 22)
    outputs: list[Array] = []
    for step in steps:
        interpreter.set_input(step, 0)
        interpreter.invoke()
        outputs.append(interpreter.get_output(0).copy())
    return outputs


def stream(shape: Sequence[int], steps: int, seed: int = 0) -> Array:
    """Random steps."""
    return np.random.default_rng(seed).integers(-128, 128, (steps, *shape)).astype(np.int8)
