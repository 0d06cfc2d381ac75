"""Sixty ways to be wrong: each is one sentence that names what is wrong, status 2, and nothing half-written."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.devtools.demo import INPUT
from match.interrupt.watch import INTERRUPTED, MESSAGE
from tests.cli.conftest import DIGITS, Command

pytestmark = pytest.mark.cc


@dataclass(frozen=True)
class Place:
    """A folder with what a case is given, and a compiled project in it, which every case may spoil."""

    folder: Path
    project: Path

    def given(self, name: str, content: bytes) -> Path:
        """A file of some content."""
        path = self.folder / name
        path.write_bytes(content)
        return path

    def changed(self, name: str, change: Callable[[onnx.ModelProto], None]) -> Path:
        """The demo's network with something else in it."""
        model = onnx.load(DIGITS)
        change(model)
        return self.given(name, model.SerializeToString())

    def tensors(self, **arrays: np.ndarray) -> Path:
        """A file of tensors."""
        path = self.folder / "x.npz"
        np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]
        return path

    def edited(self, name: str, change: Callable[[dict], object]) -> Path:
        """The project with something else in one of its JSON files."""
        path = self.project / name
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))
        return self.project


@pytest.fixture
def place(project: Path, tmp_path: Path) -> Place:
    copy = shutil.copytree(project, tmp_path / "project", ignore=shutil.ignore_patterns("build"))
    return Place(tmp_path, copy)


IMAGE = np.zeros((1, 1, 16, 16), np.float32)
Line = list[str | Path]


def compiling(model: Path | str, *options: str | Path) -> Line:
    return ["compile", model, "-o", "out", *options]


def of_floats_and_an_open_width(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[3].dim_param = "width"
    model.graph.output[0].type.tensor_type.ClearField("shape")
    del model.graph.node[:], model.graph.value_info[:]
    model.graph.node.append(helper.make_node("Det", [INPUT], [model.graph.output[0].name]))


def without_outputs(model: onnx.ModelProto) -> None:
    del model.graph.output[:]


def of_doubles(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE


def without_weights(model: onnx.ModelProto) -> None:
    del model.graph.initializer[:]


def of_a_future_version(model: onnx.ModelProto) -> None:
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", 999))


def with_outside_weights(model: onnx.ModelProto) -> None:
    tensor = model.graph.initializer[0]
    tensor.data_location = TensorProto.EXTERNAL
    tensor.ClearField("raw_data")
    tensor.external_data.append(onnx.StringStringEntryProto(key="location", value="gone.bin"))


def with_an_unknown_input(model: onnx.ModelProto) -> None:
    model.graph.node[0].input[0] = "nowhere"


def first(model: onnx.ModelProto, kind: str) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.op_type == kind)


def with_constant(
    kind: str, position: int, value: object, dtype: type = np.float32
) -> Callable[[onnx.ModelProto], None]:
    """Another constant as an input of the first operator of a kind."""

    def change(model: onnx.ModelProto) -> None:
        name = first(model, kind).input[position]
        tensor = next(tensor for tensor in model.graph.initializer if tensor.name == name)
        tensor.CopyFrom(numpy_helper.from_array(np.asarray(value, dtype), name))

    return change


def with_attribute(name: str, *values: int) -> Callable[[onnx.ModelProto], None]:
    """Another attribute of the first convolution."""

    def change(model: onnx.ModelProto) -> None:
        attribute = next(attribute for attribute in first(model, "Conv").attribute if attribute.name == name)
        attribute.ints[:] = values

    return change


def in_a_circle(model: onnx.ModelProto) -> None:
    model.graph.node[0].input[0] = model.graph.node[-1].output[0]


def with_an_input_twice(model: onnx.ModelProto) -> None:
    model.graph.input.append(model.graph.input[0])


def with_a_tensor_of_two(model: onnx.ModelProto) -> None:
    model.graph.node[3].output[0] = model.graph.node[2].output[0]


def without_operators(model: onnx.ModelProto) -> None:
    del model.graph.node[:]


def of_no_rows(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 0


def of_strings(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING


def with_a_zero_point_of_another_type(model: onnx.ModelProto) -> None:
    del first(model, "QuantizeLinear").input[2:]


def with_a_byte_less(model: onnx.ModelProto) -> None:
    tensor = next(tensor for tensor in model.graph.initializer if len(tensor.raw_data) > 4)
    tensor.raw_data = tensor.raw_data[:-1]


def link(place: Place, name: str) -> str:
    """A symbolic link to itself."""
    (place.folder / name).symlink_to(name)
    return name


def labelled(place: Place, labels: object) -> Line:
    given = place.tensors(**{INPUT: np.zeros((2, *IMAGE.shape), np.float32), "labels": np.array(labels)})
    return ["validate", place.project, "--against", DIGITS, "--input", given]


CASES: dict[str, tuple[Callable[[Place], Line], list[str]]] = {
    "a TFLite file of another format": (
        lambda p: compiling(p.given("x.tflite", b"\x1c\x00\x00\x00TFL9" + bytes(64))),
        ["x.tflite"],
    ),
    "zeros for a TFLite file": (lambda p: compiling(p.given("x.tflite", bytes(4096))), ["x.tflite"]),
    "an empty TFLite file": (lambda p: compiling(p.given("x.tflite", b"")), ["x.tflite is empty"]),
    "an empty ONNX file": (lambda p: compiling(p.given("x.onnx", b"")), ["x.onnx is empty"]),
    "a name in an ONNX file that is no text": (
        lambda p: compiling(p.given("x.onnx", DIGITS.read_bytes().replace(b"conv_0", b"conv\xff0"))),
        ["x.onnx is truncated or corrupt"],
    ),
    "a Keras model": (
        lambda p: compiling(p.given("x.h5", b"\x89HDF\r\n\x1a\n")),
        ["x.h5", "Keras", "batch of 1", "from_keras_model"],
    ),
    "a PyTorch model": (lambda p: compiling(p.given("x.pth", b"\x80\x02")), ["x.pth", "PyTorch", "match quantize"]),
    "a folder for a model": (lambda p: compiling(p.project), ["directory", ".tflite or .onnx"]),
    "a float model of an open width": (
        lambda p: compiling(p.changed("x.onnx", of_floats_and_an_open_width)),
        ["x.onnx", "dynamic shape", "float model", "uses Det, which"],
    ),
    "an archive for an ONNX file": (lambda p: compiling(p.given("x.onnx", b"PK\x03\x04" + bytes(99))), ["x.onnx"]),
    "an ONNX file without outputs": (lambda p: compiling(p.changed("x.onnx", without_outputs)), ["x.onnx"]),
    "an ONNX file of doubles": (lambda p: compiling(p.changed("x.onnx", of_doubles)), ["x.onnx"]),
    "an ONNX file without weights": (lambda p: compiling(p.changed("x.onnx", without_weights)), ["x.onnx"]),
    "an ONNX file of a future version": (lambda p: compiling(p.changed("x.onnx", of_a_future_version)), ["x.onnx"]),
    "weights in a file that is gone": (lambda p: compiling(p.changed("x.onnx", with_outside_weights)), ["gone.bin"]),
    "an operator that reads nothing": (lambda p: compiling(p.changed("x.onnx", with_an_unknown_input)), ["nowhere"]),
    "a name that is no identifier": (lambda p: compiling(DIGITS, "--name", "my-net"), ["'my-net'", "lower-case"]),
    "a name that begins with a digit": (lambda p: compiling(DIGITS, "--name", "3d"), ["'3d'", "a letter first"]),
    "a name that is empty": (lambda p: compiling(DIGITS, "--name", ""), ["''"]),
    "an input type that is unknown": (lambda p: compiling(DIGITS, "--input-type", "int4"), ["int4", "int8"]),
    "an output type that is unknown": (lambda p: compiling(DIGITS, "--output-type", "bool"), ["bool", "uint8"]),
    "a layout that is unknown": (lambda p: compiling(DIGITS, "--input-layout", "chwn"), ["chwn", "nhwc"]),
    "a target in a typo": (lambda p: compiling(DIGITS, "--target", "GAP-99"), ["GAP-99", "did you mean 'gap9'?"]),
    "a target that is a path": (lambda p: compiling(DIGITS, "--target", "./gap9.py"), ["./gap9.py", "installed"]),
    "a size in another unit": (lambda p: compiling(DIGITS, "--l1", "64g"), ["'64g'", "64k"]),
    "a word and silence": (lambda p: compiling(DIGITS, "-q", "-v"), ["--quiet", "--verbose", "leave one out"]),
    "a list in another format": (lambda p: compiling(DIGITS, "--csv", "layers.xlsx"), ["layers.xlsx", ".csv"]),
    "a list in a missing folder": (lambda p: compiling(DIGITS, "--csv", "gone/layers.csv"), ["gone/layers.csv"]),
    "a project in a file": (
        lambda p: ["compile", DIGITS, "-o", p.given("taken", b"") / "out"],
        ["taken"],
    ),
    "a manifest that is no JSON": (
        lambda p: ["run", p.given("project/project.json", b"{").parent],
        ["project"],
    ),
    "a manifest of another kind": (
        lambda p: ["run", p.edited("project.json", lambda d: d.update(inputs="none"))],
        ["project"],
    ),
    "labels without an axis": (
        lambda p: ["validate", p.project, "--against", DIGITS, "--input", p.tensors(image=IMAGE, labels=np.array("a"))],
        ["labels"],
    ),
    "another model to compare with": (
        lambda p: [
            "validate",
            p.project,
            "--against",
            p.changed("x.onnx", lambda m: setattr(m, "producer_name", "another")),
        ],
        ["x.onnx", "is not the model"],
    ),
    "no samples": (lambda p: ["validate", p.project, "--against", DIGITS, "--samples", "0"], ["--samples"]),
    "inputs of numbers that are none": (
        lambda p: ["run", p.project, "--input", p.tensors(**{INPUT: np.array([["a", "b"]])})],
        [INPUT],
    ),
    "an image of objects": (
        lambda p: ["run", p.project, "--input", p.tensors(**{INPUT: np.array([{}], object)})],
        ["x.npz"],
    ),
    "a report of another version": (
        lambda p: ["compare", p.edited("report.json", lambda d: d.update(schema_version=99)), DIGITS.parent],
        ["report.json"],
    ),
    "a size beside a damaged report": (  # nothing is built before it is told
        lambda p: ["size", p.edited("report.json", lambda d: d.update(schema_version=99))],
        ["report.json"],
    ),
    "a run that counts beside a damaged report": (
        lambda p: ["run", p.edited("report.json", lambda d: d.update(schema_version=99)), "--on", "qemu"],
        ["report.json"],
    ),
    "a comparison with a model": (lambda p: ["compare", p.project, DIGITS], ["digits.onnx"]),
    "a network of no width": (lambda p: ["zoo", "mobilenet_v1-0-96"], ["width", "0.0"]),
    "a target's package in a typo": (lambda p: ["new-target", "my chip"], ["'my chip'"]),
    "operators in a circle": (lambda p: compiling(p.changed("x.onnx", in_a_circle)), ["x.onnx", "'scores'"]),
    "two inputs with one name": (lambda p: compiling(p.changed("x.onnx", with_an_input_twice)), ["x.onnx", INPUT]),
    "a tensor of two operators": (lambda p: compiling(p.changed("x.onnx", with_a_tensor_of_two)), ["x.onnx"]),
    "no operators": (lambda p: compiling(p.changed("x.onnx", without_operators)), ["x.onnx", "scores"]),
    "an image of no rows": (lambda p: compiling(p.changed("x.onnx", of_no_rows)), ["x.onnx", INPUT]),
    "an image of strings": (lambda p: compiling(p.changed("x.onnx", of_strings)), ["x.onnx", INPUT, "string"]),
    "weights that lack a byte": (
        lambda p: compiling(p.changed("x.onnx", with_a_byte_less)),
        ["x.onnx", "cannot be read"],
    ),
    "a zero point of another type": (
        lambda p: compiling(p.changed("x.onnx", with_a_zero_point_of_another_type)),
        ["x.onnx", "DequantizeLinear", "zero_point"],
    ),
    "weights whose scale is no number": (
        lambda p: compiling(p.changed("x.onnx", with_constant("DequantizeLinear", 1, np.nan))),
        ["x.onnx", "DequantizeLinear", "nan"],
    ),
    "an activation of three scales": (
        lambda p: compiling(p.changed("x.onnx", with_constant("QuantizeLinear", 1, [1, 2, 3]))),
        ["x.onnx", "[3] along axis 1", "QuantizeLinear"],
    ),
    "a zero point in floating point": (
        lambda p: compiling(p.changed("x.onnx", with_constant("QuantizeLinear", 2, 0))),
        ["x.onnx", "zero_point", "float"],
    ),
    "strides of 0": (lambda p: compiling(p.changed("x.onnx", with_attribute("strides", 0, 0))), ["conv_0", "strides"]),
    "padding below 0": (
        lambda p: compiling(p.changed("x.onnx", with_attribute("pads", -9, -9, -9, -9))),
        ["conv_0", "pads"],
    ),
    "a filter of another size": (
        lambda p: compiling(p.changed("x.onnx", with_attribute("kernel_shape", 5, 5))),
        ["x.onnx", "conv_0"],
    ),
    "a link to itself for a model": (lambda p: compiling(link(p, "x.onnx")), ["x.onnx", "symbolic links"]),
    "a link to itself for a project": (lambda p: ["compile", DIGITS, "-o", link(p, "x")], ["x", "symbolic links"]),
    "a model whose name is no text": (lambda p: compiling(os.fsdecode(b"x\xff.onnx")), ["'x\\udcff.onnx'", "UTF-8"]),
    "a project whose name is no text": (lambda p: ["compile", DIGITS, "-o", os.fsdecode(b"\xff")], ["UTF-8"]),
    "two pictures in one file": (
        lambda p: compiling(DIGITS, "--timeline", "x.svg", "--memory-map", "x.svg"),
        ["--timeline", "--memory-map", "x.svg"],
    ),
    "a timeline in a folder": (lambda p: compiling(DIGITS, "--timeline", p.given("t", b"").parent), [".json or .svg"]),
    "a size below 0": (lambda p: compiling(DIGITS, "--l1", "-4k"), ["--l1", "-4k"]),
    "a size of no unit": (lambda p: compiling(DIGITS, "--l2", "64q"), ["--l2", "64q"]),
    "labels for one of two": (lambda p: labelled(p, [3]), ["labels", "[1]", "2 samples"]),
    "labels that are no classes": (lambda p: labelled(p, [3, 10]), ["labels", "10", "from 0 to 9"]),
    "labels below 0": (lambda p: labelled(p, [-1, 3]), ["labels", "-1", "from 0 to 9"]),
    "labels in floating point": (lambda p: labelled(p, [0.5, 3]), ["labels", "float64"]),
    "a vector for each label": (lambda p: labelled(p, [[0, 1], [1, 0]]), ["labels", "[2, 2]"]),
    "one array without a name": (
        lambda p: np.save(p.folder / "x.npy", IMAGE) or ["run", p.project, "--input", "x.npy"],
        ["x.npy", "without a name"],
    ),
    "no samples in a batch": (
        lambda p: ["run", p.project, "--input", p.tensors(**{INPUT: np.zeros((0, *IMAGE.shape), np.float32)})],
        [INPUT, "[0, 1, 1, 16, 16]"],
    ),
    "a project without its model": (lambda p: ["validate", p.project], ["digits.onnx", "--against"]),
    "tensors to compare with": (lambda p: ["validate", p.project, "--against", p.tensors(x=IMAGE)], ["x.npz"]),
    "a comparison of tensors": (lambda p: ["compare", p.tensors(x=IMAGE), p.project], ["x.npz", "no report"]),
    "a network in a file of another name": (lambda p: ["zoo", "resnet8", "-o", "x.tflite"], ["x.tflite", ".onnx"]),
}


def content(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("case", CASES)
def test_one_sentence(case: str, command: Command, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    make, words = CASES[case]
    line = make(place)
    monkeypatch.chdir(place.folder)
    before = content(place.folder)
    sentence = command(*line).error
    assert all(word in sentence for word in words), sentence
    assert content(place.folder) == before


@pytest.mark.parametrize("full", ["out", "layers.csv"])
def test_a_full_disk(full: str, command: Command, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was begun goes; what was whole before stays."""
    whole = Path.write_text

    def write_text(path: Path, *arguments: object, **options: object) -> int:
        if full in str(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return whole(path, *arguments, **options)  # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.chdir(place.folder)
    monkeypatch.setattr(Path, "write_text", write_text)
    before = content(place.folder)
    sentence = command(*compiling(DIGITS, "--csv", "layers.csv")).error
    assert "No space left on device" in sentence
    left = content(place.folder)
    assert left.keys() - before.keys() <= {"layers.csv"} - {full}
    assert before.items() <= left.items()


def test_a_machine_that_is_too_small(command: Command, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.chdir(place.folder)
    monkeypatch.setattr("match.compile", exhausted)
    assert "memory" in command(*compiling(DIGITS)).error


def test_an_interrupt(command: Command, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(place.folder)
    monkeypatch.setattr("match.report.layer_rows.write_csv", interrupted)
    before = content(place.folder)
    outcome = command(*compiling(DIGITS, "--csv", "layers.csv"))
    assert (outcome.status, outcome.out, outcome.err) == (INTERRUPTED, "", f"match: {MESSAGE}\n")
    assert content(place.folder) == before
