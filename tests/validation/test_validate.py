"""`validate` says that what is right is equal, and of what is broken which operator it is."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest

import match
from match.devtools.demo import INPUT, load_images
from match.dispatch.plan import LayerDecision
from match.errors import TargetError
from match.report.file import read_report
from match.run import read_manifest
from match.validation.confidence import wilson
from match.validation.differences import difference
from match.validation.reported import add_validation
from match.validation.schema import LayerDifference, schema
from match.validation.verdict import verdict
from tests.cli.conftest import DIGITS, Command
from tests.e2e import test_diana

NETWORKS = Path(__file__).parents[1] / "tflite/networks"

pytestmark = pytest.mark.cc

DOCS = Path(__file__).resolve().parents[2] / "docs"
Mutation = Callable[[Path], None]


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's network for the cluster, a kernel for each operator, whose requantization is exact."""
    folder = tmp_path_factory.mktemp("validate") / "digits"
    match.compile(DIGITS, "gap9", modules=["cluster"], numerics="exact", fuse=False, output=folder)
    return folder


def constant(file: str, array: str, place: int) -> Mutation:
    """Changes a number of an array of constants, not one of its comments."""

    def apply(project: Path) -> None:
        path = project / "src" / file
        text = path.read_text()
        begin = text.index("= {", text.rindex(array))
        uncommented = re.sub(r"/\*.*?\*/", lambda comment: " " * len(comment[0]), text[begin : begin + 4000])
        found = list(re.finditer(r"-?\b\d+\b", uncommented))[place]
        changed = int(found[0]) ^ 0x5A
        path.write_text(text[: begin + found.start()] + str(changed) + text[begin + found.end() :])

    return apply


def replaced(file: str, *changes: tuple[str, str]) -> Mutation:
    """Changes all places of a file with each of some texts."""

    def apply(project: Path) -> None:
        path = project / file
        whole = path.read_text()
        for text, replacement in changes:
            assert text in whole
            whole = whole.replace(text, replacement)
        path.write_text(whole)

    return apply


PULP = "kernels/pulp/match_pulp_"
QUICK = {
    "conv2d_5": constant("05_conv2d.c", "constants[", 100),
    "add_7": replaced(
        f"{PULP}add.c",
        ("run.addend[i]", "run.input[i]"),
        ("*run.addend, b_multiplier", "run.input[i], b_multiplier"),
    ),
}
MUTANTS = [
    *(pytest.param(*pair, id=pair[0]) for pair in QUICK.items()),
    *(
        pytest.param(*pair, id=f"{pair[0]}-{number}", marks=pytest.mark.sweep)
        for number, pair in enumerate(
            (
                ("conv2d_2", constant("02_conv2d.c", "constants[", 0)),
                ("conv2d_4", constant("04_conv2d.c", "constants[", 5)),
                ("depthwise_conv2d_8", constant("08_depthwise_conv2d.c", "constants[", 3)),
                ("dense_12", constant("12_dense.c", "constants[", 7)),
                ("conv2d_6", replaced("src/06_conv2d.c", (".pad_top = PAD_TOP", ".pad_top = 0"))),
                (
                    "depthwise_conv2d_8",
                    replaced("src/08_depthwise_conv2d.c", (".pad_value = 0", ".pad_value = 9")),
                ),
                ("avg_pool2d_10", replaced(f"{PULP}pool2d.c", ("tile->channels_out, 0", "tile->channels_out - 1, 0"))),
            )
        )
    ),
]
"""Names of operators and what breaks them."""


def test_what_is_right_is_equal(exact: Path) -> None:
    result = match.validate(exact, DIGITS, samples=3, layers=True)
    assert result.equal
    assert result.reference == "onnxruntime"
    assert all(tensor.equal == tensor.elements == 30 for tensor in result.outputs)
    assert result.layers
    assert not any(layer.differing for layer in result.layers)
    assert (result.first, result.exact) == (None, None)
    modules = [layer.name for layer in result.layers if layer.module == "cluster"]
    report = json.loads((exact / "report.json").read_text())
    assert modules == [layer["name"] for layer in report["layers"] if layer["module"] == "cluster"]
    assert [call.layers for call in read_manifest(exact).calls if call.layers[-1] in modules] == [(m,) for m in modules]


@pytest.mark.parametrize(("name", "mutate"), MUTANTS)
def test_a_mutant_is_found_where_it_is(name: str, mutate: Mutation, exact: Path, tmp_path: Path) -> None:
    project = tmp_path / "mutant"
    shutil.copytree(exact, project, ignore=shutil.ignore_patterns("build"))
    mutate(project)
    result = match.validate(project, DIGITS, samples=3, layers=True)
    assert not result.equal
    assert result.first == name
    assert [layer.name for layer in result.layers or () if layer.differing] == [name]


def test_a_mutant_of_the_control_core_is_found(tmp_path: Path) -> None:
    match.compile(DIGITS, "gap9", modules=["ne16"], numerics="exact", output=tmp_path / "digits")
    constant("network.c", "dense_12_constants[", 0)(tmp_path / "digits")
    result = match.validate(tmp_path / "digits", DIGITS, samples=3, layers=True)
    assert result.first == "output scores"
    assert [layer.name for layer in result.layers or () if layer.differing] == ["output scores"]


def test_inexact_requantization_is_known() -> None:
    """The hardware's arithmetic is off by what was proven, and what the network's own would cost is told."""
    compiled = match.compile(DIGITS, "gap9")
    images, labels = load_images(DIGITS.with_name("digits.npz"))
    result = compiled.validate({INPUT: images[:40]}, labels=labels[:40], samples=30, layers=True)
    assert (result.samples, result.seed) == (30, None)
    assert result.layers
    off = [layer for layer in result.layers if layer.differing]
    assert off
    assert all(0 < layer.largest <= layer.known_steps for layer in off)
    assert result.exact
    assert result.exact.cycles == compiled.report.totals.cycles
    assert result.exact.exact_cycles == match.compile(DIGITS, "gap9", numerics="exact").report.totals.cycles
    found = compiled.run({INPUT: images[:30]})["scores"].reshape(30, -1).argmax(axis=1)
    assert result.accuracy
    assert (result.accuracy.samples, result.accuracy.right) == (30, int(np.sum(found == labels[:30])))
    exact = match.compile(DIGITS, "gap9", numerics="exact")
    found = exact.run({INPUT: images[:30]})["scores"].reshape(30, -1).argmax(axis=1)
    assert result.accuracy.exact_right == int(np.sum(found == labels[:30]))
    assert result.accuracy.interval == wilson(result.accuracy.right, 30)
    seen = exact.validate({INPUT: images[:3]}, labels=labels[:3]).accuracy
    assert seen
    assert seen.exact_right == seen.right


@pytest.fixture(scope="module")
def inexact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's network, a kernel for each operator, in the hardware's arithmetic."""
    folder = tmp_path_factory.mktemp("validate") / "digits"
    match.compile(DIGITS, "gap9", fuse=False, output=folder)
    return folder


def test_differences_are_as_announced_or_more(command: Command, inexact: Path, tmp_path: Path) -> None:
    announced = command("validate", inexact, "--against", DIGITS, "--samples", "3")
    assert (announced.status, announced.err) == (0, "")
    assert re.search(r"As announced: \d+ of 30 elements differ, and no operator is off by more", announced.out)
    assert "--layers compares all of them" in announced.out
    document = json.loads(command("validate", inexact, "--against", DIGITS, "--samples", "3", "--json").out)
    assert (document["equal"], document["verdict"], document["layers"]) == (False, "as announced", None)
    project = tmp_path / "mutant"
    shutil.copytree(inexact, project, ignore=shutil.ignore_patterns("build"))
    QUICK["add_7"](project)
    more = command("validate", project, "--against", DIGITS, "--samples", "3")
    assert (more.status, more.err) == (1, "")
    assert "More than announced: " in more.out
    assert "The first operator that differs by more than that is add_7; --layers" in more.out
    result = match.validate(project, DIGITS, samples=3)
    assert (result.verdict, result.first, result.layers) == ("more than announced", "add_7", None)


@pytest.mark.parametrize("reason", ["target", "version"])
def test_what_cannot_be_compared_is_not_called_announced(
    reason: str, command: Command, inexact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise TargetError("there is no such target.")

    project = tmp_path / "copy"
    shutil.copytree(inexact, project, ignore=shutil.ignore_patterns("build"))
    if reason == "target":
        monkeypatch.setattr("match.compiler.get_target", missing)
    else:
        report = (project / "report.json").read_text()
        (project / "report.json").write_text(report.replace('"conv2d_2"', '"conv2d_2_by_another_version"'))
    outcome = command("validate", project, "--against", DIGITS, "--samples", "2")
    assert (outcome.status, outcome.err) == (1, "")
    assert "Whether the report announced it is not known" in outcome.out


@pytest.mark.parametrize(
    ("steps", "integers_differ", "reference", "said"),
    [
        ([(1, 1)], False, True, "as announced"),
        ([(2, 1)], False, True, "more than announced"),
        ([(1, 1), (1, 0)], False, True, "more than announced"),
        ([(0, 1)], False, True, "more than announced"),  # operators are right and outputs are not
        ([(0, 1)], True, True, "more than announced"),  # the network's integers are called the reference's
        ([(1, 1)], True, True, "more than announced"),
        ([(0, 0)], True, False, "as announced"),
        ([(1, 0)], True, False, "more than announced"),
        ([(0, 0)], False, False, "more than announced"),
    ],
)
def test_verdicts(steps: list[tuple[int, int]], integers_differ: bool, reference: bool, said: str) -> None:
    """From how far operators are off, and how far that is known; and whether the network's integers are the model's."""
    layers = [
        LayerDifference("conv", "conv2d", "ne16", 9, off > 0, off == 1, off, off / 9, known) for off, known in steps
    ]
    decisions = [LayerDecision("softmax", "softmax", "cpu", 0, 9, 1.0, reference=reference)]
    assert verdict(decisions, layers, integers_differ=integers_differ) == said


def test_tflite_micro_is_the_reference_of_its_files(models_dir: Path) -> None:
    compiled = match.compile(models_dir / "ad01_int8.tflite", "gap9", modules=["cluster"], numerics="exact")
    result = compiled.validate(samples=4, seed=5, layers=True)
    assert (result.reference, result.equal, result.seed) == ("TFLite Micro", True, 5)
    assert (result.outputs[0].elements, result.outputs[0].step) == (4 * 640, 1)


def test_other_types_and_layouts_than_the_file_has(tmp_path: Path, models_dir: Path) -> None:
    """And another name: the files are the references all the same."""
    border: dict[str, Any] = {"input_type": "uint8", "output_type": "int8", "input_layout": "nhwc"}
    folder = tmp_path / "net"
    match.compile(DIGITS, "gap9", modules=["cluster"], numerics="exact", name="net", output=folder, **border)
    result = match.validate(folder, DIGITS, samples=3, layers=True)
    assert (result.network, result.reference, result.equal) == ("net", "onnxruntime", True)
    assert (result.outputs[0].elements, result.outputs[0].step) == (30, 1)
    ad01 = models_dir / "ad01_int8.tflite"
    real = match.compile(ad01, "gap9", numerics="exact", input_type="float32", output_type="float32")
    found = real.validate(samples=2)
    assert (found.reference, found.equal) == ("TFLite Micro", True)
    assert found.outputs[0].step is not None


def test_networks_of_integers_are_their_own_reference(models_dir: Path) -> None:
    result = match.compile(models_dir / "keyword_spotting.onnx", "gap9").validate(samples=2, layers=True)
    assert (result.reference, result.equal, result.first) == ("integer network", True, None)


def test_groups_of_three_inputs() -> None:
    """Operators of the control core lie between the network's inputs and the group."""
    compiled = match.compile(NETWORKS / "many_inputs.tflite", "gap9", numerics="exact", cache=False)
    assert any(len(layer.input_shapes) == 3 for layer in compiled.layers)
    result = compiled.validate(samples=2, layers=True)
    assert (result.reference, result.equal, result.first) == ("TFLite Micro", True, None)


@pytest.mark.parametrize("l1", [pytest.param(None, marks=pytest.mark.sweep), 6144])
def test_layouts_of_an_accelerator(l1: int | None) -> None:
    """Relay, with activations in an order of their own and with room that holds anything."""
    compiled = match.compile(test_diana.network(), "diana", l1=l1, numerics="exact")
    for _ in range(2):  # what a validation does to the network leaves it as it is
        result = compiled.validate(samples=2, layers=True)
        assert (result.reference, result.equal, result.first) == ("integer network", True, None)
        assert result.layers
        digital = [layer for layer in result.layers if layer.module == "digital"]
        assert [layer.op for layer in digital] == [layer.op for layer in compiled.layers if layer.module == "digital"]
        outputs = {layer.name: layer.outputs for layer in compiled.layers}
        assert all(layer.elements == 2 * outputs[layer.name] for layer in digital)


def test_differences_are_counted_in_steps() -> None:
    found, expected = np.array([1, 2, 3, 9], np.int8), np.array([1, 3, 3, -9], np.int8)
    assert difference(found, expected, 1.0) == (4, 2, 1, 18.0, 0)
    scaled = (np.array([0.3, 0.6], np.float32), np.array([0.3, 0.9], np.float32))
    assert difference(*scaled, 0.3) == (2, 1, 1, 1.0, 0)
    assert difference(np.array([1.0, 2.0]), np.array([1.000001, 2.1]), None)[1] == 1
    infinite, other = np.array([np.inf, -np.inf, np.nan, 5.0]), np.array([np.inf, np.inf, np.nan, 1.0])
    assert difference(infinite, other, None)[1] == 2  # no tolerance is taken from infinite numbers


def test_the_command_tells_by_its_status(command: Command, exact: Path, tmp_path: Path) -> None:
    images, labels = load_images(DIGITS.with_name("digits.npz"))
    np.savez(tmp_path / "x.npz", image=images[:5], labels=labels[:5])
    equal = command("validate", exact, "--against", DIGITS, "--input", tmp_path / "x.npz")
    assert (equal.status, equal.err) == (0, "")
    assert "Equal: all 50 elements." in equal.out
    assert "Top-1 accuracy on 5 labelled samples" in equal.out
    assert "generated C 100.00% (56.6% to 100.0%), with exact numerics 100.00% (56.6% to 100.0%)" in equal.out
    np.savez(tmp_path / "y.npz", image=images[:5], classes=labels[:5], labels=labels[5:10])
    (tmp_path / "labels.txt").write_text("\n".join(map(str, (labels[:5] + 1) % 10)))
    named = command("validate", exact, "--against", DIGITS, "--input", tmp_path / "y.npz", "--labels", "classes")
    assert "generated C 100.00%" in named.out
    wrong = ("--input", tmp_path / "x.npz", "--labels", tmp_path / "labels.txt")
    assert "generated C 0.00%" in command("validate", exact, "--against", DIGITS, *wrong).out
    (latest,) = read_report(exact / "report.json").validated
    assert (latest.platform, latest.reference, latest.verdict) == ("host", "onnxruntime", "equal")
    assert (latest.elements, latest.equal, latest.layers) == (50, 50, None)
    assert latest.accuracy is not None
    assert latest.accuracy.right == 0, "of the run before it nothing is left"
    assert latest.compared in " ".join(equal.out.split())
    assert all(sentence in equal.out for sentence in latest.found[:1])
    nowhere = command("validate", exact, "--against", DIGITS, "--input", tmp_path / "y.npz", "--labels", "nowhere")
    assert "--labels nowhere is no array beside the inputs" in nowhere.error
    assert "--labels are the classes of given samples" in command("validate", exact, "--labels", "labels").error
    project = tmp_path / "mutant"
    shutil.copytree(exact, project, ignore=shutil.ignore_patterns("build"))
    QUICK["conv2d_5"](project)
    shutil.copy(DIGITS, tmp_path)  # found beside the project
    broken = command("validate", project, "--samples", "2", "--layers", "--json")
    assert (broken.status, broken.err) == (1, "")
    document = json.loads(broken.out)
    jsonschema.validate(document, json.loads((DOCS / "validate.schema.json").read_text()))
    assert (document["equal"], document["first"], document["samples"]) == (False, "conv2d_5", 2)
    (found,) = read_report(project / "report.json").validated
    assert [msgspec.structs.asdict(layer) for layer in found.layers or ()] == [
        {name: one[name] for name in ("name", "elements", "differing", "largest", "known_steps")}
        for one in document["layers"]
    ]


def test_what_was_validated_stays_while_the_c_does(tmp_path: Path) -> None:
    folder, samples = tmp_path / "digits", 2
    compiled = match.compile(DIGITS, "gap9", output=folder)
    add_validation(folder / "report.json", match.validate(folder, DIGITS, samples=samples))
    add_validation(folder / "report.json", match.validate(folder, DIGITS, samples=1))
    assert [one.samples for one in read_report(folder / "report.json").validated] == [1]
    compiled.save(folder)
    assert [one.samples for one in read_report(folder / "report.json").validated] == [1]
    match.compile(DIGITS, "gap9", modules=["cluster"], output=folder)
    assert read_report(folder / "report.json").validated == ()


def test_what_is_missing_is_one_sentence(
    command: Command, exact: Path, models_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "digits.onnx" in command("validate", exact).error
    assert "--against" in command("validate", exact).error
    assert "is not the model" in command("validate", exact, "--against", models_dir / "ad01_int8.tflite").error
    assert "holds no compiled network" in command("validate", tmp_path).error
    np.savez("x.npz", image=np.zeros((1, 1, 16, 16), np.float32), labels=np.array([0.5]))
    assert "labels" in command("validate", exact, "--against", DIGITS, "--input", "x.npz").error
    project = tmp_path / "older"
    shutil.copytree(exact, project, ignore=shutil.ignore_patterns("build"))
    report = json.loads((project / "report.json").read_text())
    report["layers"][0]["name"] += "_by_another_version"
    (project / "report.json").write_text(json.dumps(report))
    assert "compile it again" in command("validate", project, "--against", DIGITS, "--layers").error
    many = command("validate", exact, "--against", DIGITS, "--samples", str(10**30)).error
    assert f"; {(1 << 30) // (16 * 16 * 4)} are the most" in many
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert "pip install 'match-compiler[validate]'" in command("validate", exact, "--against", DIGITS).error


def test_every_field_is_documented() -> None:
    text = (DOCS / "validate.md").read_text()
    for definition in schema()["$defs"].values():
        for field in definition["properties"]:
            assert f"`{field}`" in text, f"docs/validate.md does not explain {field}"
