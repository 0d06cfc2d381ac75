"""Tensors of samples as the bytes that a program reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from match.codegen.manifest import Manifest
from match.errors import InputError, OptionError, ToolchainError
from match.frontend.model import Model, ModelTensor, tensor_bytes
from match.target.arguments import is_a, whole_number

Arrays = dict[str, npt.NDArray[Any]]

_MOST_BYTES = 1 << 30
"""The most bytes of random inputs, which are all in memory at once."""

Form = Literal["sample", "samples", "batch", "batches"]
"""How a caller gives the inputs, and gets the outputs back: one sample; several samples along one more axis in front;
or several along the first axis of tensors where that is 1, and along one more axis in front of all others. Of batches
there are several, along one more axis in front of such tensors."""


@dataclass(frozen=True)
class Given:
    """A form, and how many samples there are, or how many batches of how many samples."""

    form: Form
    extents: tuple[int, ...]


def random_inputs(manifest: Manifest, seed: int) -> Arrays:
    """One sample of every input of a project: integers from all of their range, floats from 0 to 1, indices as taken.

    Raises:
        OptionError: if the seed is below 0.
    """
    return random_arrays(manifest.inputs, whole_number(seed, "the seed", 0))


def drawn(manifest: Manifest, samples: int, seed: int) -> Arrays:
    """So many samples of every input of a project, along a new first axis; each has the seed after that of the last.

    Raises:
        OptionError: if that is more than this machine may hold, or the seed is below 0.
    """
    each = tensor_bytes(manifest.inputs)
    if samples * each > _MOST_BYTES:
        raise OptionError(
            f"{samples} random samples of {each} bytes are more than this machine may hold; "
            f"{_MOST_BYTES // each} are the most."
        )
    found = [random_inputs(manifest, seed + index) for index in range(samples)]
    return {tensor.name: np.stack([sample[tensor.name] for sample in found]) for tensor in manifest.inputs}


def random_arrays(tensors: Sequence[ModelTensor], seed: int) -> Arrays:
    """One sample of some inputs, as `random_inputs` draws them."""
    rng = np.random.default_rng(seed)
    return {tensor.name: _random(tensor, rng) for tensor in tensors}


def _random(tensor: ModelTensor, rng: np.random.Generator) -> npt.NDArray[Any]:
    dtype = np.dtype(tensor.dtype)
    if tensor.indices is not None:
        return rng.integers(*tensor.indices, tensor.shape, endpoint=True).astype(dtype)
    if dtype.kind == "f":
        return rng.random(tensor.shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, tensor.shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, tensor.shape, dtype=dtype, endpoint=True)


def checked(manifest: Manifest | Model, inputs: Mapping[str, npt.NDArray[Any]]) -> tuple[Arrays, Given]:
    """Returns the inputs in the project's order, each with samples along a first axis, and how they were given.

    Raises:
        InputError: if the inputs do not match the project's tensors.
    """
    expected = ", ".join(f"{t.name} {t.dtype} {list(t.shape)}" for t in manifest.inputs)
    names = [tensor.name for tensor in manifest.inputs]
    if not is_a(inputs, Mapping):
        raise InputError(f"inputs are arrays by name, not {type(inputs).__name__}; {manifest.name} takes: {expected}.")
    if set(inputs) != set(names):
        given = ", ".join(map(str, inputs)) or "none"
        raise InputError(f"the inputs given are {given}; {manifest.name} takes: {expected}.")
    samples: Arrays = {}
    counts: list[dict[Form, tuple[int, ...]]] = []
    for tensor in manifest.inputs:
        try:
            array = np.asarray(inputs[tensor.name])
        except ValueError as error:
            raise InputError(f"input {tensor.name} is no array; {manifest.name} takes: {expected}.") from error
        counts.append(_counts(array.shape, tensor.shape))
        if not counts[-1] or array.dtype != np.dtype(tensor.dtype) or not array.size:
            raise InputError(
                f"input {tensor.name} is {array.dtype} {list(array.shape)}; {manifest.name} takes: {expected}, or "
                "several such samples, along the first axis if that is 1 or along one more axis in front."
            )
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise InputError(f"input {tensor.name} has {np.isnan(array).sum()} values that are NaN; give numbers.")
        samples[tensor.name] = array.reshape(-1, *tensor.shape)
    for form in get_args(Form):
        if None not in (numbers := {given.get(form) for given in counts}) and len(numbers) == 1:
            (extents,) = numbers
            assert extents is not None, "all inputs have this form"
            return samples, Given(form, extents)
    raise InputError(f"the inputs of {manifest.name} have different numbers of samples; give all of them as many.")


def first(manifest: Manifest, inputs: Mapping[str, npt.NDArray[Any]], samples: int | None) -> Arrays:
    """The first so many samples of some inputs, or all of them.

    Raises:
        InputError: if the inputs do not match the project's tensors, or have fewer samples.
    """
    if samples is None:
        return dict(inputs)
    found, _ = checked(manifest, inputs)
    count = len(next(iter(found.values())))
    if samples > count:
        raise InputError(f"the inputs of {manifest.name} have {count} samples, not {samples}; ask for fewer.")
    return {name: array[:samples] for name, array in found.items()}


def _counts(given: tuple[int, ...], shape: tuple[int, ...]) -> dict[Form, tuple[int, ...]]:
    """How many samples an input of a tensor's shape is, in each form that its own shape can have."""
    counts: dict[Form, tuple[int, ...]] = {}
    if given == shape:
        counts["sample"] = (1,)
    if len(given) == len(shape) + 1 and given[1:] == shape:
        counts["samples"] = counts["batch"] = given[:1]
    if len(given) == len(shape) and shape[:1] == (1,) and given[1:] == shape[1:]:
        counts["batch"] = given[:1]
    if len(given) == len(shape) + 1 and shape[:1] == (1,) and given[2:] == shape[1:]:
        counts["batches"] = given[:2]
    return counts


def returned(outputs: Arrays, given: Given) -> Arrays:
    """The outputs, which have an axis of samples in front, as the inputs were given."""

    def arranged(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if given.form == "sample":
            return array[0]
        array = array[:, 0] if given.form in ("batch", "batches") and array.shape[1:2] == (1,) else array
        return array.reshape(*given.extents, *array.shape[1:]) if given.form == "batches" else array

    return {name: arranged(array) for name, array in outputs.items()}


def interleaved(samples: Arrays) -> bytes:
    """All tensors of the first sample, all of the second, and so on."""
    count = len(next(iter(samples.values())))
    parts = [np.ascontiguousarray(array).view(np.uint8).reshape(count, -1) for array in samples.values()]
    return np.concatenate(parts, axis=1).tobytes()


def taken_apart(tensors: Sequence[ModelTensor], outputs: bytes, samples: int, what: str) -> Arrays:
    """The tensors that the program `what` wrote for so many samples, one sample after the other.

    Raises:
        ToolchainError: if it wrote more or less.
    """
    expected = samples * tensor_bytes(tensors)
    if len(outputs) != expected:
        raise ToolchainError(f"{what} wrote {len(outputs)} bytes for {samples} samples, not {expected}.")
    data = np.frombuffer(outputs, np.uint8).reshape(samples, -1)
    arrays: Arrays = {}
    start = 0
    for tensor in tensors:
        size = tensor_bytes([tensor])
        part = np.ascontiguousarray(data[:, start : start + size])
        arrays[tensor.name] = part.view(tensor.dtype).reshape(len(data), *tensor.shape)
        start += size
    return arrays
