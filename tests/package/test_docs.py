"""The commands and programs in the pages of docs/ work as they are written there."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import match
from match.cli import main
from match.run import platform_on, random_inputs, read_manifest
from tests.cli.conftest import DIGITS, command, project
from tests.package.test_architecture import PROJECT
from tests.passes.test_states import cell
from tests.tflite.streams import stream, wake_word

__all__ = ["command", "project"]

pytestmark = pytest.mark.cc

DOCS = PROJECT / "docs"
COMMANDS = (
    *("compare.md", "cortex-m.md", "json.md", "pulp-open.md", "report.md", "running.md", "states.md"),
    "timeline.md",
)
SLOW_COMMANDS = ("external-memory.md", "pypi.md", "validate.md")
PROGRAMS = ("timeline.md",)
SLOW_PROGRAMS = ("pypi.md",)
ELSEWHERE = ("engines.md", "new-target.md", "quantize.md", "sweep.md")
"""Pages whose lines take an hour, install packages, or need a cluster or a float model: each has a test of its own."""

FREERTOS = """
#include <stdint.h>
typedef int32_t BaseType_t;
#define pdTRUE ((BaseType_t)1)
#define pdMS_TO_TICKS(ms) ((uint32_t)(ms))
void *xSemaphoreCreateMutex(void);
BaseType_t xSemaphoreTake(void *mutex, uint32_t ticks);
BaseType_t xSemaphoreGive(void *mutex);
void taskYIELD(void);
"""
"""As FreeRTOS declares what the page calls, in short."""


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def place(project: Path, models_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the pages speak of: models, projects called DIR, A and B, and inputs."""
    for name in ("DIR", "A", "B"):
        shutil.copytree(project, tmp_path / name)
    shutil.copy(DIGITS, tmp_path / "model.onnx")
    shutil.copy(DIGITS, tmp_path)
    shutil.copy(models_dir / "kws_ref_model.tflite", tmp_path / "model.tflite")
    (tmp_path / "labels.txt").write_text("3\n")
    np.savez(tmp_path / "x.npz", **random_inputs(read_manifest(project), 0))  # pyright: ignore[reportArgumentType]
    wake_word(tmp_path).rename(tmp_path / "wake_word.tflite")
    cell(tmp_path).rename(tmp_path / "cell.onnx")
    np.savez(tmp_path / "stream.npz", stream((1, 2, 1, 8), 5))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def missing(arguments: list[str]) -> tuple[str, ...]:
    """What a platform that a line runs on needs and this machine does not have."""
    if "gvsoc" in arguments:
        return ("gvsoc",)
    platform = "qemu" if "qemu" in arguments else "bare" if "bare" in arguments else None
    manifest = read_manifest(Path(arguments[1])) if platform else None
    return platform_on(manifest, "qemu").missing if manifest else ()


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("page", [*COMMANDS, *(pytest.param(page, marks=pytest.mark.sweep) for page in SLOW_COMMANDS)])
def test_commands(page: str) -> None:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    assert lines
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        assert program == "match", line
        if missing(arguments):
            continue
        with pytest.raises(SystemExit) as ending:
            main(arguments)
        assert not ending.value.code, line


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("page", [*PROGRAMS, *(pytest.param(page, marks=pytest.mark.sweep) for page in SLOW_PROGRAMS)])
def test_programs(page: str) -> None:
    for program in blocks(page, "python"):
        exec("import match\n" + program, {})


def test_firmware(place: Path) -> None:
    """The page's commands make what its programs call."""
    text = (DOCS / "firmware.md").read_text(encoding="utf-8")
    lines = re.findall(r"^`match (compile .*?)`|`match (selftest .*?)`", text, re.MULTILINE)
    for line in lines:
        with pytest.raises(SystemExit) as ending:
            main("".join(line).split())
        assert not ending.value.code
    program, tasks, profile, comparison = blocks("firmware.md", "c")
    include, context, calls = program.split("\n\n")
    client = f"int32_t client(const float *samples);\nint32_t client(const float *samples)\n{{\n{calls}"
    (place / "client.c").write_text(f"{include}\n{context}\n{client}return scores[0] + status;\n}}\n")
    functions, hooks, calls = tasks.split("\n\n")
    (place / "tasks.c").write_text(
        f"{FREERTOS}\n{include}\n{context}\n{functions}\n{hooks}\n"
        f"int32_t share(void);\nint32_t share(void)\n{{\n{calls}return status;\n}}\n"
    )
    hooks = "void use(void) { keywords_set_hooks(&context, &(match_hooks_t){begin, end, NULL}); }"
    counter = "#include <stdio.h>\nstatic uint32_t start;\nuint32_t cycles(void);\nvoid use(void);"
    (place / "profile.c").write_text(f"{include}\n{context}\n{counter}\n{profile}\n{hooks}\n")
    include, calls = comparison.split("\n\n")
    (place / "comparison.c").write_text(
        f"#include <stdio.h>\n{include}\n{context}\nvoid compare(void);\nvoid compare(void)\n{{\n{calls}}}\n"
    )
    project = place / "build" / "keywords"
    folders = [f"-I{project / name}" for name in ("include", "kernels/include", "targets/pulp/include", "selftest")]
    flags = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
    sources = ("client.c", "tasks.c", "profile.c", "comparison.c")
    done = subprocess.run(["cc", *flags, *folders, *sources], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.sweep
def test_a_target_of_ones_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's lines but those of pip and pytest; the package that the first one writes is put on the path."""
    commands = [shlex.split(line, comments=True)[1:] for line in blocks("new-target.md", "sh")[0].splitlines()]
    assert [words[0] for words in commands] == ["new-target", "install", "check-target", "minichip", "compile"]
    for words in commands:
        if words[0] == "install":
            metadata = place / "minichip" / "minichip-1.0.dist-info"
            metadata.mkdir()
            (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: minichip\nVersion: 1.0\n")
            (metadata / "entry_points.txt").write_text("[match.targets]\nminichip = minichip.target:Minichip\n")
            monkeypatch.syspath_prepend(place / "minichip")
        elif words[0] != "minichip":
            with pytest.raises(SystemExit) as ending:
                main(words)
            assert not ending.value.code, words
    names = {"match": match, "inputs": random_inputs(read_manifest(place / "build" / "model"), 0)}
    exec(blocks("new-target.md", "python")[-1], names)
    assert names["outputs"]


def test_lines_of_the_example_of_a_real_chip() -> None:
    folder = PROJECT / "examples" / "stm32h743" / "stm32h743"
    text = (DOCS / "new-target.md").read_text(encoding="utf-8")
    (python, c, gate) = map(
        int, re.findall(r"DMA: (\d+) lines of Python, and (\d+) of C.*in (\d+) lines", text, re.DOTALL)[0]
    )

    def lines(*names: str) -> int:
        return sum(len((folder / name).read_text().splitlines()) for name in names)

    assert python == lines("target.py", "cost.py")
    assert c == lines("chip.c", "mdma.c", "mdma.h")
    assert gate == lines("gate.py")


def test_every_page_with_commands_is_here() -> None:
    with_commands = {page.name for page in DOCS.glob("*.md") if blocks(page.name, "sh")}
    assert with_commands - {*COMMANDS, *SLOW_COMMANDS, *ELSEWHERE} == set()
