"""Networks as libraries of CMake: the example on both machines, and who says what a library is compiled with."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import match
from match.compiled.model import CompiledModel
from match.run import read_manifest

pytestmark = pytest.mark.cc

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "cmake"
DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"
QEMU = ("qemu-system-riscv32", "-M", "virt", "-m", "128M", "-bios", "none", "-nographic")
QEMU_F405 = ("qemu-system-arm", "-M", "netduinoplus2", "-nographic")
CROSS = ("-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_C_COMPILER=riscv64-unknown-elf-gcc")
ONLY_COMPILE = "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"


@pytest.fixture(scope="module")
def digits() -> CompiledModel:
    return match.compile(DIGITS, "gap9", name="digits")


@pytest.fixture(scope="module")
def folder(digits: CompiledModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    place = tmp_path_factory.mktemp("cmake") / "digits"
    digits.save(place)
    return place


def call(*command: object) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def configured(source: Path, build: Path, *options: object) -> list[str]:
    """The commands that compile the library's own C."""
    call("cmake", "-S", source, "-B", build, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options)
    entries = json.loads((build / "compile_commands.json").read_text())
    found = [entry["command"] for entry in entries if "runtime/" in entry["file"]]
    assert found
    return found


def printed(digits: CompiledModel) -> list[str]:
    image = ((np.arange(256) % 17).astype(np.float32) / np.float32(16)).reshape(1, 1, 16, 16)
    (scores,) = digits.run({"image": image}).values()
    values = (scores.reshape(-1) * np.float32(1000)).astype(int)
    return [f"{digit}: {value} thousandths" for digit, value in enumerate(values)]


def test_the_example_on_this_machine(digits: CompiledModel, folder: Path, tmp_path: Path) -> None:
    configured(EXAMPLE, tmp_path, f"-DDIGITS={folder}")
    call("cmake", "--build", tmp_path)
    assert call(tmp_path / "firmware").splitlines() == printed(digits)


@pytest.mark.usefixtures("qemu")
def test_the_example_on_a_risc_v_core(digits: CompiledModel, folder: Path, tmp_path: Path) -> None:
    """Compiled with what the toolchain file says alone: instructions that `make` does not compile for."""
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={EXAMPLE / 'riscv.cmake'}"
    for command in configured(EXAMPLE, tmp_path, f"-DDIGITS={folder}", toolchain):
        assert command.count("-march=") == command.count("-march=rv32imac ") == 1
        assert command.count("--specs=") == 1
        assert "--crt0" not in command
    call("cmake", "--build", tmp_path)
    command = [*QEMU, "-semihosting-config", "enable=on,target=native", "-kernel", str(tmp_path / "firmware")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    assert done.stdout.splitlines() == printed(digits)


@pytest.mark.usefixtures("qemu_arm")
def test_the_example_on_a_board(tmp_path: Path) -> None:
    """QEMU's STM32F405 has the memories of the STM32F446RE, and no counter of cycles."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    digits = match.compile(DIGITS, "nucleo_f446re", name="digits", output=tmp_path / "digits")
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={EXAMPLE / 'cortex_m.cmake'}"
    for command in configured(EXAMPLE, tmp_path / "build", f"-DDIGITS={tmp_path}/digits", toolchain, "-DCOUNT=ON"):
        assert command.count("-mcpu=") == command.count("-mcpu=cortex-m4 ") == 1
    call("cmake", "--build", tmp_path / "build")
    firmware = str(tmp_path / "build" / "firmware")
    command = [*QEMU_F405, "-semihosting-config", "enable=on,target=native", "-kernel", firmware]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    lines = done.stdout.splitlines()
    calls = read_manifest(tmp_path / "digits").calls
    assert lines == [*(f'{{"event":"count","call":{n},"count":0}}' for n in range(len(calls))), *printed(digits)]


def project(folder: Path, place: Path, lines: str = "", version: str = "3.13") -> Path:
    place.mkdir()
    (place / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION {version})\nproject(app C)\n{lines}\ninclude({folder}/digits.cmake)\n"
    )
    return place


@pytest.mark.parametrize("version", ["3.13", "3.25"])
def test_a_project_says_the_platform(folder: Path, tmp_path: Path, version: str) -> None:
    """Before CMake 3.21 a cached variable took the place of one that was set."""
    source = project(folder, tmp_path / "app", "set(DIGITS_PLATFORM qemu)", version)
    for _ in range(2):  # the second time from the cache
        assert "-DPULP_CLUSTER_CORES=1" in configured(source, tmp_path / "build")[0]


def test_the_platform_on_the_command_line_and_by_default(folder: Path, tmp_path: Path) -> None:
    source = project(folder, tmp_path / "app")
    assert "-DPULP_CLUSTER_CORES=1" in configured(source, tmp_path / "qemu", "-DDIGITS_PLATFORM=qemu")[0]
    assert "-pthread" in configured(source, tmp_path / "host")[0]


def test_without_a_toolchain_file_the_machine_is_what_make_takes(folder: Path, tmp_path: Path) -> None:
    source = project(folder, tmp_path / "app", "set(DIGITS_PLATFORM qemu)")
    command = configured(source, tmp_path / "build", *CROSS, ONLY_COMPILE)[0]
    assert "-march=rv32imc " in command
    assert "--specs=picolibc.specs" in command
    own = configured(source, tmp_path / "own", *CROSS, ONLY_COMPILE, "-DCMAKE_C_FLAGS=-march=rv32im -mabi=ilp32")[0]
    assert "-march=rv32im " in own
    assert "rv32imc" not in own
    assert "--specs" not in own


def test_the_standard_is_the_projects(folder: Path, tmp_path: Path) -> None:
    for standard in ("11", "17"):
        lines = f"set(CMAKE_C_STANDARD {standard})\nset(CMAKE_C_EXTENSIONS OFF)"
        source = project(folder, tmp_path / f"app{standard}", lines)
        commands = configured(source, tmp_path / f"build{standard}")
        assert all(f"-std=c{standard} " in command for command in commands)
        assert all("-ffp-contract=off" in command for command in commands)
    call("cmake", "--build", tmp_path / "build17")
