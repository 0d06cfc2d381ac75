"""Inputs and outputs of another type or layout than the model file has, for a reference that runs the file.

Written in NumPy from what the integers of a tensor stand for, not with the passes that change the network.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from match.frontend.model import Model, ModelTensor, Rounding

Array = npt.NDArray[Any]
Run = Callable[[list[Array]], list[Array]]
"""The outputs for one sample of the inputs, both in the network's order."""


def adapted(model: Model, original: Model, run: Run) -> Run:
    """`run` computes `original` and what is returned `model`, which differs in types and layouts of its tensors."""

    def outside(inputs: list[Array]) -> list[Array]:
        outputs = run(
            [
                np.ascontiguousarray(converted(_laid(array, given, own), given, own, model.rounding))
                for array, given, own in zip(inputs, model.inputs, original.inputs, strict=True)
            ]
        )
        return [
            converted(array, own, given, model.rounding)
            for array, own, given in zip(outputs, original.outputs, model.outputs, strict=True)
        ]

    return outside


def in_steps(model: Model, original: Model, run: Run) -> Run:
    """`run` computes `original`, and what is returned `model`, which keeps some outputs for the next inference."""
    added = model.states[len(original.states) :]
    held = {state.tensor.name: state.initial for state in added}

    def step(inputs: list[Array]) -> list[Array]:
        given = held | {tensor.name: array for tensor, array in zip(model.inputs, inputs, strict=True)}
        found = run([given[tensor.name] for tensor in original.inputs])
        outputs = {tensor.name: array for tensor, array in zip(original.outputs, found, strict=True)}
        for state in added:
            held[state.tensor.name] = outputs[state.output].reshape(state.tensor.shape)
        return [outputs[tensor.name] for tensor in model.outputs]

    return step


def of_batch(model: Model, run: Run) -> Run:
    """`run` computes a batch, and what is returned one sample: it is every sample of the batch."""

    def one(inputs: list[Array]) -> list[Array]:
        return [output[:1] for output in run([np.repeat(array, model.batch, axis=0) for array in inputs])]

    return one


def converted(array: Array, source: ModelTensor, target: ModelTensor, rounding: Rounding) -> Array:
    """The same real numbers in the type of `target`, as near as it has them; ties as the reference rounds them."""
    if source.dtype == target.dtype:
        return array
    if target.dtype == "float32":
        assert source.quantization, "integers that are converted have a scale"
        integers = array.astype(np.int32) - source.quantization.zero_point
        return integers.astype(np.float32) * np.float32(source.quantization.scale)
    assert target.quantization, "integers that are converted have a scale"
    if source.dtype == "float32":
        steps = array / np.float32(target.quantization.scale)
        even = rounding is Rounding.ONNXRUNTIME
        rounded = np.rint(steps) if even else np.trunc(steps + np.copysign(np.float32(0.5), steps))
    else:
        assert source.quantization, "integers that are converted have a scale"
        rounded = array.astype(np.int32) - source.quantization.zero_point
    limits = np.iinfo(target.dtype)
    return np.clip(rounded + target.quantization.zero_point, limits.min, limits.max).astype(target.dtype)


def _laid(array: Array, source: ModelTensor, target: ModelTensor) -> Array:
    """With the axes in the order of `target`."""
    if source.layout == target.layout:
        return array
    return array.transpose([source.layout.index(axis) for axis in target.layout])
