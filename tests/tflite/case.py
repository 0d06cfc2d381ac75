"""Cases of operators: each writes an operator into a TFLite file, alone or beside others."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.passes.tflite_models import TfliteModel

Quantization = tuple[float, int]
"""Scale and zero point."""

NONE, RELU, RELU_N1_TO_1, RELU6 = 0, 1, 2, 3
SAME, VALID = 0, 1


@dataclass(frozen=True)
class Input:
    """A network's input: random samples lie from `low` to `high`, both included."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    low: int
    high: int

    def samples(self, rng: np.random.Generator, count: int) -> npt.NDArray[Any]:
        """`count` arrays along a first axis: every value in turn, noise, extremes at random or alone, quiet noise."""
        extent, size = self.high - self.low + 1, int(np.prod(self.shape))
        middle = int(rng.integers(self.low, self.high + 1))
        kinds = (
            lambda: self.low + np.arange(size) % extent,
            lambda: rng.integers(self.low, self.high + 1, size),
            lambda: rng.choice([self.low, self.high], size),
            lambda: np.full(size, self.high),
            lambda: np.clip(middle + rng.integers(-3, 4, size), self.low, self.high),
            lambda: np.full(size, self.low),
        )
        drawn = [kinds[index]() if index < len(kinds) else kinds[1]() for index in range(count)]
        return np.stack(drawn).reshape(count, *self.shape).astype(self.dtype)


@dataclass
class Network:
    """A TFLite file under construction: what no operator reads is an output of it."""

    model: TfliteModel = field(default_factory=TfliteModel)
    inputs: list[tuple[int, Input]] = field(default_factory=list)
    outputs: dict[int, str] = field(default_factory=dict)
    label: str = ""
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))

    def input(
        self,
        shape: Sequence[int],
        quantization: Quantization | None = (0.05, 3),
        dtype: str = "int8",
        low: int | None = None,
        high: int | None = None,
    ) -> int:
        """A new input of the network."""
        number = self.tensor(shape, quantization, dtype)
        limits = np.iinfo(dtype)
        bounds = limits.min if low is None else low, limits.max if high is None else high
        self.inputs.append((number, Input(f"t{number}", tuple(shape), dtype, *bounds)))
        return number

    def tensor(self, shape: Sequence[int], quantization: Quantization | None, dtype: str = "int8", **how: Any) -> int:
        """A tensor that an operator is to write."""
        scale, zero_point = (None, 0) if quantization is None else quantization
        return self.model.tensor(shape, dtype, scale, zero_point, **how)

    def constant(
        self,
        values: npt.ArrayLike,
        quantization: tuple[npt.ArrayLike, int] | None = None,
        dtype: str = "int32",
        axis: int = 0,
    ) -> int:
        """A constant tensor."""
        data = np.asarray(values)
        scale, zero_point = (None, 0) if quantization is None else quantization
        return self.model.tensor(data.shape, dtype, scale, zero_point, data=data, axis=axis)

    def weights(self, shape: Sequence[int], scales: npt.ArrayLike, axis: int = 0) -> int:
        """Random int8 weights that take both extremes, with one scale or one for each index along `axis`."""
        values = self.rng.integers(-127, 128, tuple(shape))
        values.flat[0], values.flat[-1] = -127, 127
        return self.constant(values, (scales, 0), "int8", axis)

    def apply(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: int | Sequence[int],
        options: str | None = None,
        **values: Any,
    ) -> int:
        """Add an operator that writes the tensors `outputs`; its first output."""
        for read in inputs:
            self.outputs.pop(read, None)
        written = [outputs] if isinstance(outputs, int) else list(outputs)
        self.outputs |= dict.fromkeys(written, f"{name}: {self.label}")
        return self.model.operator(name, inputs, written, options, **values)


Write = Callable[[Network], None]


@dataclass(frozen=True)
class Case:
    """One operator with one set of shapes, options and quantizations; `label` tells it from the operator's others."""

    operator: str
    label: str
    write: Write


@dataclass(frozen=True)
class File:
    """A TFLite file: its inputs, and which case each output belongs to."""

    data: bytes
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]

    def samples(self, count: int) -> dict[str, npt.NDArray[Any]]:
        """Arrays for each input by its name, samples along the first axis; the same ones each time."""
        rng = np.random.default_rng(1)
        return {given.name: given.samples(rng, count) for given in self.inputs}


def cases(operator: str, write: Callable[..., None], arguments: Iterable[Mapping[str, Any]]) -> tuple[Case, ...]:
    """A case for each set of arguments of `write`."""
    return tuple(
        Case(operator, ", ".join(f"{key}={value}" for key, value in given.items()), _bound(write, operator, given))
        for given in arguments
    )


def _bound(write: Callable[..., None], operator: str, arguments: Mapping[str, Any]) -> Write:
    return lambda network: write(network, operator, **arguments)


def written(chosen: Sequence[Case]) -> File:
    """One file with all the cases in it, side by side."""
    network = Network()
    for case in chosen:
        network.label = case.label
        network.rng = np.random.default_rng(zlib.crc32(f"{case.operator}: {case.label}".encode()))
        case.write(network)
    numbers = [number for number, _ in network.inputs]
    return File(
        network.model.build(numbers, list(network.outputs)),
        tuple(given for _, given in network.inputs),
        tuple(network.outputs.values()),
    )
