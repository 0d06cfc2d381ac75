"""The interface for firmware: programs that link a network's archive and do with it what they may, and may not."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest

import match
from match import zoo
from match.compiled.model import CompiledModel
from tests.gap_sdk.sdk import plain_flags

pytestmark = pytest.mark.cc

PROJECT = Path(__file__).resolve().parents[2]
DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"
FIRMWARE = PROJECT / "examples" / "firmware"

OK, PLATFORM, ARGUMENT, STATE, BUSY, ALIGNMENT, SIZE, OVERLAP = 0, -1, -5, -6, -7, -11, -12, -13


def call(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def digits() -> CompiledModel:
    return match.compile(DIGITS, "gap9", name="digits", fuse=False)  # several operators to poll, hook and fail


@pytest.fixture(scope="module")
def folder(digits: CompiledModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("firmware") / "digits"
    digits.save(place)
    return place


def images(*steps: int) -> list[np.ndarray]:
    flat = np.arange(256)
    return [((flat % n).astype(np.float32) / np.float32(n - 1)).reshape(1, 1, 16, 16) for n in steps]


def linked(folder: Path, sanitize: str) -> Path:
    """The program of scenarios with the archive, made once for each of the sanitizers."""
    call("make", "-s", "-C", folder, "WERROR=1", f"SANITIZE={sanitize}", "lib")
    program = folder / f"scenarios-{sanitize}"
    if program.exists():
        return program
    folders = ("include", "kernels/include", "kernels/host", "targets/pulp/include", "targets/pulp/host")
    include = [f"-I{folder / part}" for part in folders]
    archive = folder / "build" / f"host-{sanitize.replace(',', '-')}" / "libdigits.a"
    flags = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-g", f"-fsanitize={sanitize}", "-pthread")
    call("cc", *flags, *include, Path(__file__).parent / "firmware.c", archive, "-o", program, "-lm")
    return program


@pytest.fixture(scope="module")
def scenario(folder: Path) -> Callable[[str], list[str]]:
    program = linked(folder, "address,undefined")
    return lambda name: call(program, name).splitlines()


def test_contexts_do_not_disturb_one_another(scenario: Callable[[str], list[str]], digits: CompiledModel) -> None:
    lines = scenario("two_contexts")
    first, second, third = digits.run({"image": np.stack(images(17, 5, 3))})["scores"].reshape(3, -1)
    scores = [np.array(line.split(), np.float32) for line in lines if " " in line]
    for got, wanted in zip(scores, (first, second, third, third, second), strict=True):
        assert np.array_equal(got, wanted)
    assert [line for line in lines if " " not in line] == ["0"] * 9


def test_what_is_refused(scenario: Callable[[str], list[str]]) -> None:
    before = [ARGUMENT, ARGUMENT, ALIGNMENT, SIZE] + [STATE] * 4 + [1, OK, PLATFORM, OK]
    after = [ARGUMENT, ALIGNMENT, OVERLAP, OK, OK, STATE, OK, 1, OK]
    assert list(map(int, scenario("arguments"))) == before + after


def test_a_status_has_one_text(folder: Path, tmp_path: Path) -> None:
    """In the header, and for programs; no two have the same."""
    header = (folder / "kernels/include/match_status.h").read_text()
    stated = {int(code): text for code, text in re.findall(r"= (-?\d+), +/\* (.*) \*/", header)}
    calls = "".join(f"    puts(match_status_text({code}));\n" for code in stated)
    (tmp_path / "main.c").write_text(f'#include "match_status.h"\n#include <stdio.h>\nint main(void)\n{{\n{calls}}}\n')
    include, source = f"-I{folder / 'kernels/include'}", folder / "runtime/match_status.c"
    call("cc", "-Wall", "-Wextra", "-Werror", include, tmp_path / "main.c", source, "-o", tmp_path / "texts")
    assert call(tmp_path / "texts").splitlines() == list(stated.values())
    assert len(set(stated.values())) == len(stated) == len(re.findall(r"MATCH_ERROR_\w+ =", header))


def test_hooks_see_every_operator_and_another_task_is_refused(
    scenario: Callable[[str], list[str]], digits: CompiledModel
) -> None:
    lines = scenario("hooks")
    operators = [line.split() for line in lines if " " in line]
    rows = [(layer.name, layer.module) for layer in digits.layers if layer.plan]
    assert [(name, module) for name, module, _ in operators if module != "cpu"] == rows
    assert {status for *_, status in operators} == {"0"}
    assert [line for line in lines if " " not in line].count(str(BUSY)) == 2
    assert lines[-3:] == ["0", "0", "1"]


@pytest.mark.parametrize("sanitize", ["address,undefined", "thread"])
def test_every_function_is_refused_while_a_network_runs(folder: Path, sanitize: str) -> None:
    """A run and one that was started refuse them from their hooks; with a lock that lets a task in twice as well."""
    program = linked(folder, sanitize)
    assert set(call(program, "refused_from_hooks").split()) == {"0"}
    assert set(call(program, "refused_under_a_lock").split()) == {"0"}


def test_a_hook_ends_a_run_in_front_of_any_operator(scenario: Callable[[str], list[str]]) -> None:
    opened_and_run = ["0"] * 4
    assert scenario("ended_by_a_hook") == [*opened_and_run, "0"]


@pytest.mark.parametrize("sanitize", ["address,undefined", "thread"])
def test_two_tasks(folder: Path, sanitize: str) -> None:
    program = linked(folder, sanitize)
    assert call(program, "two_tasks").split()[:4] == ["0", "0", "0", "1"]
    assert call(program, "two_tasks_in_turn").split() == ["0", "0", "0", "1", "0"]


@pytest.mark.parametrize(
    ("compiler", "machine", "instruction"),
    [
        ("arm-none-eabi-gcc", ("-mthumb", "-march=armv6-m"), "cpsid"),
        ("arm-none-eabi-gcc", ("-mthumb", "-march=armv7e-m"), "strex"),
        ("riscv64-unknown-elf-gcc", ("-march=rv32imc", "-mabi=ilp32"), "csrrci"),
        ("riscv64-unknown-elf-gcc", ("-march=rv32imac", "-mabi=ilp32"), "amo"),
    ],
)
def test_the_lock_of_a_core_with_and_without_atomic_instructions(
    folder: Path, compiler: str, machine: tuple[str, ...], instruction: str
) -> None:
    """GCC makes a plain load and store of an atomic exchange where ARMv6-M has no instruction for it."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    include = (f"-I{folder / part}" for part in ("include", "kernels/include"))
    flags = ("-std=c11", "-ffreestanding", "-Wall", "-Wextra", "-Werror", "-Os", "-S")
    assembly = call(compiler, *machine, *flags, *include, folder / "runtime/match_lock.c", "-o", "-")
    assert instruction in assembly


@pytest.mark.parametrize("sanitize", ["address,undefined", "thread"])
def test_a_run_that_is_started_and_polled(folder: Path, sanitize: str) -> None:
    lines = list(map(int, call(linked(folder, sanitize), "started").split()))
    opened, before = [OK] * 3, [STATE, STATE]
    during = [OK, BUSY, BUSY, BUSY, BUSY, STATE, 1]
    nobody_asks = [OK, OK]
    assert lines == [*opened, *before, *during, OK, 1, OK, ARGUMENT, *nobody_asks, OK, 1, OK]


def test_every_fault_is_a_status_and_the_next_run_is_right(scenario: Callable[[str], list[str]]) -> None:
    """200 runs: a block refused, a transfer that fails or does not end, an endless kernel, a small L1, another task.

    The platform has another status for layers that leave something under way.
    """
    *statuses, result = scenario("faults")
    assert set(statuses) == {"0"}
    wrong, counts = result.split(" wrong; ")
    assert wrong == "0"
    done, _, memory, transfer, *_ = map(int, counts.split())
    assert min(done, memory, transfer, int(counts.split()[8])) > 10
    assert sum(map(int, counts.split())) == 200


def test_description(scenario: Callable[[str], list[str]], digits: CompiledModel) -> None:
    name, tensor, *rooms = scenario("description")
    assert name == "digits gap9 1 1"
    assert tensor == "image 9 1024 4 16"
    totals = digits.report.totals
    sizes = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in rooms}
    assert sizes["L2 constants"] == totals.constant_bytes
    assert sizes["L2 workspace"] + sizes["L2 constants"] + 1024 + 40 == totals.l2_peak_bytes
    assert sizes["L1 blocks"] == max(layer.l1_bytes for layer in digits.report.layers)


def test_real_numbers_become_integers_as_numpy_rounds_them(scenario: Callable[[str], list[str]]) -> None:
    values = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 1e30, -1e30, 0, 100.6, -129.5], np.float32)
    away = np.copysign(np.floor(np.abs(values.astype(float)) + 0.5), values)
    *rounded, int8, uint8 = scenario("quantize")
    for line, whole in zip(rounded, (away, np.rint(values)), strict=True):
        pairs = np.array(line.split(), int).reshape(-1, 2)
        assert pairs[:, 0].tolist() == np.clip(whole + 3, -128, 127).astype(int).tolist()
        assert pairs[:, 1].tolist() == np.clip(whole + 128, 0, 255).astype(int).tolist()
    assert (int8, uint8) == ("0", "32")


def archived(folder: Path, platform: str, *options: str) -> set[str]:
    """The symbols of a network's archive that other files see."""
    call("make", "-s", "-C", folder, "WERROR=1", f"PLATFORM={platform}", *options, "lib")
    (archive,) = (folder / "build" / platform).glob("lib*.a")
    tool = "nm" if platform == "host" else "riscv64-unknown-elf-nm"
    printed = call(tool, "-g", "--defined-only", archive)
    return {line.split()[2] for line in printed.splitlines() if len(line.split()) == 3}


OF_THE_SDK = ("CC=riscv64-unknown-elf-gcc", f"CFLAGS=-O2 {' '.join(plain_flags('gap9', 'freertos'))}")


@pytest.mark.parametrize(("platform", "options"), [("host", ()), ("qemu", ()), ("gap_sdk", OF_THE_SDK)])
@pytest.mark.usefixtures("qemu")
def test_every_symbol_of_an_archive_has_a_prefix(folder: Path, platform: str, options: tuple[str, ...]) -> None:
    names = archived(folder, platform, *options)
    assert "digits_run" in names
    assert not [name for name in names if not name.startswith(("digits_", "match_"))]
    assert "match_pulp_avg_pool2d_int32" in names
    assert "match_pulp_conv2d" not in names
    assert not names & {"main", "match_io_open", "match_application"}


@pytest.mark.parametrize(
    ("target", "platform", "started"),
    [
        ("diana", "host", {"match_diana_open"}),
        ("pulp_open", "bare", {"match_pulp_open"}),
        ("gap8", "rtl", {"match_pulp_open"}),
    ],
)
@pytest.mark.usefixtures("qemu")
def test_every_symbol_of_other_chips_has_a_prefix(
    target: str, platform: str, started: set[str], tmp_path: Path
) -> None:
    """A chip without an operating system has beside them what the C library calls, and its files."""
    modules = ["cluster"] if platform == "rtl" else None
    match.compile(zoo.ds_cnn(), target, name="keywords", l1=20000, modules=modules).save(tmp_path)
    names = archived(tmp_path, platform)
    assert {*started, "keywords_run"} <= names
    of_the_c_library = {"_exit", "stdin", "stdout", "stderr"}
    assert not [name for name in names - of_the_c_library if not name.startswith(("keywords_", "match_"))]


@pytest.mark.parametrize("level", ["-O0", pytest.param("-Og", marks=pytest.mark.sweep), "-Os", "-O3"])
def test_every_level_of_optimisation_is_without_warnings(folder: Path, level: str, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "digits", ignore=shutil.ignore_patterns("build"))  # make knows no flags
    assert "warning" not in call("make", "-s", "-C", tmp_path / "digits", "WERROR=1", f"CFLAGS={level}", "all", "lib")


def test_networks_of_two_targets_are_neither_compiled_nor_linked_together(folder: Path, tmp_path: Path) -> None:
    """In one file the compiler says why; of archives the linker names what both define."""
    match.compile(DIGITS, "pulp_open", name="other", output=tmp_path / "other")
    include = [f"-I{place / part}" for place in (folder, tmp_path / "other") for part in ("include", "kernels/include")]
    (tmp_path / "both.c").write_text('#include "digits.h"\n#include "other.h"\n')
    refused = subprocess.run(
        ["cc", *include, "-fsyntax-only", tmp_path / "both.c"], capture_output=True, text=True, check=False
    )
    assert 'error "other.h and match_version.h are of two targets or versions of MATCH' in refused.stderr
    declared = "#include <stdint.h>\nint32_t match_platform_open(void);\n"
    declared += "int32_t digits_run(void *, const void *, const void *);\n"
    (tmp_path / "main.c").write_text(
        f"{declared}int32_t other_run(void *, const void *, const void *);\n"
        "int main(void) { match_platform_open(); return digits_run(0, 0, 0) + other_run(0, 0, 0); }\n"
    )
    archives = [folder / "build/host/libdigits.a", tmp_path / "other/build/host/libother.a"]
    for archive in archives:
        call("make", "-s", "-C", archive.parents[2], "lib")
    command = ["cc", tmp_path / "main.c", *archives, "-pthread", "-lm", "-o", tmp_path / "main"]
    linked = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert linked.returncode
    assert "multiple definition of `match_platform_open'" in linked.stderr


def test_what_is_linked_says_what_it_is(folder: Path, tmp_path: Path) -> None:
    """Networks for one target share C whatever their modules and memories are; each has a fingerprint of its own."""
    again, smaller = tmp_path / "again", tmp_path / "smaller"
    match.compile(DIGITS, "gap9", name="digits", fuse=False, output=again)
    match.compile(DIGITS, "gap9", name="digits", modules=["cluster"], l1=32768, l2=262144, output=smaller)

    def headers(place: Path) -> tuple[str, str]:
        text = (place / "include/digits.h").read_text()
        found = re.search(r'#define DIGITS_FINGERPRINT "([0-9a-f]{16})"', text)
        assert found
        assert f'"fingerprint": "{found[1]}"' in (place / "project.json").read_text()
        return (place / "include/match_version.h").read_text(), found[1]

    version, mark = headers(folder)
    assert headers(again) == (version, mark)
    assert headers(smaller)[0] == version
    assert headers(smaller)[1] != mark
    (tmp_path / "main.cpp").write_text(
        '#include <cstdio>\n#include "digits.h"\n#if MATCH_VERSION_NUMBER < 1000\n#error "old"\n#endif\n'
        "int main() { const match_network_t &n = digits_network;\n"
        'std::printf("%s %s %s\\n", n.target, n.version, n.fingerprint); }\n'
    )
    call("make", "-s", "-C", folder, "lib")
    include = [f"-I{folder / part}" for part in ("include", "kernels/include")]
    flags = ("-std=c++11", "-Wall", "-Wextra", "-Werror")
    archive = folder / "build/host/libdigits.a"
    call("c++", *flags, *include, tmp_path / "main.cpp", archive, "-pthread", "-lm", "-o", tmp_path / "main")
    assert call(tmp_path / "main") == f"gap9 {match.__version__} {mark}\n"


@pytest.mark.usefixtures("qemu")
def test_two_networks_in_one_program(digits: CompiledModel, folder: Path, tmp_path: Path) -> None:
    """The example, on a RISC-V core without an operating system; outputs are printed in thousandths, cut off."""
    keywords = match.compile(zoo.ds_cnn(), "gap9", name="keywords", fuse=False)
    keywords.save(tmp_path / "keywords")
    options = (f"DIGITS={folder}", f"KEYWORDS={tmp_path / 'keywords'}", f"OUTPUT={tmp_path}")
    printed = call("make", "-s", "-C", FIRMWARE, *options, "run").splitlines()
    first, second = digits.run({"image": np.stack(images(17, 5))})["scores"].reshape(2, -1)
    sound = (np.arange(490) % 11).astype(np.float32) / np.float32(5) - np.float32(1)
    third = keywords.run({"cepstrum": sound.reshape(1, 1, 49, 10)})["probabilities"].reshape(-1)
    wanted = {"first": first, "second": second, "keywords": third}
    assert printed == [f"{name}: {thousandths(values)}" for name, values in wanted.items()] + ["in parts", "done"]


def thousandths(values: np.ndarray) -> str:
    return " ".join(str(int(value * np.float32(1000))) for value in values)


def test_as_a_library_of_cmake_and_of_another_makefile(folder: Path, tmp_path: Path) -> None:
    """Two networks each; what they share comes once into a program that compiles all sources itself."""
    again = tmp_path / "again"
    match.compile(DIGITS, "gap9", name="again").save(again)
    body = "return digits_network.name == again_network.name;"
    (tmp_path / "main.c").write_text(f'#include "digits.h"\n#include "again.h"\nint main(void) {{ {body} }}\n')
    lines = ["include RULES", f"include {folder}/digits.mk", f"include {again}/again.mk"]
    lines += [
        "OBJS := $(APP_SRCS:%.c=%.app.o)",
        "%.app.o: %.c",
        "\t$(CC) -std=c11 $(APP_CFLAGS) $(APP_INC:%=-I%) -c $< -o $@",
        "all: main.app.o $(OBJS)",
        "\t$(CC) $^ -o program -pthread -lm",
        "",
    ]
    (tmp_path / "RULES").write_text("DIGITS_PLATFORM := host\nAGAIN_PLATFORM := host\n")
    (tmp_path / "Makefile").write_text("\n".join(lines))
    call("make", "-s", "all", cwd=tmp_path)
    call(tmp_path / "program")
    lists = (
        f"project(app C)\ninclude({folder}/digits.cmake)\ninclude({again}/again.cmake)\nadd_executable(app main.c)\n"
    )
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.13)\n{lists}target_link_libraries(app PRIVATE digits again)\n"
    )
    call("cmake", "-S", tmp_path, "-B", tmp_path / "build")
    call("cmake", "--build", tmp_path / "build")
    call(tmp_path / "build" / "app")


def test_names_lead_back_to_the_model(digits: CompiledModel, folder: Path) -> None:
    graph = onnx.load(DIGITS).graph
    known = {name for node in graph.node for name in (node.name, *node.output)} | {t.name for t in graph.input}
    layers = [layer for layer in digits.layers if layer.plan]
    assert len({(layer.source, layer.plan.layer.op) for layer in layers if layer.plan}) == len(layers)
    assert {layer.source for layer in layers} <= known
    assert [layer.source for layer in digits.report.layers] == [layer.source for layer in digits.layers]
    network = (folder / "src/network.c").read_text()
    digits.save_timeline(folder.parent / "timeline.json")
    bars = (folder.parent / "timeline.json").read_text()
    for layer in layers:
        assert f'"model":"{layer.source}"' in bars
        number = layer.name.rpartition("_")[2]  # of its last operator
        (file,) = (folder / "src").glob(f"{int(number):02d}_*.c")
        assert f" * In the model: {layer.source}\n" in file.read_text()
        assert f'.name = "{layer.name}", .source = "{layer.source}"' in network


def test_names_in_c_come_from_the_option(folder: Path) -> None:
    header = (folder / "include" / "digits.h").read_text()
    macros: Sequence[str] = re.findall(r"#define (\w+)", header)
    assert all(macro.startswith("DIGITS_") for macro in macros)
    with pytest.raises(match.OptionError, match="'3x3' cannot name a network in C"):
        match.compile(DIGITS, "gap9", name="3x3")


def test_a_file_may_be_called_like_a_header(tmp_path: Path) -> None:
    shutil.copy(DIGITS, tmp_path / "string.onnx")
    match.compile(tmp_path / "string.onnx", "gap9").save(tmp_path / "project")
    call("make", "-s", "-C", tmp_path / "project", "WERROR=1")


@pytest.mark.parametrize("name", ["string", "layers", "match", "match_layer", "int"])
def test_names_that_every_project_has_taken(name: str) -> None:
    with pytest.raises(match.OptionError, match=f"^'{name}' cannot name a network in C: .*such as network_{name}.$"):
        match.compile(DIGITS, "gap9", name=name)


@pytest.mark.parametrize(
    ("name", "target"), [("pulp_platform", "gap8"), ("ne16_driver", "gap9"), ("diana_driver", "diana")]
)
def test_names_that_a_target_has_taken(name: str, target: str) -> None:
    sentence = f"^a network called '{name}' cannot be compiled for {target}, which has a header {name}.h; choose "
    with pytest.raises(match.OptionError, match=sentence):
        match.compile(DIGITS, target, name=name)
