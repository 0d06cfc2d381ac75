"""How a TFLite network grows: tensors with their scales, and what operators add."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.random_networks.drawing import MOST_ELEMENTS, Drawing, Shape, UnfitError
from tests.tflite.case import NONE, RELU, RELU6, RELU_N1_TO_1, Network, Quantization


@dataclass(frozen=True)
class Tensor:
    """An activation or constant: its number in the file, its shape, its scale and zero point."""

    number: int
    shape: Shape
    quantization: Quantization

    @property
    def scale(self) -> float:
        """The real number of one step."""
        return self.quantization[0]


@dataclass(frozen=True)
class Growing(Drawing[Tensor]):
    """A TFLite network under construction; all its activations have the type `dtype`."""

    dtype: str = "int8"
    network: Network = field(default_factory=Network)

    @property
    def spread(self) -> int:
        """How many steps random values lie from the zero point."""
        return 60 if self.dtype == "int8" else 15_000

    def quantization(self, scale: float) -> Quantization:
        """A scale with a zero point: 0 for 16 bits, else often one of the ends or near 0."""
        if self.dtype == "int16":
            return scale, 0
        near, anywhere = (int(self.rng.integers(-most, most)) for most in (20, 128))
        return scale, self.draw((near, near, near, near, -128, -128, -128, 0, anywhere, anywhere, 127))

    def activation(self) -> dict[str, int]:
        """The option for an activation function inside an operator."""
        return {"fusedActivationFunction": self.draw((NONE, NONE, NONE, RELU, RELU, RELU6, RELU_N1_TO_1))}

    def input(self, shape: Shape) -> None:
        """A further input of the network."""
        quantization = self.quantization(self.factor(3) / self.spread)
        self.tensors.append(Tensor(self.network.input(shape, quantization, self.dtype), shape, quantization))

    def constant(self, shape: Shape, quantization: Quantization) -> Tensor:
        """Random values of the activations' type."""
        limits = np.iinfo(self.dtype)
        values = self.rng.integers(limits.min, limits.max + 1, shape)
        return Tensor(self.network.constant(values, quantization, self.dtype), shape, quantization)

    def numbers(self, values: npt.ArrayLike) -> int:
        """A constant of 32 bits, such as a shape."""
        return self.network.constant(np.asarray(values))

    def write(
        self,
        name: str,
        reads: Sequence[Tensor | int],
        shapes: Sequence[Sequence[int]],
        quantization: Quantization,
        options: str | None = None,
        **values: Any,
    ) -> Tensor:
        """Add an operator with an output for each of several shapes; the first of them."""
        made = [tuple(int(extent) for extent in shape) for shape in shapes]
        if not all(0 < math.prod(shape) <= MOST_ELEMENTS for shape in made):
            raise UnfitError
        tensors = [Tensor(self.network.tensor(shape, quantization, self.dtype), shape, quantization) for shape in made]
        inputs = [one.number if isinstance(one, Tensor) else one for one in reads]
        self.network.apply(name, inputs, [tensor.number for tensor in tensors], options, **values)
        self.tensors.extend(tensors)
        return tensors[0]

    def move(
        self, name: str, x: Tensor, constants: Sequence[npt.ArrayLike], shape: Sequence[int], options: str, **how: Any
    ) -> Tensor:
        """Add an operator that moves elements of `x` as constants say."""
        return self.write(name, [x, *map(self.numbers, constants)], [shape], x.quantization, options, **how)

    def brought_to(self, tensor: Tensor, quantization: Quantization) -> Tensor:
        """The tensor with another quantization, by an operator if it has not that one."""
        if tensor.quantization == quantization:
            return tensor
        return self.write("QUANTIZE", [tensor], [tensor.shape], quantization)

    def weighted(self, x: Tensor, shape: Shape, axis: int, missing: Sequence[int]) -> tuple[list[int], Quantization]:
        """Weights for a product with `x` and biases, or what stands for `missing` ones; a quantization for its output.

        The weights have an output channel for each index along `axis`.
        """
        count, rng, level = shape[axis], self.rng, self.factor(2)
        scale = level / (x.scale * self.spread * 73 * (math.prod(shape) / count) ** 0.5)
        scales: Any = scale * 2 ** rng.uniform(-2, 2, count) if self.chance(0.7) else scale
        values = rng.integers(-127, 128, shape)
        if self.chance(0.15):
            np.moveaxis(values, axis, 0)[rng.random(count) < 0.3] = 0
        operands = [self.network.constant(values, (scales, 0), "int8", axis)]
        if self.chance(0.75):
            biases = np.rint(rng.normal(0, level, count) / (scales * x.scale))
            dtype = "int32" if self.dtype == "int8" else self.draw(("int64", "int64", "int32"))
            operands.append(self.network.constant(biases, (np.asarray(scales) * x.scale, 0), dtype))
        else:
            operands.extend(missing)
        return operands, self.quantization(level / self.spread * self.factor())
