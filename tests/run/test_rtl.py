"""One core's RTL as a place to run: what is computed and counted there, and what is said when something is wrong."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import match
from match.devtools.demo import INPUT, OUTPUT, load_images
from match.dispatch.plan import CPU
from match.errors import OptionError, ToolchainError
from match.report.schema import Measurement
from match.run import RUNNERS, build, random_inputs, read_manifest, run
from match.run.rtl import simulator
from match.run.runner import Job
from match.target.hardware import Platform
from match.targets.gap9.target import Gap9
from match.validation.exact_session import exact_session
from tests.e2e import tflite_network
from tests.kernels.toolchain import PACKAGE, compile_for

pytestmark = pytest.mark.cc

DEMO = PACKAGE / "devtools" / "demo"
SAMPLES = 1
NETWORKS = ("kws_ref_model", "ad01_int8", "pretrainedResnet_quant", "vww_96_int8")
SCENARIOS = ("copy", "sizes", "beyond_l1", "dma_beyond_l1", "lost_transfers", "unknown", "no_function", "fails")


@pytest.fixture(scope="module")
def platform() -> Platform:
    return next(platform for platform in Gap9().platforms if platform.name == "rtl")


@pytest.fixture(scope="module")
def scenarios(rtl: None, platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """rtl_scenarios.c, with what the platform has beside the kernels."""
    sources = [
        PACKAGE / path
        for path in platform.sources
        if path.parts[:2] != ("kernels", "pulp") and path.stem != "pulp_team"
    ]
    own = [PACKAGE / (platform.io or ""), Path(__file__).with_name("rtl_scenarios.c")]
    return compile_for(platform, [*sources, *own], tmp_path_factory.mktemp("rtl") / "scenarios")


def play(program: Path, name: str) -> bytes:
    return RUNNERS["rtl"].run(Job(program, bytes([SCENARIOS.index(name)]), (), "the program")).outputs


def test_the_dma_copies_pieces(scenarios: Path) -> None:
    outputs = np.frombuffer(play(scenarios, "copy"), np.uint8)
    source = np.arange(1, 81, dtype=np.uint8)
    places = np.array([plane * 40 + row * 7 + byte for plane in range(2) for row in range(3) for byte in range(5)])
    expected = np.zeros(80, np.uint8)
    expected[places] = source[places]
    assert np.array_equal(outputs[:30], source[places])
    assert np.array_equal(outputs[30:], expected)


def test_memories_have_the_chips_sizes(scenarios: Path) -> None:
    assert play(scenarios, "sizes") == b"\x01"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("beyond_l1", f"the core reads 0x{0x1000_0000 + 116 * 1024:08x}, where no memory is"),
        ("dma_beyond_l1", "the DMA leaves the memories: 8 bytes, local 0x1001cffc"),
        ("lost_transfers", "the DMA has no counter left: 16 transfers wait"),
        ("unknown", "the core trapped at 0x0000[0-9a-f]{4}, mcause 2"),
        ("no_function", "the core executes 0x40000000, where no memory is"),
        ("fails", "exit status 3"),
    ],
)
def test_programs_that_fail(scenarios: Path, name: str, message: str) -> None:
    with pytest.raises(ToolchainError, match=f"the program failed: .*{message}"):
        play(scenarios, name)


@pytest.mark.usefixtures("rtl")
@pytest.mark.parametrize("module", ["cluster", "core"])
def test_the_demo_computes_what_it_computes_elsewhere(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-O2")
    compiled = match.compile(
        DEMO / "digits.onnx", "pulp_open", modules=[module], numerics="exact", output=tmp_path / "digits"
    )
    images, _ = load_images(DEMO / "digits.npz")
    given = {INPUT: images[:SAMPLES]}
    outputs, measured = compiled.measure(given, on="rtl")
    assert np.array_equal(outputs[OUTPUT], compiled.run(given)[OUTPUT])
    session = exact_session(DEMO / "digits.onnx")
    expected = [session.run([OUTPUT], {INPUT: image})[0] for image in images[:SAMPLES]]
    assert [array.argmax() for array in outputs[OUTPUT]] == [array.argmax() for array in expected]
    assert (measured.platform, measured.unit, measured.samples) == ("rtl", "cycles", SAMPLES)
    check_cycles(measured, compiled)


def check_cycles(measured: Measurement, compiled: match.CompiledModel) -> None:
    """Layers with multiply-accumulates take what is predicted for one core, a tenth more or less, short ones a fifth.

    Short are maps of a few pixels, whose odd numbers of channels are priced roughly. Nothing makes more than 32
    multiply-accumulates in 14 cycles.
    """
    layers = {layer.name: layer for layer in compiled.report.layers}
    counted = [(layers[group.layers[0]], group.count) for group in measured.layers]
    on_modules = [(layer, count) for layer, count in counted if layer.module != CPU and layer.macs]
    assert on_modules
    for layer, count in on_modules:
        assert count > layer.macs * 14 / 32
        assert count == pytest.approx(layer.platform_cycles["rtl"], rel=0.1 if count > 30_000 else 0.2), layer.name


@pytest.mark.sweep
@pytest.mark.usefixtures("rtl")
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("module", ["cluster", "core"])
def test_networks_equal_tflite_micro(name: str, module: str, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-O2")
    path = models_dir / f"{name}.tflite"
    network = tflite_network.read(path)
    tensor = network.tensors[network.input]
    inputs = np.random.default_rng(11).integers(-128, 128, (1, *tensor.shape)).astype(np.int8)
    compiled = match.compile(path, "gap9", modules=[module], numerics="exact")
    outputs, measured = compiled.measure({tensor.name: inputs}, on="rtl")
    (output,) = outputs.values()
    assert np.array_equal(output, tflite_network.run_micro(path, inputs))
    check_cycles(measured, compiled)


def test_networks_with_an_accelerator_are_refused(tmp_path: Path) -> None:
    match.compile(DEMO / "digits.onnx", "gap9", output=tmp_path / "digits")
    manifest = read_manifest(tmp_path / "digits")
    sentence = (
        "digits has layers on ne16, which platform 'rtl' of gap9 does not have; compile .* --modules cluster,core"
    )
    with pytest.raises(OptionError, match=sentence):
        run(tmp_path / "digits", random_inputs(manifest, 0), on="rtl")
    with pytest.raises(OptionError, match=sentence):
        build(tmp_path / "digits", "rtl")
    assert "make PLATFORM=qemu" in (tmp_path / "digits" / "Makefile").read_text()
    assert "make PLATFORM=rtl" not in (tmp_path / "digits" / "Makefile").read_text()


@pytest.mark.parametrize("tool", ["verilator", "g++"])
def test_without_tools(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == tool else name)
    with pytest.raises(ToolchainError, match=rf"{tool[0]}\S+ is not installed; on Debian: apt-get install {tool[0]}"):
        simulator.simulator(tmp_path)


def test_without_the_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setitem(sys.modules, "pythondata_cpu_cv32e40p", None)
    with pytest.raises(ToolchainError, match="the core's sources are not installed; pip install pythondata-cpu-cv32e"):
        simulator.simulator(tmp_path)


@pytest.mark.usefixtures("rtl")
def test_the_simulator_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def build_again(*_: object) -> None:
        raise AssertionError("it is there")

    monkeypatch.setattr(simulator, "call", build_again)
    assert simulator.simulator(simulator.default_folder()).is_file()
