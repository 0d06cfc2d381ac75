"""What each command does when all is well."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest
import typer

import match
from match import zoo
from match.cli.arguments import number_of_bytes
from match.devtools.demo import INPUT, OUTPUT, load_images
from match.errors import OptionError
from match.report import decode
from match.search.problem import SearchProblem, Solution
from match.search.solve import solve
from match.validation.exact_session import exact_session
from tests.cli.conftest import DIGITS, Command, Outcome

pytestmark = pytest.mark.cc

SVG = "{http://www.w3.org/2000/svg}"


def test_a_project_has_a_folder_by_default(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build" / "mine").mkdir(parents=True)
    for options, name in (((), "digits"), (("--name", "figures"), "figures")):
        outcome = command("compile", DIGITS, *options)
        assert outcome.out.endswith(f"C project: build/{name} (`match run build/{name}` builds and runs it)\n")
        assert (tmp_path / "build" / name / "report.json").exists()
    assert {path.name for path in (tmp_path / "build").iterdir()} == {"digits", "figures", "mine"}
    assert "is not a model" in command("compile", "").error


def test_settings_of_the_target_are_in_the_c_and_in_the_report(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "four"
    outcome = command("compile", DIGITS, "--set", "cluster.cores=4", "--set", "clock_hz=370e6", "-o", folder)
    assert "numerics hardware, cluster.cores=4, clock_hz=370000000)" in " ".join(outcome.out.split())
    report = decode((folder / "report.json").read_bytes())
    assert report.options.settings == {"cluster.cores": 4, "clock_hz": 370e6}
    assert report.target.clock_hz == 370e6
    assert "-DPULP_CLUSTER_CORES=4" in (folder / "Makefile").read_text()
    assert command("validate", folder, "--against", DIGITS, "--samples", "4", "--layers", "-q").status == 0
    for given, sentence in (
        (("--set", "cores=4"), "has no 'cores' to set; what can be set: cluster.cores"),
        (("--set", "cores"), "--set cores sets nothing; give a name and a value"),
        (("--set", "dma.bytes=4", "--set", "dma.bytes=8"), "--set dma.bytes is given more than once"),
    ):
        refused = command("compile", DIGITS, *given, "-o", tmp_path / "none")
        assert (refused.status, sentence in refused.error) == (2, True)
    assert not (tmp_path / "none").exists()


def test_hardware_that_does_not_exist_is_warned_of(command: Command, tmp_path: Path) -> None:
    sentence = "gap9 has 118,784 bytes of L1 for networks, and this is for a chip with 1,048,576: the numbers are those"
    folder = tmp_path / "large"
    outcome = command("compile", DIGITS, "--l1", "1M", "-o", folder)
    assert f"Warning: {sentence}" in " ".join(outcome.out.split())
    assert outcome.err == ""
    (one,) = decode((folder / "report.json").read_bytes()).target.enlarged
    assert (one.name, one.bytes, one.own) == ("L1", 1 << 20, 118784)
    assert f"match: {sentence}" in command("compile", DIGITS, "--l1", "1M", "-o", folder, "-q").err
    assert command("report", folder, "-q").status == 0
    assert sentence in (folder / "report.html").read_text()


def test_compile_writes_a_project_and_prints_its_report(command: Command, project: Path, tmp_path: Path) -> None:
    outcome = command("compile", DIGITS, "--target", "gap9", "-o", tmp_path / "again")
    assert outcome.status == 0
    assert outcome.err == ""
    report = decode((tmp_path / "again" / "report.json").read_bytes())
    assert f"Predicted: {report.totals.cycles:,} cycles" in outcome.out
    for layer in report.layers:
        assert layer.name[:24] in outcome.out
    # The seconds are the one thing that differs between two compilations.
    first, second = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (project, tmp_path / "again")
    )
    reports = [json.loads(files.pop(Path("report.json"))) for files in (first, second)]
    for document in reports:
        del document["totals"]["compile_seconds"]
    assert reports[0] == reports[1]
    assert {path for path in first if path.parts[0] != "build"} == second.keys()
    assert all(first[path] == second[path] for path in second)


def test_options_reach_the_compiler(command: Command, tmp_path: Path) -> None:
    outcome = command(
        *("compile", DIGITS, "-o", tmp_path / "x", "--modules", "cluster", "--l1", "32768", "--numerics", "exact")
    )
    assert outcome.status == 0
    report = decode((tmp_path / "x" / "report.json").read_bytes())
    assert (report.options.modules, report.options.l1) == (("cluster",), 32768)
    assert (report.options.engine, report.options.objective, report.options.numerics) == ("exact", "latency", "exact")
    assert {layer.module for layer in report.layers} <= {"cluster", "cpu"}
    assert all(layer.l1_bytes <= 32768 for layer in report.layers)
    assert report.totals.inexact_layers == 0


def test_schedules_are_cached_unless_told_otherwise(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("MATCH_CACHE_DIR", str(cache))
    searches = 0

    def counted(problem: SearchProblem) -> Solution:
        nonlocal searches
        searches += 1
        return solve(problem)

    monkeypatch.setattr("match.search.solutions.solve", counted)
    reports = []
    for options, searching in (("--no-cache",), True), (("--jobs", "1"), True), (("--jobs", "2"), False), ((), False):
        searches = 0
        assert command("compile", DIGITS, "-o", tmp_path / "x", *options).status == 0
        assert cache.exists() == (options != ("--no-cache",))
        assert (searches > 0) == searching, options
        document = json.loads((tmp_path / "x" / "report.json").read_text())
        del document["totals"]["compile_seconds"]
        reports.append(document)
    assert all(document == reports[0] for document in reports)
    assert len(list(cache.iterdir())) >= 4
    assert reports[0]["layers"][0]["candidates"][-1]["module"] == "cpu"


def test_run_equals_onnxruntime(command: Command, project: Path, tmp_path: Path) -> None:
    images, _ = load_images(DIGITS.with_name("digits.npz"))
    np.savez(tmp_path / "x.npz", image=images[:20])
    outcome = command("run", project, "--input", tmp_path / "x.npz", "--output", tmp_path / "y.npz", "--sanitize")
    assert outcome.status == 0, outcome.err
    session = exact_session(DIGITS)
    expected = np.stack([session.run([OUTPUT], {INPUT: image})[0] for image in images[:20]])
    with np.load(tmp_path / "y.npz") as archive:
        assert archive.files == [OUTPUT]
        assert np.array_equal(archive[OUTPUT].argmax(-1), expected.argmax(-1))


def test_labels_beside_inputs_are_for_validation(command: Command, project: Path, tmp_path: Path) -> None:
    images, labels = load_images(DIGITS.with_name("digits.npz"))
    np.savez(tmp_path / "x.npz", image=images[:2], labels=labels[:2])
    np.savez(tmp_path / "other.npz", image=images[:2], others=labels[:2])
    assert command("run", project, "--input", tmp_path / "x.npz", "-q").status == 0
    assert "others" in command("run", project, "--input", tmp_path / "other.npz", "-q").error


def test_random_inputs_follow_the_seed(command: Command, project: Path, tmp_path: Path) -> None:
    outputs: list[bytes] = []
    for seed in ("1", "1", "2"):
        assert command("run", project, "--seed", seed, "--output", tmp_path / "y.npz").status == 0
        with np.load(tmp_path / "y.npz") as archive:
            outputs.append(archive[OUTPUT].tobytes())
    assert outputs[0] == outputs[1] != outputs[2]


def test_run_without_an_output_file_prints_the_values(command: Command, project: Path) -> None:
    outcome = command("run", project)
    assert outcome.status == 0
    assert outcome.out.startswith("scores: float32 [1, 10]\n[[")


def test_timelines(command: Command, project: Path, tmp_path: Path) -> None:
    """The predicted one has cycles in microseconds, the traced one what the C did, and both the same transfers."""
    predicted, traced = tmp_path / "predicted.json", tmp_path / "traced.json"
    compiled = command("compile", DIGITS, "-o", tmp_path / "again", "--timeline", predicted)
    assert compiled.status == 0, compiled.err
    assert command("run", project, "--trace", traced, "--output", tmp_path / "y.npz").status == 0
    assert command("run", project, "--output", tmp_path / "z.npz").status == 0
    with np.load(tmp_path / "y.npz") as first, np.load(tmp_path / "z.npz") as second:
        assert np.array_equal(first[OUTPUT], second[OUTPUT])
    timelines = [json.loads(path.read_text()) for path in (predicted, traced)]
    report = decode((tmp_path / "again" / "report.json").read_bytes())
    end = max(mark["ts"] + mark["dur"] for mark in timelines[0]["traceEvents"] if mark["ph"] == "X")
    assert end == pytest.approx(report.totals.milliseconds * 1000, rel=1e-3)
    transfers = [[mark["args"] for mark in t["traceEvents"] if "DMA" in lane_of(t, mark)] for t in timelines]
    assert transfers[0] == transfers[1]
    assert transfers[0]
    sources = {layer.name: layer.source for layer in report.layers if layer.module != "cpu"}
    layers = [[mark for mark in t["traceEvents"] if lane_of(t, mark) == "layers"] for t in timelines]
    models = [{mark["name"]: mark["args"].get("model") for mark in marks} for marks in layers]
    assert sources.items() <= models[0].items()
    assert list(models[1].values()) == list(sources.values())
    assert all(sources.values())


def test_the_network_after_a_pass(command: Command, tmp_path: Path) -> None:
    """As text, also of a network that the cache has; other names are refused before C is written."""
    project = tmp_path / "net"
    printed = command("compile", DIGITS, "-o", project, "--quiet", "--print-after", "unsigned").out
    title, _, network = printed.partition("\n")
    assert title == "# after unsigned"
    assert {line.split(" = ")[0].split(": ")[1][:5] for line in network.splitlines()[1:4]} == {"uint8"}
    again = command("compile", DIGITS, "-o", project, "--quiet", "--overwrite", "--print-after", "all").out
    titles = [line.removeprefix("# after ") for line in again.splitlines() if line.startswith("# after ")]
    assert titles[-3:] == ["split_transpositions", "concatenations", "unsigned_rest"]
    assert printed in again
    refused = command("compile", DIGITS, "-o", tmp_path / "other", "--print-after", "fuse")
    assert refused.status == 2
    assert "--print-after fuse is no pass of this compilation; choose one of: " in refused.err
    assert not (tmp_path / "other").exists()


def test_memory_maps(command: Command, tmp_path: Path) -> None:
    """A picture of every network, with external memory or without."""
    picture = tmp_path / "memory.svg"
    given = ("compile", DIGITS, "-o", tmp_path / "net", "--target", "gap8", "--memory-map", picture)
    outcome = command(*given, "--l1", "8000", "--l2", "12000")
    assert outcome.status == 0, outcome.err
    assert {"11.72 KiB", "L1", "L2", "L3"} <= {text.text for text in ElementTree.parse(picture).iter(f"{SVG}text")}
    assert command(*given).status == 0
    assert {"L1", "L2"} <= {text.text for text in ElementTree.parse(picture).iter(f"{SVG}text")}


@pytest.mark.parametrize("option", ["--timeline", "--memory-map"])
@pytest.mark.parametrize("name", ["picture.png", "picture"])
def test_pictures_are_refused_before_anything_is_compiled(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, name: str
) -> None:
    monkeypatch.setattr("match.compile", None)
    sentence = command("compile", DIGITS, "-o", tmp_path / "net", option, tmp_path / name).error
    assert " is written as " in sentence
    assert ".svg" in sentence
    assert name in sentence
    assert not list(tmp_path.iterdir())


def test_a_trace_is_refused_before_anything_runs(command: Command, project: Path, tmp_path: Path) -> None:
    assert "written as .json or .svg" in command("run", project, "--trace", tmp_path / "t.png").error


def lane_of(timeline: dict[str, Any], mark: dict[str, Any]) -> str:
    """Name of the lane that a bar is in."""
    lanes = {m["tid"]: m["args"]["name"] for m in timeline["traceEvents"] if m["name"] == "thread_name"}
    return lanes[mark["tid"]] if mark["ph"] == "X" else ""


def test_layers_as_a_list(command: Command, tmp_path: Path) -> None:
    listed = tmp_path / "layers.csv"
    outcome = command("compile", DIGITS, "-o", tmp_path / "x", "--csv", listed, "--json", "-v", "--no-fuse")
    report = decode(outcome.out.encode())
    assert report == decode((tmp_path / "x" / "report.json").read_bytes())
    with listed.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["layer"] for row in rows] == [layer.name for layer in report.layers]
    conv = next(row for row in rows if row["module"] == "ne16")
    layer = next(layer for layer in report.layers if layer.name == conv["layer"])
    assert (int(conv["macs"]), int(conv["cycles"]), conv["source"]) == (layer.macs, layer.cycles, layer.source)
    assert float(conv["milliseconds"]) == pytest.approx(1e3 * layer.cycles / 260e6)
    assert float(conv["peak_share"]) == pytest.approx(layer.macs / layer.cycles / 162)
    assert conv["output"] == "x".join(map(str, layer.output_shapes[0]))
    sources = (path.read_text() for path in (tmp_path / "x" / "src").glob("*.c"))
    stored = [int(size) for source in sources for size in re.findall(r" constants\[(\d+)\] = ", source)]
    assert sorted(int(row["constant_bytes"]) for row in rows if row["constant_bytes"]) == sorted(stored) != []
    assert [row["weight_bits"] for row in rows] == [str(layer.weight_bits or "") for layer in report.layers]
    phases = [line.rpartition(": ")[2].partition(",")[0] for line in outcome.err.splitlines()]
    assert list(dict.fromkeys(phases)) == list(report.totals.compile_seconds)


def test_quiet(command: Command, project: Path, tmp_path: Path) -> None:
    assert command("compile", DIGITS, "-o", tmp_path / "x", "-q") == Outcome(0, "", "")
    assert command("run", project, "-q") == Outcome(0, "", "")
    assert command("build", project, "-q") == Outcome(0, "", "")
    outcome = command("compile", DIGITS, "-o", tmp_path / "x", "-q", "--target", "diana")
    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err.startswith("match: digital takes no layer; mostly")


def test_what_a_model_leaves_open_is_told(command: Command, tmp_path: Path) -> None:
    """Also in silence; all commands then take samples of the batch that was chosen."""
    model = onnx.load(DIGITS)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    path, folder = tmp_path / "digits.onnx", tmp_path / "digits"
    onnx.save(model, path)
    told = f"match: {path} leaves the batch open at 'image' (N): the network is compiled for a batch of 1.\n"
    assert command("compile", path, "-o", folder, "-q") == Outcome(0, "", told)
    assert command("compile", path, "-o", folder).err == told
    assert "scores: float32 [1, 10]" in command("run", folder).out
    assert command("validate", folder, "--against", path).status == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line = {"bash": "complete_bash", "zsh": "complete_zsh", "fish": "complete_fish"}[shell]
    environment = {
        **os.environ,
        "_MATCH_COMPLETE": line,
        "COMP_WORDS": "match compile x.tflite --target ga",
        "COMP_CWORD": "4",
        "_TYPER_COMPLETE_ARGS": "match compile x.tflite --target ga",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    match_program = Path(sys.executable).parent / "match"
    done = subprocess.run([match_program], env=environment, capture_output=True, text=True, check=False)
    assert "gap8" in done.stdout
    assert "gap9" in done.stdout
    assert "diana" not in done.stdout


def test_build_prints_the_program(command: Command, project: Path) -> None:
    outcome = command("build", project)
    assert outcome.out == f"{project / 'build' / 'host' / 'network'}\n"
    assert Path(outcome.out.strip()).is_file()


@pytest.mark.usefixtures("qemu")
def test_run_on_another_platform_counts(command: Command, project: Path, tmp_path: Path) -> None:
    copy = tmp_path / "digits"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("build"))
    assert command("run", copy, "--output", tmp_path / "host.npz").status == 0
    outcome = command("run", copy, "--on", "qemu", "--output", tmp_path / "qemu.npz")
    assert (outcome.status, outcome.err) == (0, "")
    with np.load(tmp_path / "host.npz") as host, np.load(tmp_path / "qemu.npz") as qemu:
        assert np.array_equal(host[OUTPUT], qemu[OUTPUT])
    (measured,) = decode((copy / "report.json").read_bytes()).measured
    assert (measured.platform, measured.unit, measured.samples) == ("qemu", "instructions", 1)
    assert f"Measured on qemu: {measured.total:,} instructions for one inference" in outcome.out
    for group in measured.layers:
        assert f"{group.count:,}" in outcome.out


def test_counts_of_a_chip_join_the_report(command: Command, project: Path, tmp_path: Path) -> None:
    """Means of two inferences, from a log with other lines and with times in front."""
    copy = tmp_path / "digits"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("build"))
    calls = json.loads((copy / "project.json").read_bytes())["calls"]
    counts = [[100 + 7 * number, 104 + 7 * number] for number in range(len(calls))]
    lines = ["boot 1.0", *(count_line(number, pair[0]) for number, pair in enumerate(counts)), '{"event": "sleep"}']
    lines += [f"[00:0{number}] {count_line(number, pair[1])}\r" for number, pair in enumerate(counts)]
    (tmp_path / "uart.log").write_text("\n".join([*lines, "bye", ""]))
    outcome = command("measure", copy, tmp_path / "uart.log", "--on", "evk")
    assert (outcome.status, outcome.err) == (0, "")
    (measured,) = decode((copy / "report.json").read_bytes()).measured
    assert (measured.platform, measured.unit, measured.command) == ("evk", "cycles", "uart.log")
    assert (measured.samples, measured.total) == (2, sum(102 + 7 * number for number in range(len(calls))))
    assert f"Measured on evk: {measured.total:,} cycles for one inference" in outcome.out


def count_line(call: int, count: int) -> str:
    return f'{{"event":"count","call":{call},"count":{count}}}'


def test_targets(command: Command) -> None:
    outcome = command("targets")
    assert outcome.status == 0
    for part in ("gap9", "cluster", "ne16", "conv2d"):
        assert part in outcome.out


def test_zoo_lists_networks(command: Command) -> None:
    outcome = command("zoo")
    assert outcome.status == 0
    line = next(line for line in outcome.out.splitlines() if line.startswith("resnet8"))
    assert line.split() == ["resnet8", "3x32x32", "10", "12,501,632", "77,360"]
    assert "mobilenet_v2-1.0-224" in outcome.out


def test_zoo_writes_a_network(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("zoo", "autoencoder", "-o", tmp_path / "x.onnx").status == 0
    assert (tmp_path / "x.onnx").read_bytes() == zoo.autoencoder().SerializeToString()
    monkeypatch.chdir(tmp_path)
    outcome = command("zoo", "autoencoder", "--float", "-o", tmp_path / "float.onnx")
    assert "`match quantize" in outcome.out
    assert (tmp_path / "float.onnx").read_bytes() == zoo.build("autoencoder", quantized=False).SerializeToString()
    outcome = command("zoo", "ds_cnn", "--classes", "3")
    assert outcome.status == 0
    assert "match compile ds_cnn.onnx" in outcome.out
    (scores,) = exact_session("ds_cnn.onnx").get_outputs()
    assert scores.shape == [1, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ds_cnn.onnx", "float.onnx", "x.onnx"]


def test_demo(command: Command) -> None:
    outcome = command("demo")
    assert outcome.status == 0, outcome.err
    assert "450 handwritten digits" in outcome.out
    right = [int(line.split("(")[1].split()[0]) for line in outcome.out.splitlines() if "% right" in line]
    assert len(right) == 2, "the generated C and onnxruntime"
    assert min(right) >= 441, "98 % of 450"
    assert right[0] == right[1]
    assert "the same digit in 450 of 450 images" in outcome.out
    assert "Predicted: " in outcome.out


def test_demo_says_when_there_is_nothing_to_compare_with(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    outcome = command("demo")
    assert outcome.status == 0
    assert "onnxruntime                  not installed" in outcome.out


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["compile", "--help"], ["run", "-h"], ["targets", "-h"], ["zoo", "-h"]]
)
def test_help(command: Command, arguments: list[str]) -> None:
    outcome = command(*arguments)
    assert outcome.status == 0
    assert "Usage: match" in outcome.out


def test_help_says_what_is_taken_without_an_option(command: Command) -> None:
    for name, defaults in (("compile", ["(all)", "(the target's)", "gap9"]), ("run", ["see --seed"]), ("zoo", ["all"])):
        text = " ".join(command(name, "-h").out.replace("│", " ").split())
        assert all(default in text.partition("default:")[2] for default in defaults)


def test_version(command: Command) -> None:
    outcome = command("--version")
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]
    assert (outcome.status, outcome.out) == (0, f"match {project['version']}\n")
    assert match.__version__ == project["version"]


@pytest.mark.parametrize(
    ("given", "size"),
    [("64k", 65536), ("64K", 65536), ("64kB", 65536), ("64KiB", 65536), ("1M", 1 << 20), ("777", 777)],
)
def test_sizes(given: str, size: int) -> None:
    assert number_of_bytes(given) == size


def test_sizes_of_l1_by_module(command: Command, tmp_path: Path) -> None:
    """Modules that share it have the size that one of them is given."""
    command("compile", DIGITS, "--l1", "cluster=16k", "-o", tmp_path / "by_module")
    command("compile", DIGITS, "--l1", "16k", "-o", tmp_path / "one")
    reports = [decode((tmp_path / name / "report.json").read_bytes()) for name in ("by_module", "one")]
    assert [report.options.l1 for report in reports] == [{"cluster": 16384}, 16384]
    assert reports[0].layers == reports[1].layers
    assert command("validate", tmp_path / "by_module", "--against", DIGITS, "--samples", "1").status == 0
    assert "L1 cluster=16384 bytes" in command("compare", tmp_path / "by_module", tmp_path / "one").out
    page = tmp_path / "page.html"
    command("report", tmp_path / "by_module", "-o", page)
    assert "16.0 KiB of cluster" in page.read_text(encoding="utf-8")
    wrong = command("compile", DIGITS, "--l1", "cluster=16k,npu=x", "-o", tmp_path / "wrong")
    assert wrong.status == 2
    assert "the L1 (npu) size must be a number of bytes" in " ".join(wrong.err.split())


def test_sizes_in_python(tmp_path: Path) -> None:
    for given in ("16k", 16384):
        compiled = match.compile(DIGITS, "gap9", l1=given, l2="512k")
        options, target = compiled.report.options, compiled.report.target
        assert (options.l1, target.main_memory.bytes) == (16384, 1 << 19)
    module = match.load(DIGITS)
    assert match.partition(module, "gap9", l1="16k")
    assert match.get_target("gap9", l1="16k").modules[0].memories[-1].size == 16384
    for wrong in ("16 k", "0", "1e4", "16g", "²k"):
        with pytest.raises(OptionError, match=rf"the L1 size must be .*, such as 65536 or '64k', not '{wrong}'"):
            match.compile(DIGITS, "gap9", l1=wrong)


@pytest.mark.parametrize("given", ["64 k", "0k", "-1k", "1.5M", "k", "64g", "²k", ""])
def test_what_is_no_size(given: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not a positive number of bytes, such as 65536, 64k or 1M"):
        number_of_bytes(given)


def test_help_loads_neither_tvm_nor_numpy() -> None:
    code = """
import sys
from match.cli import main
try:
    main(["--help"])
finally:
    print([name for name in ("tvm", "numpy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_module_is_the_script() -> None:
    done = subprocess.run([sys.executable, "-m", "match", "nonsense"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "match: No such command 'nonsense'.\n")
