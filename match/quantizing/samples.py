"""Data to calibrate and to measure with: from an .npz file, folders of arrays or images, or Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from match.errors import InputError
from match.files import npz
from match.files.labels import read_array, read_labels
from match.files.npz import LABELS
from match.quantizing.libraries import library
from match.quantizing.tensor import Tensor
from match.target.arguments import is_a, path_of, shown

Array = npt.NDArray[Any]

_IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp")
_CHANNELS = (1, 3)


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs by name, each with an axis of samples in front, and the class of each sample, if that is known."""

    inputs: Mapping[str, Array]
    labels: Array | None = None

    @property
    def count(self) -> int:
        """How many there are."""
        return len(next(iter(self.inputs.values())))

    def spread(self, most: int) -> Samples:
        """At most so many of them, evenly spread: files are often sorted by class."""
        if self.count <= most:
            return self
        places = np.arange(most) * self.count // most
        labels = None if self.labels is None else self.labels[places]
        return Samples({name: array[places] for name, array in self.inputs.items()}, labels)


@dataclass(frozen=True)
class Pixels:
    """How pixels become numbers: from 0 to 1, less `mean`, divided by `std`; a number for each channel, or one."""

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)


def read_samples(
    data: Any, inputs: Sequence[Tensor], labels: Any = None, pixels: Pixels | None = None, what: str = "the data"
) -> Samples:
    """Samples for a model's inputs.

    Args:
        data: the path of an .npz file or of a folder, an array, a mapping of arrays, or an iterable of samples.
        inputs: of the model.
        labels: the name of an array in the file, a path, or an array; none: what the file calls "labels", if anything.
        pixels: how images become numbers; none: from 0 to 1.
        what: the data is, at the beginning of an error.

    Raises:
        InputError: there are none, or they do not fit the model.
        ToolchainError: Pillow is not installed, and there are images.
    """
    own: Array | None = None
    if isinstance(data, str | PathLike):
        path = path_of(cast("str | PathLike[str]", data), what)
        arrays, own = _from_path(path, inputs, labels, pixels or Pixels())
        what = str(path)
    else:
        arrays = _from_python(data, inputs, what)
        if isinstance(labels, str) and labels in arrays:
            own = arrays.pop(labels)
        elif labels is None and LABELS in arrays and not any(tensor.name == LABELS for tensor in inputs):
            own = arrays.pop(LABELS)
    found = _checked(arrays, inputs, what)
    if labels is not None and own is None:
        own = _labels(labels, what)
    count = len(next(iter(found.values())))
    return Samples(found, None if own is None else _classes(own, count, what))


def _from_path(
    path: Path, inputs: Sequence[Tensor], labels: Any, pixels: Pixels
) -> tuple[dict[str, Array], Array | None]:
    if path.is_dir():
        return _folder(path, inputs, pixels), None
    if path.suffix.lower() == ".npy":
        return {_only(inputs, path).name: read_array(path)}, None
    arrays = npz.read(path)
    name = labels if isinstance(labels, str) and labels in arrays else LABELS
    own = [tensor.name for tensor in inputs]
    beside = None if name in own or (labels is not None and name != labels) else arrays.pop(name, None)
    return npz.by_input(arrays, own), beside


def _folder(path: Path, inputs: Sequence[Tensor], pixels: Pixels) -> dict[str, Array]:
    """A file for each sample; with several inputs, a folder of these for each, called as it is."""
    folders = {tensor.name: path / tensor.name for tensor in inputs}
    if not all(folder.is_dir() for folder in folders.values()):
        folders = {_only(inputs, path).name: path}
    shapes = {tensor.name: tensor for tensor in inputs}
    return {name: _files(folder, shapes[name], pixels) for name, folder in folders.items()}


def _files(folder: Path, tensor: Tensor, pixels: Pixels) -> Array:
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in (".npy", *_IMAGES))
    if not files:
        raise InputError(
            f"{folder} has no samples; put .npy arrays or images ({', '.join(_IMAGES[:3])}, ...) there, one for each."
        )
    kinds = {file.suffix.lower() == ".npy" for file in files}
    if len(kinds) > 1:
        raise InputError(f"{folder} has .npy arrays and images; give one kind of samples.")
    if kinds == {True}:
        arrays = [read_array(file) for file in files]
        shapes = {array.shape for array in arrays}
        if len(shapes) > 1:
            raise InputError(
                f"{folder} has arrays of the shapes {' and '.join(str(list(each)) for each in sorted(shapes)[:2])}; "
                f"give {list(tensor.shape)} for each sample."
            )
        return np.stack(arrays)
    return np.stack([_image(file, tensor, pixels) for file in files])


def _image(file: Path, tensor: Tensor, pixels: Pixels) -> Array:
    """An image as an input of the model, in its size and layout."""
    images = library("PIL.Image", "pillow")
    shape = tensor.shape[1:]
    first = len(shape) == 3 and shape[0] in _CHANNELS
    if len(shape) != 3 or not (first or shape[-1] in _CHANNELS):
        raise InputError(
            f"images are for inputs with three axes and 1 or 3 channels, and {tensor.name} is {list(tensor.shape)}; "
            "give arrays."
        )
    channels, rows, columns = shape if first else (shape[2], *shape[:2])
    try:
        with images.open(file) as opened:
            image = opened.convert("RGB" if channels == 3 else "L").resize((columns, rows))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} is no image that Pillow reads; remove it or convert it.") from error
    values: Array = np.asarray(image, np.float32).reshape(rows, columns, channels) / 255
    for numbers, name in ((pixels.mean, "mean"), (pixels.std, "std")):
        if len(numbers) not in (1, channels):
            raise InputError(f"the {name} has {len(numbers)} numbers for {channels} channels; give one for each.")
    values = (values - np.asarray(pixels.mean, np.float32)) / np.asarray(pixels.std, np.float32)
    return (values.transpose(2, 0, 1) if first else values).reshape(tensor.shape).astype(tensor.dtype)


def _from_python(data: Any, inputs: Sequence[Tensor], what: str) -> dict[str, Array]:
    if isinstance(data, np.ndarray):
        return {_only(inputs, what).name: cast("Array", data)}
    if is_a(data, Mapping):
        return {str(name): np.asarray(array) for name, array in cast("Mapping[Any, Any]", data).items()}
    if data is None or not isinstance(data, Iterable):
        raise InputError(
            f"{what} is {shown(data)}; give the path of an .npz file or a folder, arrays, or an iterable of samples."
        )
    each = list(_each(cast("Iterable[Any]", data), inputs, what))
    if not each:
        raise InputError(f"{what} has no samples; give some.")
    if len({frozenset(sample) for sample in each}) > 1:
        raise InputError(f"the samples of {what} have different names; give each all of the model's inputs.")
    shapes = {tensor.name: tensor.shape for tensor in inputs}
    gathered: dict[str, Array] = {}
    for name in each[0]:
        arrays = [sample[name] for sample in each]
        if any(array.shape != arrays[0].shape for array in arrays):
            raise InputError(f"the samples of {what} have different shapes; give {list(shapes.get(name, ()))} each.")
        gathered[name] = np.stack(arrays)
    return gathered


def _each(data: Iterable[Any], inputs: Sequence[Tensor], what: str) -> Iterator[dict[str, Array]]:
    """Each sample by the names of inputs; what is no mapping is the only input."""
    for sample in data:
        if isinstance(sample, Mapping):
            named = cast("Mapping[Any, Any]", sample)
            yield {str(name): np.asarray(array) for name, array in named.items()}
        else:
            yield {_only(inputs, what).name: np.asarray(sample)}


def _only(inputs: Sequence[Tensor], what: object) -> Tensor:
    if len(inputs) != 1:
        names = ", ".join(tensor.name for tensor in inputs)
        raise InputError(f"{what} has samples without a name, and the model has the inputs {names}; give them by name.")
    return inputs[0]


def _checked(arrays: Mapping[str, Array], inputs: Sequence[Tensor], what: str) -> dict[str, Array]:
    """Arrays with an axis of samples in front of the shape of each input."""
    expected = ", ".join(f"{each.name} {each.dtype} {list(each.shape)}" for each in inputs)
    if set(arrays) != {tensor.name for tensor in inputs}:
        given = ", ".join(arrays) or "nothing"
        raise InputError(f"{what} has {given}; the model takes: {expected} (and labels beside it).")
    found: dict[str, Array] = {}
    for tensor in inputs:
        array = arrays[tensor.name]
        shaped = _shaped(array, tensor.shape)
        if shaped is None or not array.size:
            raise InputError(
                f"{what} has {tensor.name} of shape {list(array.shape)}; the model takes: {expected}, several samples "
                "along the first axis if that is 1 or along one more axis in front."
            )
        if array.dtype.kind not in "fiu" or (np.dtype(tensor.dtype).kind != "f" and array.dtype.kind == "f"):
            raise InputError(f"{what} has {tensor.name} of type {array.dtype}; the model takes: {expected}.")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"{what} has values in {tensor.name} that are no numbers (NaN or infinite); remove them.")
        found[tensor.name] = np.ascontiguousarray(shaped, tensor.dtype)
    counts = {name: len(array) for name, array in found.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{count} of {name}" for name, count in counts.items())
        raise InputError(f"{what} has different numbers of samples ({listed}); give as many of each.")
    return found


def _shaped(array: Array, shape: tuple[int, ...]) -> Array | None:
    """With an axis of samples in front; None where an array is no sample or several of a shape."""
    if array.shape == shape:
        return array[None]
    if array.shape[1:] == shape:
        return array
    if shape[:1] == (1,) and array.shape[1:] == shape[1:]:
        return array.reshape(len(array), *shape)
    return array[None].reshape(1, *shape) if shape[:1] == (1,) and array.shape == shape[1:] else None


def _labels(labels: Any, what: str) -> Array:
    """Labels from a file, or as they are given."""
    if not isinstance(labels, str | PathLike):
        return np.asarray(labels)
    path = path_of(cast("str | PathLike[str]", labels), "labels")
    if not path.is_file():
        raise InputError(
            f"{what} has no array {str(path)!r}, and there is no such file; give labels as the name of an array of an "
            ".npz file, or as a file."
        )
    return read_labels(path)


def _classes(labels: Array, count: int, what: str) -> Array:
    classes = labels.reshape(-1)
    if classes.dtype.kind not in "iu" or labels.size != max(labels.shape, default=1):
        raise InputError(f"labels of {what} are {labels.dtype} {list(labels.shape)}; give each sample a whole number.")
    if len(classes) != count:
        raise InputError(f"there are {len(classes)} labels for the {count} samples of {what}; give each sample one.")
    if len(classes) and classes.min() < 0:
        raise InputError(f"labels of {what} have {classes.min()}; give whole numbers from 0.")
    return classes.astype(np.int64)
