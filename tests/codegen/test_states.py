"""States in firmware: a context's own, kept between runs, and reset."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import match
from match import run as runs
from tests.tflite.streams import Array, micro, wake_word

pytestmark = pytest.mark.cc

STATE, OK = -6, 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of a network with two states, with its model beside it."""
    place = tmp_path_factory.mktemp("states")
    match.compile(wake_word(place), "gap9", numerics="exact", output=place / "out")
    return place


def run(command: list[object]) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def step(number: int) -> Array:
    values = (number * 37 + np.arange(16) * 11) % 256 - 128
    return values.astype(np.int8).reshape(1, 2, 1, 8)


def expected(path: Path, numbers: list[int]) -> list[str]:
    return [f"0 {' '.join(map(str, output.reshape(-1)))}" for output in micro(path, [step(n) for n in numbers])]


def test_contexts_have_states_of_their_own(folder: Path) -> None:
    project, model = folder / "out", folder / "stream.tflite"
    sanitize = "address,undefined"
    run(["make", "-s", "-C", project, "WERROR=1", f"SANITIZE={sanitize}", "lib"])
    folders = ("include", "kernels/include", "kernels/host", "targets/pulp/include", "targets/pulp/host")
    include = [f"-I{project / part}" for part in folders]
    archive = project / "build" / "host-address-undefined" / "libstream.a"
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-fsanitize={sanitize}", "-pthread"]
    program = folder / "states"
    run(["g++", *flags, *include, Path(__file__).parent / "states.cpp", archive, "-o", program, "-lm"])
    lines = run([program]).splitlines()
    first, second = expected(model, [0, 1, 2, 3]), expected(model, [0, 2, 5])
    interleaved = [first[0], second[0], first[1], first[2], second[1], first[3]]
    assert lines == [str(STATE), *interleaved, str(OK), first[0], second[2], first[0]]
    assert len(set(lines)) > 6


def test_the_header_says_what_a_context_keeps(folder: Path) -> None:
    header = (folder / "out" / "include" / "stream.h").read_text()
    assert "#define STREAM_STATE_BYTES 88" in header
    assert "stream_reset" in header


def test_networks_without_states_have_nothing_to_reset(tmp_path: Path) -> None:
    match.compile(match.zoo.build("ds_cnn"), "gap9", output=tmp_path / "out")
    texts = [path.read_text() for path in (tmp_path / "out").rglob("*.[ch]") if path.parent.name != "kernels"]
    assert not any("ds_cnn_reset" in text or "STATE_BYTES" in text for text in texts)


@pytest.mark.usefixtures("qemu")
def test_streams_on_a_core_without_an_operating_system(folder: Path) -> None:
    inputs = np.stack([step(number) for number in range(6)])
    outputs, _ = runs.measure(folder / "out", {"t0": inputs}, on="qemu")
    (found,) = outputs.values()
    assert np.array_equal(found.reshape(6, -1), np.stack(micro(folder / "stream.tflite", list(inputs))).reshape(6, -1))
