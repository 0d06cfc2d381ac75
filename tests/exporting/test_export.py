"""Exported libraries: built as each build system does, they compute on a Cortex-M4 what this machine computes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import match
from match.errors import OptionError, OutputError
from match.exporting.library import Library
from match.exporting.self_contained import self_contained
from match.exporting.write import export
from match.run import read_manifest, run
from match.run.counts import read_log

pytestmark = pytest.mark.cc

DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"
MACHINE = ("-mcpu=cortex-m4", "-mfloat-abi=hard", "--specs=picolibc.specs", "--oslib=semihost", "-O1")
SECTIONS = ("-ffunction-sections", "-fdata-sections")
BOARD = {"flash": 0x08000000, "flash_size": 0x80000, "ram": 0x20000000, "ram_size": 0x20000, "stack_size": 0x2000}
"""NUCLEO-F446RE, which QEMU's netduinoplus2 (STM32F405) has all memory of."""

LINK = ("--crt0=semihost", "-Wl,--gc-sections", *(f"-Wl,--defsym=__{name}={value}" for name, value in BOARD.items()))
QEMU = ("qemu-system-arm", "-M", "netduinoplus2", "-nographic", "-semihosting-config", "enable=on,target=native")
WARNINGS = ("-Wall", "-Wextra", "-Werror")

PROGRAM = """
#include <stdio.h>
#include "digits.h"
#include "again.h"
#include "match_count.h"

static digits_context_t digits;
static again_context_t again;

static void print(const float *scores)
{
    for (int i = 0; i < DIGITS_OUTPUT_SCORES_ELEMENTS; i++) {
        printf("%d ", (int)(scores[i] * 1000.0f));
    }
    printf("\\n");
}

int main(void)
{
    int status = match_platform_open();
    status = status ? status : digits_init(&digits, digits_workspace, sizeof digits_workspace);
    status = status ? status : again_init(&again, again_workspace, sizeof again_workspace);
    status = status ? status : digits_set_hooks(&digits, &match_count_hooks);
    for (int i = 0; i < DIGITS_INPUT_IMAGE_ELEMENTS; i++) {
        digits_input_image(&digits)[i] = (float)(i % 17) / 16.0f;
        again_input_image(&again)[i] = (float)(i % 17) / 16.0f;
    }
    status = status ? status : digits_run(&digits, NULL, NULL);
    status = status ? status : again_run(&again, NULL, NULL);
    print(digits_output_scores(&digits));
    print(again_output_scores(&again));
    return status;
}
"""


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two networks for one board."""
    folder = tmp_path_factory.mktemp("projects")
    for name in ("digits", "again"):
        match.compile(DIGITS, "nucleo_f446re", name=name, output=folder / name)
    return folder / "digits", folder / "again"


@pytest.fixture(scope="module")
def scores(projects: tuple[Path, Path]) -> list[str]:
    """What the programs print of each network."""
    image = ((np.arange(256) % 17).astype(np.float32) / np.float32(16)).reshape(1, 1, 16, 16)
    (output,) = run(projects[0], {"image": image}).values()
    return [" ".join(map(str, (output.reshape(-1) * np.float32(1000)).astype(int)))] * 2


def call(*command: object, at: Path | None = None) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=at)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def compiled(place: Path, sources: Iterable[Path], include: Iterable[Path], *flags: str) -> list[Path]:
    """Objects of C sources, which may have equal names."""
    place.mkdir()
    objects: list[Path] = []
    for number, source in enumerate(sources):
        objects.append(place / f"{number}_{source.stem}.o")
        folders = [f"-I{folder}" for folder in include]
        call("arm-none-eabi-gcc", *MACHINE, *SECTIONS, *WARNINGS, *flags, *folders, "-c", source, "-o", objects[-1])
    return objects


def printed(program: Path) -> tuple[list[str], list[str]]:
    """What a program prints on a Cortex-M4: counts, and all else."""
    lines = call("timeout", "60", *QEMU, "-kernel", program).splitlines()
    counts = [line for line in lines if '"event"' in line]
    return counts, [line.strip() for line in lines if line not in counts]


def linked(place: Path, objects: Iterable[Path], *more: object) -> Path:
    call("arm-none-eabi-gcc", *MACHINE, *objects, *more, "-o", place, *LINK, "-lm")
    return place


@pytest.mark.usefixtures("qemu_arm")
def test_zephyr(projects: tuple[Path, Path], scores: list[str], tmp_path: Path) -> None:
    """With functions of the same names in place of Zephyr's, whose libraries are linked as a whole."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    module = tmp_path / "module"
    export(projects, "zephyr", module, name="digit networks")
    described = (module / "zephyr" / "module.yml").read_text().splitlines()
    assert described == ["name: digit_networks", "build:", "  cmake: zephyr", "  kconfig: zephyr/Kconfig"]
    assert (module / "zephyr" / "Kconfig").read_text().startswith("config MATCH_DIGIT_NETWORKS\n")
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.20)
project(app C)
add_library(zephyr_interface INTERFACE)
target_compile_options(zephyr_interface INTERFACE {" ".join((*MACHINE, *SECTIONS, *WARNINGS))})
macro(zephyr_library_named name)
    set(ZEPHYR_CURRENT_LIBRARY ${{name}})
    add_library(${{name}} STATIC)
    target_link_libraries(${{name}} PUBLIC zephyr_interface)
endmacro()
function(zephyr_library_sources)
    target_sources(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGV}})
endfunction()
function(zephyr_library_compile_options)
    target_compile_options(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGV}})
endfunction()
function(zephyr_include_directories)
    target_include_directories(zephyr_interface INTERFACE ${{ARGV}})
endfunction()
set(CONFIG_MATCH_DIGIT_NETWORKS y)
add_subdirectory({module}/zephyr module)
add_executable(app main.c)
target_link_libraries(app PRIVATE -Wl,--whole-archive digit_networks -Wl,--no-whole-archive m)
target_link_options(app PRIVATE {" ".join((*MACHINE, *LINK))})
""")
    cross = ("-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_C_COMPILER=arm-none-eabi-gcc")
    call("cmake", "-S", tmp_path, "-B", tmp_path / "build", *cross, "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY")
    call("cmake", "--build", tmp_path / "build", "-j2")
    assert printed(tmp_path / "build" / "app")[1] == scores


SERIAL = """
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
struct Console {
    void begin(long) {}
    void print(const char *text) { printf("%s", text); }
    void print(uint32_t number) { printf("%lu", (unsigned long)number); }
    void println(const char *text) { printf("%s\\n", text); }
};
static Console Serial;
static inline void delay(int) { exit(0); }
void setup();
void loop();
int main() { setup(); for (;;) loop(); }
"""


@pytest.mark.usefixtures("qemu_arm")
def test_arduino(projects: tuple[Path, Path], scores: list[str], tmp_path: Path) -> None:
    """All below `src` is compiled with that folder alone; the sketch prints what `match measure` reads."""
    library = tmp_path / "library"
    export(projects, "arduino", library)
    properties = dict(line.split("=", 1) for line in (library / "library.properties").read_text().splitlines())
    required = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
    assert required <= properties.keys()
    assert re.fullmatch(r"\d+\.\d+\.\d+", properties["version"])
    assert properties["includes"] == "digits.h,again.h"
    source = library / "src"
    objects = compiled(tmp_path / "objects", sorted(source.rglob("*.c")), [source], "-std=gnu11")
    archive = tmp_path / "library.a"
    call("arm-none-eabi-ar", "rcs", archive, *objects)
    (tmp_path / "main.c").write_text(PROGRAM)
    main = compiled(tmp_path / "main", [tmp_path / "main.c"], [source])
    assert printed(linked(tmp_path / "program", main, archive))[1] == scores
    (sketch,) = library.glob("examples/measure_digits/*.ino")
    (tmp_path / "Arduino.h").write_text(SERIAL)
    plain = ("-std=gnu++17", "-fno-exceptions", "-fno-rtti", "-include", tmp_path / "Arduino.h", f"-I{source}")
    call("arm-none-eabi-g++", *MACHINE, *WARNINGS, *plain, "-x", "c++", "-c", sketch, "-o", tmp_path / "sketch.o")
    counts, others = printed(linked(tmp_path / "measured", [tmp_path / "sketch.o"], archive))
    assert others == ["done"]
    log = tmp_path / "log"
    log.write_text("".join(f"12:00:01 -> {line}\n" for line in counts))
    calls = read_manifest(projects[0]).calls
    assert [found.call for found in read_log(log, calls, "chip", "cycles").calls] == list(calls)


@pytest.mark.usefixtures("qemu_arm")
def test_cmsis(projects: tuple[Path, Path], scores: list[str], tmp_path: Path) -> None:
    """The files that the pack's description names, with its folders of headers and no flags of its own."""
    pack = tmp_path / "pack"
    export(projects, "cmsis", pack, name="networks")
    root = ElementTree.parse(pack / "MATCH.networks.pdsc").getroot()
    assert [element.tag for element in root] == ["vendor", "name", "description", "url", "releases", "components"]
    files = {category: [] for category in ("include", "header", "source")}
    for entry in root.iter("file"):
        files[entry.attrib["category"]].append(pack / entry.attrib["name"])
    assert all(path.is_file() for path in (*files["header"], *files["source"]))
    (tmp_path / "main.c").write_text(PROGRAM)
    objects = compiled(tmp_path / "objects", [*files["source"], tmp_path / "main.c"], files["include"], "-std=gnu11")
    assert printed(linked(tmp_path / "program", objects))[1] == scores


def test_real_numbers_are_rounded_apart_without_flags(tmp_path: Path) -> None:
    """The compiler would make one instruction of a product and a sum."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not on the PATH")
    text = "float f(float a, float b, float c);\nfloat f(float a, float b, float c)\n{\n    return a * b + c;\n}\n"
    library = Library("n", ("n",), "t", "chip", {"src/f.c": text}, ("src/f.c",), (), {"SIZE": "4"})
    made = self_contained(library)
    assert made.files["src/f.c"].startswith("#define SIZE 4\n")
    assert not made.defines
    found = []
    for name, one in (("before.c", text), ("after.c", made.files["src/f.c"])):
        (tmp_path / name).write_text(one)
        found.append("vfma" in call("arm-none-eabi-gcc", *MACHINE, "-O2", "-S", tmp_path / name, "-o", "-"))
    assert found == [True, False]


def test_an_export_replaces_its_own_files(projects: tuple[Path, Path], tmp_path: Path) -> None:
    place = tmp_path / "library"
    export(projects, "zephyr", place)
    (place / "mine.txt").write_text("mine")
    export(projects[:1], "zephyr", place)
    assert not (place / "src" / "again").exists()
    assert (place / "mine.txt").read_text() == "mine"
    (place / "include" / "digits.h").write_text("changed")
    with pytest.raises(OutputError, match="changes of yours"):
        export(projects[:1], "arduino", place)
    export(projects[:1], "arduino", place, overwrite=True)
    assert not (place / "zephyr").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("")
    with pytest.raises(OutputError, match="are no export; choose another folder"):
        export(projects, "zephyr", other)


def test_what_is_no_library(projects: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no export for 'keil'; choose one of zephyr, arduino, cmsis"):
        export(projects, "keil", tmp_path / "a")
    with pytest.raises(OptionError, match="two networks are called digits"):
        export((projects[0], projects[0]), "zephyr", tmp_path / "b")
    with pytest.raises(OptionError, match="no platform 'bare'"):
        export(projects, "zephyr", tmp_path / "c", platform="bare")
    match.compile(DIGITS, "pico_2", name="pico", output=tmp_path / "pico")
    with pytest.raises(OptionError, match="digits is for nucleo_f446re and pico for pico_2"):
        export((projects[0], tmp_path / "pico"), "zephyr", tmp_path / "d")
    assert [path.name for path in tmp_path.iterdir()] == ["pico"]
