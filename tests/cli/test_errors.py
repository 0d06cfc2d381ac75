"""Every error that a user can cause: one sentence, exit status 2, nothing left behind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.cost_models.pulp_cluster import PulpClusterCost
from match.devtools.demo import INPUT
from tests.cli.conftest import DIGITS, Command

pytestmark = pytest.mark.cc


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder; the test fails if there is anything in it afterwards but what `given` holds."""
    (tmp_path / "given").mkdir()
    yield tmp_path
    assert [path.name for path in tmp_path.iterdir()] == ["given"]


def float_model(path: Path) -> Path:
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "weight")
    node = helper.make_node("Conv", ["x", "weight"], ["y"], kernel_shape=[3, 3])
    shapes = ("x", [1, 3, 8, 8]), ("y", [1, 4, 6, 6])
    inputs, outputs = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)] for name, shape in shapes)
    graph = helper.make_graph([node], "float", inputs, outputs, [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def test_missing_file(command: Command, folder: Path) -> None:
    sentence = command("compile", folder / "missing.tflite", "-o", folder / "out").error
    assert "missing.tflite" in sentence
    assert "No such file" in sentence


def test_model_is_a_folder(command: Command, folder: Path) -> None:
    (folder / "given" / "model.onnx").mkdir()
    assert "model.onnx" in command("compile", folder / "given" / "model.onnx", "-o", folder / "out").error


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.99])
def test_truncated_tflite(command: Command, folder: Path, models_dir: Path, share: float) -> None:
    whole = (models_dir / "pretrainedResnet_quant.tflite").read_bytes()
    (folder / "given" / "cut.tflite").write_bytes(whole[: int(len(whole) * share)])
    assert "cut.tflite" in command("compile", folder / "given" / "cut.tflite", "-o", folder / "out").error


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_truncated_onnx(command: Command, folder: Path, share: float) -> None:
    whole = DIGITS.read_bytes()
    (folder / "given" / "cut.onnx").write_bytes(whole[: int(len(whole) * share)])
    assert "cut.onnx" in command("compile", folder / "given" / "cut.onnx", "-o", folder / "out").error


def test_text_named_tflite(command: Command, folder: Path) -> None:
    (folder / "given" / "text.tflite").write_text("This is no model, whatever its name says. " * 20)
    assert "text.tflite" in command("compile", folder / "given" / "text.tflite", "-o", folder / "out").error


def test_unknown_format(command: Command, folder: Path) -> None:
    (folder / "given" / "model.mnn").write_bytes(bytes(8))
    sentence = command("compile", folder / "given" / "model.mnn", "-o", folder / "out").error
    assert ".tflite or .onnx" in sentence


def test_float_model(command: Command, folder: Path) -> None:
    path = float_model(folder / "given" / "float.onnx")
    assert "quantize" in command("compile", path, "-o", folder / "out").error


def changed(path: Path, change: Callable[[onnx.ModelProto], None]) -> Path:
    """The demo's network with something else in it."""
    model = onnx.load(DIGITS)
    change(model)
    onnx.save(model, path)
    return path


def test_operators_that_are_unknown(command: Command, folder: Path) -> None:
    def frobnicate(model: onnx.ModelProto) -> None:
        model.graph.node[3].op_type = "Frobnicate"

    def foreign(model: onnx.ModelProto) -> None:
        model.graph.node[3].domain = "my.domain"
        model.opset_import.append(helper.make_opsetid("my.domain", 1))

    for change, words in ((frobnicate, "Frobnicate"), (foreign, "of the domain my.domain, which cannot be compiled")):
        path = changed(folder / "given" / "x.onnx", change)
        assert words in command("compile", path, "-o", folder / "out").error


def test_dynamic_shape(command: Command, folder: Path) -> None:
    """An open batch is 1; here a map's rows are open, too."""

    def free(model: onnx.ModelProto) -> None:
        for place, name in ((0, "N"), (2, "H")):
            model.graph.input[0].type.tensor_type.shape.dim[place].dim_param = name

    path = changed(folder / "given" / "x.onnx", free)
    sentence = command("compile", path, "-o", folder / "out").error
    assert "has a dynamic shape at 'image' (N, H); fix every dimension" in sentence


def test_reasons_of_others_join_the_sentence(command: Command, folder: Path) -> None:
    sentence = command(
        "compile", changed(folder / "given" / "x.onnx", onnx.ModelProto.Clear), "-o", folder / "out"
    ).error
    assert ".;" not in sentence


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "gap10"], ["gap10", "gap9"]),
        (["--modules", "cluster,ne17"], ["ne17", "cluster", "ne16"]),
        (["--modules", ""], ["''"]),
        (["--engine", "guess"], ["guess", "exact"]),
        (["--objective", "luck"], ["luck", "latency"]),
        (["--numerics", "roughly"], ["roughly", "hardware", "exact"]),
        (["--l1", "-5"], ["--l1", "-5"]),
        (["--l1", "0"], ["--l1", "0"]),
        (["--l1", "abc"], ["--l1", "abc"]),
        (["--l1", "1e5"], ["--l1", "1e5"]),
        (["--l1", "99999999999"], ["L1", "99999999999"]),
        (["--l1", "16"], ["no layer of", "fits an L1 of 16 bytes", "needs at least", "16 are there", "--l1"]),
        (["--l1"], ["--l1"]),
        (["--l2", "0"], ["--l2", "0"]),
        (["--nonsense"], ["--nonsense"]),
    ],
)
def test_bad_options(command: Command, folder: Path, arguments: list[str], words: list[str]) -> None:
    sentence = command("compile", DIGITS, "-o", folder / "out", *arguments).error
    assert all(word in sentence for word in words)


@pytest.mark.parametrize("model", ["", ".", "..", "model"])
def test_models_without_a_name(command: Command, folder: Path, model: str) -> None:
    sentence = command("compile", model, "-o", folder / "out").error
    kind = "" if model == "model" else " but a directory"
    assert sentence == f"{model or '.'!r} is not a model this compiler reads{kind}; give it a .tflite or .onnx file."


def test_help_tells_defaults(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text in square brackets would be taken for markup."""
    monkeypatch.setenv("COLUMNS", "200")
    outcome = command("compile", "--help")
    assert outcome.status == 0
    lines = {words[1]: line for line in outcome.out.splitlines() if len(words := line.replace("*", " ").split()) > 1}
    for option in ("--target", "--modules", "--l1", "--l2", "--engine", "--objective", "--numerics", "--jobs"):
        assert "[default: " in lines[option], option
    assert "by default schedules are kept" in lines["--no-cache"]


def test_missing_arguments(command: Command) -> None:
    assert "MODEL" in command("compile").error
    assert "DIR" in command("run").error


def test_unknown_target_of_the_demo(command: Command) -> None:
    assert "gap10" in command("demo", "--target", "gap10").error


def test_output_inside_a_file(command: Command, folder: Path) -> None:
    (folder / "given" / "file").touch()
    sentence = command("compile", DIGITS, "-o", folder / "given" / "file" / "out").error
    assert "cannot be written" in sentence


def test_output_is_looked_at_first(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search may take minutes."""
    (folder / "given" / "mine").mkdir()
    (folder / "given" / "mine" / "file").touch()
    with monkeypatch.context() as patch:
        patch.setattr("match.compile", None)
        sentence = command("compile", DIGITS, "-o", folder / "given" / "mine", "--timeline", folder / "t.json").error
    assert "holds files that are no project of this compiler" in sentence


def test_output_is_a_file(command: Command, folder: Path) -> None:
    (folder / "given" / "file").write_text("mine")
    assert "file" in command("compile", DIGITS, "-o", folder / "given" / "file").error
    assert (folder / "given" / "file").read_text() == "mine"
    assert len(list((folder / "given").iterdir())) == 1


def test_output_holds_something_else(command: Command, folder: Path) -> None:
    (folder / "given" / "thesis.txt").write_text("mine")
    assert "given" in command("compile", DIGITS, "-o", folder / "given").error
    assert (folder / "given" / "thesis.txt").read_text() == "mine"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc, where not even root may write")
def test_output_may_not_be_written(command: Command) -> None:
    assert "/proc/out cannot be written" in command("compile", DIGITS, "-o", "/proc/out").error


def test_run_without_a_project(command: Command, folder: Path) -> None:
    assert "given" in command("run", folder / "given").error
    assert "missing" in command("run", folder / "missing").error


@pytest.mark.parametrize("given", [".", "./."])
def test_the_current_folder_is_called_by_its_name(
    given: str, command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A point is no end of a sentence."""
    monkeypatch.chdir(folder / "given")
    for name in ("run", "size", "build", "validate", "selftest"):
        sentence = command(name, given).error
        assert sentence.startswith(f"{folder / 'given'} holds no compiled network: project.json cannot be read"), name
    assert command("run", "..").error.startswith(f"{folder} holds no compiled network: ../project.json cannot be read")


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({"picture": np.zeros((1, 1, 16, 16), np.float32), "mask": np.zeros(3)}, ["picture", "mask", INPUT]),
        ({"picture": np.zeros((1, 1, 16, 15), np.float32)}, [INPUT, "15", "16"]),
        ({INPUT: np.zeros((1, 1, 16, 15), np.float32)}, [INPUT, "15", "16"]),
        ({INPUT: np.zeros((1, 1, 16, 16), np.int32)}, [INPUT, "int32", "float32"]),
        ({INPUT: np.zeros((1, 1, 16, 16), np.float32), "more": np.zeros(3)}, ["more"]),
        ({}, [INPUT]),
    ],
)
def test_wrong_inputs(command: Command, project: Path, folder: Path, tensors: dict[str, Any], words: list[str]) -> None:
    np.savez(folder / "given" / "x.npz", **tensors)
    arguments = ("run", project, "--input", folder / "given" / "x.npz", "--output", folder / "y.npz")
    sentence = command(*arguments).error
    assert all(word in sentence for word in words)


def test_inputs_that_are_no_tensors(command: Command, project: Path, folder: Path) -> None:
    assert "missing.npz" in command("run", project, "--input", folder / "missing.npz").error
    (folder / "given" / "x.npz").write_text("no tensors")
    assert "x.npz" in command("run", project, "--input", folder / "given" / "x.npz").error


def test_timelines_that_cannot_be_written(command: Command, project: Path, folder: Path) -> None:
    missing = folder / "missing" / "t.json"
    assert "t.json" in command("compile", DIGITS, "-o", folder / "p", "--timeline", missing).error
    assert "t.json" in command("run", project, "--output", folder / "y.npz", "--trace", missing).error


def test_outputs_that_cannot_be_written(command: Command, project: Path, folder: Path) -> None:
    assert "y.npz" in command("run", project, "--output", folder / "missing" / "y.npz").error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["resnet9"], ["resnet9", "resnet8", "mobilenet_v1-0.25-96"]),
        (["resnet8", "--classes", "0"], ["classes", "0"]),
        (["resnet8", "--classes", "many"], ["--classes", "integer"]),
        (["autoencoder", "--classes", "2"], ["autoencoder", "classes"]),
        (["autoencoder", "-o", "missing/x.onnx"], ["missing/x.onnx", "No such file"]),
        (["--classes", "2"], ["--classes", "match zoo"]),
        (["-o", "x.onnx"], ["--output", "match zoo"]),
    ],
)
def test_zoo(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: list[str]):
    monkeypatch.chdir(folder)
    sentence = command("zoo", *arguments).error
    assert all(word in sentence for word in words)


@pytest.mark.parametrize("seed", ["-1", "one"])
def test_bad_seed(command: Command, project: Path, seed: str) -> None:
    assert "--seed" in command("run", project, "--seed", seed).error


def test_no_c_compiler(command: Command, project: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = shutil.copytree(project, folder / "given" / "copy", ignore=shutil.ignore_patterns("build"))
    before = sorted(copy.rglob("*"))
    (folder / "given" / "empty").mkdir()
    monkeypatch.setenv("PATH", str(folder / "given" / "empty"))
    sentence = command("run", copy, "--output", folder / "y.npz").error
    assert "PATH" in sentence
    assert sorted(copy.rglob("*")) == before
    assert "PATH" in command("demo").error


def test_c_compiler_that_fails(command: Command, project: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = shutil.copytree(project, folder / "given" / "copy", ignore=shutil.ignore_patterns("build"))
    monkeypatch.setenv("CC", "false")
    assert "failed" in command("run", copy).error


@pytest.mark.parametrize("asked", [("energy",), ("edp",), ("latency", "--at-most", "energy=1.1x")])
def test_energy_of_a_target_that_gives_none(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...]
) -> None:
    monkeypatch.setattr(PulpClusterCost, "energy", None)
    sentence = command("compile", DIGITS, "--objective", *asked, "-o", folder / "out").error
    what = "at_most energy=1.1x" if "--at-most" in asked else f"objective {asked[0]!r}"
    assert f"{what} needs the energy of every module" in sentence
    assert "target gap9 does not give that of cluster; choose latency or bytes, or a target that" in sentence


@pytest.mark.parametrize(
    ("objective", "bound", "told"),
    [
        ("energy", "latency=1.1", "is no bound; give latency, energy or bytes and how many times"),
        ("energy", "latency=0.9x", "at least 1, such as latency=1.1x"),
        ("energy", "beauty=2x", "is no bound"),
        ("energy", "energy=1.1x", "bounds energy, which is as small as it can be already"),
        ("ram", "bytes=1.1x", "is latency, not bytes; give latency=1.1x"),
        ("edp", "latency=1.1x", "'edp' weighs latency against energy already; leave it out, or choose objective"),
    ],
)
def test_bounds_that_bound_nothing(command: Command, folder: Path, objective: str, bound: str, told: str) -> None:
    arguments = ("compile", DIGITS, "--objective", objective, "--at-most", bound, "-o", folder / "out")
    assert told in command(*arguments).error


def test_jobs_are_a_positive_number(command: Command, folder: Path) -> None:
    for jobs in ("0", "-1", "many"):
        assert "--jobs" in command("compile", DIGITS, "--jobs", jobs, "-o", folder / "out").error


def test_logs_that_are_no_counts(command: Command, tmp_path: Path) -> None:
    project = tmp_path / "digits"
    command("compile", DIGITS, "-o", project, "--no-fuse")
    log = tmp_path / "uart.log"
    assert f"{log} cannot be read: No such file" in command("measure", project, log).error
    log.write_text("hello\n")
    assert f"{log} has 0 counts, and an inference" in command("measure", project, log).error
    calls = len(json.loads((project / "project.json").read_bytes())["calls"])
    log.write_text('{"event":"count","call":0,"count":lu}\n' * calls)
    assert "is no count of a call" in command("measure", project, log).error
    log.write_text('{"event":"count","call":0,"count":5}\n' * calls)
    assert "did not count every call of 1 inferences; keep those" in command("measure", project, log).error
    log.write_text('{"event":"count","call":0,"count":5}\n' * (calls + 1))
    assert f"{log} has {calls + 1} counts, and an inference" in command("measure", project, log).error
    assert "--unit is cycles or instructions" in command("measure", project, log, "--unit", "seconds").error


def test_platforms_that_are_not_there(command: Command, project: Path) -> None:
    sentence = command("build", project, "--platform", "moon").error
    assert "has no platform 'moon'; choose one of host, qemu, rtl, gap_sdk" in sentence
    sentence = command("run", project, "--on", "moon").error
    assert "does not run on 'moon'; choose one of host, qemu, rtl, gap_sdk" in sentence


def test_sanitizers_are_for_the_host(command: Command, project: Path) -> None:
    assert "no sanitizers" in command("run", project, "--on", "qemu", "--sanitize").error
