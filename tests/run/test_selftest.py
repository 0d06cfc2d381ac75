"""Self-tests: a program on the chip says if it computes what this machine did, and else in which layer it does not."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import match
from match.errors import InputError
from match.run import dump, random_inputs, read_manifest
from match.run.selftest import write_selftest

pytestmark = pytest.mark.cc

DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"

PROGRAM = """
#include <stdio.h>
#include "digits_selftest.h"

static digits_context_t context;

int main(void)
{
    match_selftest_t test = {0};
    int32_t status = match_platform_open();
    status = status ? status : digits_init(&context, digits_workspace, DIGITS_ROOM);
    status = status ? status : digits_selftest(&context, &test);
    printf("%d %d", (int)status, (int)test.checked);
    printf(" '%s' '%s'\\n", test.wrong ? test.wrong->layer : "-", test.wrong ? test.wrong->tensor : "-");
    match_platform_close();
    return 0;
}
"""
QEMU = (
    "-misa-spec=2.2",
    "-march=rv32imc",
    "-mabi=ilp32",
    "--specs=picolibc.specs",
    "--oslib=semihost",
    "--crt0=semihost",
)
MEMORY = {"flash": 0x80000000, "flash_size": 0x4000000, "ram": 0x84000000, "ram_size": 0x4000000, "stack_size": 0x10000}


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a self-test."""
    folder = tmp_path_factory.mktemp("selftest") / "digits"
    match.compile(DIGITS, "gap9", name="digits", fuse=False, output=folder)
    assert write_selftest(folder, random_inputs(read_manifest(folder), 3)) == folder / "selftest"
    return folder


def copied(digits: Path, place: Path) -> Path:
    return shutil.copytree(digits, place / "digits", ignore=shutil.ignore_patterns("build"))


def call(*command: object) -> str:
    """What a command prints, also to stderr, as QEMU does."""
    done = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def said_by(folder: Path, *, dumped: bool = True, platform: str = "host", room: str = "sizeof digits_workspace") -> str:
    """What the program prints: status, tensors compared, the first that differs."""
    call("make", "-s", "-C", folder, f"PLATFORM={platform}", "WERROR=1", f"DUMP={int(dumped) or ''}", "lib")
    archive = folder / f"build/{platform}{'-dump' if dumped else ''}/libdigits.a"
    (folder / "main.c").write_text(PROGRAM)
    include = [f"-I{folder / part}" for part in ("include", "kernels/include", "selftest")]
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wmissing-prototypes", f"-DDIGITS_ROOM={room}"]
    sources = [folder / "main.c", *sorted((folder / "selftest").glob("*.c"))]
    program = folder / "program.elf"
    if platform == "host":
        call("cc", *flags, *include, *sources, archive, "-pthread", "-lm", "-o", program)
        return call(program)
    link = [f"-Wl,--defsym=__{name}={value}" for name, value in MEMORY.items()]
    call("riscv64-unknown-elf-gcc", *QEMU, *flags, *include, *sources, archive, "-lm", *link, "-o", program)
    machine = ("-M", "virt", "-m", "128M", "-bios", "none", "-nographic")
    semihosting = ("-semihosting-config", "enable=on,target=native")
    return call("qemu-system-riscv32", *machine, *semihosting, "-kernel", program)


def tensors(folder: Path) -> int:
    """Operands of layers on modules, and the output."""
    return len(dump(folder, random_inputs(read_manifest(folder), 3))[1]) + 1


def test_this_machine_computes_what_it_computed(digits: Path, tmp_path: Path) -> None:
    folder = copied(digits, tmp_path)
    assert said_by(folder) == f"0 {tensors(folder)} '-' '-'\n"
    assert said_by(folder, dumped=False) == "0 1 '-' '-'\n"


@pytest.mark.usefixtures("qemu")
def test_a_core_without_an_operating_system_does(digits: Path, tmp_path: Path) -> None:
    folder = copied(digits, tmp_path)
    assert said_by(folder, platform="qemu") == f"0 {tensors(folder)} '-' '-'\n"


def test_the_first_layer_that_is_wrong_is_named(digits: Path, tmp_path: Path) -> None:
    """Some of its weights are 0: layers behind it differ, too; without dumps the output does."""
    folder = copied(digits, tmp_path)
    layers = [path for path in sorted((folder / "src").glob("[0-9]*.c")) if "/* filter" in path.read_text()]
    weights = re.compile(r"(?<=\*/\n)( +\d+,)+( \d+,)+")
    wrong = next(path for path in layers[1:] if weights.search(path.read_text()))
    text, changed = weights.subn(lambda line: re.sub(r"\d+", "0", line[0]), wrong.read_text(), count=1)
    assert changed
    wrong.write_text(text)
    assert said_by(folder) == f"0 {tensors(digits)} 'digits_{wrong.stem}' 'output'\n"
    assert said_by(folder, dumped=False) == "0 1 '' 'scores'\n"


def test_what_is_refused(digits: Path, tmp_path: Path) -> None:
    """A library of another compilation; a workspace without room for inputs and outputs, if they need some."""
    folder = copied(digits, tmp_path)
    network = folder / "src/network.c"
    text = network.read_text()
    network.write_text(text.replace(".fingerprint = DIGITS_FINGERPRINT", '.fingerprint = "another"'))
    assert said_by(folder).startswith("-14 0 ")
    header = (folder / "include/digits.h").read_text()
    sizes = dict(re.findall(r"#define DIGITS_(WORKSPACE\w*)_BYTES (\d+)", header))
    network.write_text(text)
    expected = "0" if sizes["WORKSPACE"] == sizes["WORKSPACE_IO"] else "-12"
    assert said_by(folder, room="DIGITS_WORKSPACE_BYTES").startswith(f"{expected} ")


def test_one_sample_is_taken(digits: Path) -> None:
    image = random_inputs(read_manifest(digits), 0)["image"]
    with pytest.raises(InputError, match=r"a self-test has one sample: image has shape \[2, 1, 1, 16, 16\]"):
        write_selftest(digits, {"image": np.stack([image, image])})
    with pytest.raises(InputError, match="digits takes"):
        write_selftest(digits, {})
