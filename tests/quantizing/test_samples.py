"""Data in every form that is taken, and the sentence for every form that is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from match.errors import InputError
from match.quantizing.samples import Pixels, Samples, read_samples
from match.quantizing.tensor import Tensor

pytestmark = pytest.mark.unit

ONE = (Tensor("x", (1, 2, 3), "float32"),)
TWO = (Tensor("a", (1, 2), "float32"), Tensor("b", (1, 3), "int32"))
VALUES = np.arange(24, dtype=np.float32).reshape(4, 1, 2, 3)


def npz(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "data.npz", **arrays)
    return folder / "data.npz"


def folder_of(folder: Path, arrays: Any) -> Path:
    folder.mkdir(parents=True)
    for index, array in enumerate(arrays):
        np.save(folder / f"{index:03}.npy", array)
    return folder


@pytest.mark.parametrize("shape", [(4, 1, 2, 3), (4, 2, 3)])
def test_arrays_with_and_without_the_batch(tmp_path: Path, shape: tuple[int, ...]) -> None:
    values = VALUES.reshape(shape)
    single = values[0]
    for data in (npz(tmp_path, x=values), values, {"x": values}, list(values), ({"x": each} for each in values)):
        assert np.array_equal(read_samples(data, ONE).inputs["x"], VALUES)
    assert np.array_equal(read_samples(folder_of(tmp_path / "each", values), ONE).inputs["x"], VALUES)
    assert np.array_equal(read_samples({"x": single}, ONE).inputs["x"], VALUES[:1])
    np.save(tmp_path / "all.npy", values)
    assert np.array_equal(read_samples(tmp_path / "all.npy", ONE).inputs["x"], VALUES)


def test_integers_become_the_inputs_type(tmp_path: Path) -> None:
    read = read_samples(npz(tmp_path, x=VALUES.astype(np.uint8)), ONE).inputs["x"]
    assert read.dtype == np.float32
    assert np.array_equal(read, VALUES)


def test_several_inputs(tmp_path: Path) -> None:
    a, b = np.ones((5, 2), np.float32), np.arange(15, dtype=np.int32).reshape(5, 3)
    folder_of(tmp_path / "all" / "a", a)
    folder_of(tmp_path / "all" / "b", b)
    for data in (
        npz(tmp_path, a=a, b=b),
        tmp_path / "all",
        [{"a": one, "b": two} for one, two in zip(a, b, strict=True)],
    ):
        read = read_samples(data, TWO)
        assert read.count == 5
        assert np.array_equal(read.inputs["b"], b[:, None])


@pytest.mark.parametrize("shape", [(1, 3, 4, 6), (1, 4, 6, 3), (1, 1, 4, 6), (1, 4, 6, 1)])
def test_images_in_the_inputs_layout(tmp_path: Path, shape: tuple[int, ...]) -> None:
    image = pytest.importorskip("PIL.Image")
    first = shape[1] in (1, 3)
    channels = shape[1] if first else shape[3]
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, channels), np.uint8)
    image.fromarray(pixels if channels == 3 else pixels[:, :, 0]).save(tmp_path / "one.png")
    mean, std = (0.5, 0.25, 0.125)[:channels], (0.5, 1.0, 2.0)[:channels]
    read = read_samples(tmp_path, (Tensor("x", shape, "float32"),), None, Pixels(mean, std)).inputs["x"]
    expected = (pixels / 255 - mean) / std
    assert np.allclose(read[0, 0], expected.transpose(2, 0, 1) if first else expected, atol=1e-6)


def test_images_are_scaled_to_the_inputs_size(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (40, 20), (255, 0, 51)).save(tmp_path / "one.jpg", quality=100)
    read = read_samples(tmp_path, (Tensor("x", (1, 3, 5, 5), "float32"),)).inputs["x"]
    assert read.shape == (1, 1, 3, 5, 5)
    assert np.allclose(read[0, 0, :, 2, 2], [1, 0, 0.2], atol=0.02)


@pytest.mark.parametrize("name", ["labels.npy", "labels.npz", "labels.txt", "labels.csv", None, "classes"])
def test_labels(tmp_path: Path, name: str | None) -> None:
    classes = np.array([3, 0, 2, 1])
    file = tmp_path / (name or "")
    arrays = {"x": VALUES}
    match name:
        case "labels.npy":
            np.save(file, classes)
        case "labels.npz":
            np.savez(file, labels=classes)
        case "labels.txt":
            file.write_text("3\n0\n2\n1\n")
        case "labels.csv":
            file.write_text("3,0,2,1\n")
        case _:
            arrays[name or "labels"] = classes
    given = name if name in (None, "classes") else file
    read = read_samples(npz(tmp_path, **arrays), ONE, given)
    assert read.labels is not None
    assert np.array_equal(read.labels, classes)
    read = read_samples(
        {"x": VALUES, **({"labels": classes} if name is None else {})}, ONE, given if name is None else classes
    )
    assert read.labels is not None
    assert np.array_equal(read.labels, classes)


def test_samples_are_evenly_spread() -> None:
    spread = Samples({"x": np.arange(10)}, np.arange(10)).spread(4)
    assert spread.inputs["x"].tolist() == [0, 2, 5, 7]
    assert spread.labels is not None
    assert spread.labels.tolist() == [0, 2, 5, 7]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (None, "the data is None; give the path"),
        (7, "the data is 7; give the path"),
        ([], "the data has no samples; give some"),
        ({}, "the data has nothing; the model takes: x float32"),
        ({"z": VALUES}, "the data has z; the model takes: x float32 [1, 2, 3]"),
        ({"x": VALUES, "more": VALUES}, "the data has x, more; the model takes"),
        ({"x": VALUES[:, :, :1]}, "the data has x of shape [4, 1, 1, 3]; the model takes"),
        ({"x": VALUES[:0]}, "the data has x of shape [0, 1, 2, 3]; the model takes"),
        ({"x": np.array(["a"])}, "the data has x of shape [1]; the model takes"),
        ({"x": VALUES.astype(str)}, "the data has x of type <U32; the model takes"),
        ({"x": VALUES * np.nan}, "the data has values in x that are no numbers"),
        ([VALUES[0], VALUES[0, 0]], "the samples of the data have different shapes; give [1, 2, 3] each"),
        ([{"x": VALUES[0]}, {"y": VALUES[0]}], "the samples of the data have different names"),
    ],
)
def test_data_that_does_not_fit(data: Any, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        read_samples(data, ONE)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (np.zeros(3, int), "there are 3 labels for the 4 samples of the data"),
        (np.zeros(4), "labels of the data are float64 [4]; give each sample a whole number"),
        (np.zeros((2, 2), int), "labels of the data are int64 [2, 2]; give each sample a whole number"),
        (np.array([0, 1, -1, 2]), "labels of the data have -1; give whole numbers from 0"),
        ("nowhere", "the data has no array 'nowhere', and there is no such file"),
    ],
)
def test_labels_that_do_not_fit(labels: Any, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        read_samples({"x": VALUES}, ONE, labels)
    assert str(raised.value).startswith(sentence)


def test_files_that_are_none(tmp_path: Path) -> None:
    def sentence(data: Any, inputs: tuple[Tensor, ...] = ONE, labels: Any = None) -> str:
        with pytest.raises(InputError) as raised:
            read_samples(data, inputs, labels)
        return str(raised.value).replace(str(tmp_path), "")

    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    (tmp_path / "bad.txt").write_text("one\ntwo\n")
    mixed = folder_of(tmp_path / "mixed", VALUES)
    (mixed / "one.png").write_bytes(b"")
    uneven = folder_of(tmp_path / "uneven", [VALUES[0], VALUES])
    broken = folder_of(tmp_path / "broken", VALUES)
    (broken / "001.npy").write_bytes(b"nothing")
    assert sentence(tmp_path / "missing.npz").startswith("cannot read tensors from /missing.npz")
    assert sentence(tmp_path / "bad.npz").startswith("/bad.npz is not an .npz file")
    assert sentence(tmp_path / "empty").startswith("/empty has no samples; put .npy arrays or images")
    assert sentence(mixed).startswith("/mixed has .npy arrays and images")
    assert sentence(uneven).startswith("/uneven has arrays of the shapes")
    assert sentence(broken).startswith("/broken/001.npy is not an .npy file")
    assert "has samples without a name, and the model has the inputs a, b" in sentence(mixed, TWO)
    assert sentence(npz(tmp_path, a=np.ones((2, 2)), b=np.ones((3, 3), np.int32)), TWO).endswith(
        "has different numbers of samples (2 of a, 3 of b); give as many of each."
    )
    assert sentence({"x": VALUES}, ONE, tmp_path / "bad.txt").startswith("/bad.txt is no list of classes")
    assert "images are for inputs with three axes" in _image_sentence(tmp_path / "images")


def _image_sentence(folder: Path) -> str:
    image = pytest.importorskip("PIL.Image")
    folder.mkdir()
    image.new("L", (2, 2)).save(folder / "one.png")
    with pytest.raises(InputError) as raised:
        read_samples(folder, ONE)
    (folder / "one.png").write_bytes(b"nothing")
    with pytest.raises(InputError, match="is no image that Pillow reads"):
        read_samples(folder, (Tensor("x", (1, 1, 2, 2), "float32"),))
    return str(raised.value)
