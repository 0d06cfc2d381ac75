"""What builds take: by the linker and by the compiler's call graph; and that stacks have room for it at every level."""

from __future__ import annotations

import re
import subprocess
from itertools import product
from pathlib import Path

import pytest

import match
from match import zoo
from match.report.sizes import add_size
from match.run.callgraph import read_call_graph
from match.run.size import size
from match.targets.pulp.memory import L1_STACKS
from tests.gap_sdk.sdk import plain_flags
from tests.kernels.toolchain import PACKAGE

pytestmark = pytest.mark.cc

DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"
CONTROL_STACK = 8192
"""Bytes of pulp_open's stack (pulp_open.ld), which polled runs have, too (pulp_async.c)."""

FORK_STACK = 64
"""A worker's bytes before a kernel: its function, the team's, and the canary (pulp_open_cluster.c, pulp_team.c)."""


def node(title: str, frame: int | None) -> str:
    label = f"{title}\\nfile.c:1:1" + ("" if frame is None else f"\\n{frame} bytes (static)\\n0 dynamic objects")
    return f'node: {{ title: "{title}" label: "{label}" }}\n'


def edge(source: str, target: str) -> str:
    return f'edge: {{ sourcename: "{source}" targetname: "{target}" label: "file.c:2:3" }}\n'


def test_stack_of_a_call_graph() -> None:
    """Two files have the deepest chain of both, not the longest; what another has compiled counts nothing."""
    first = "".join([node("run", 16), node("file.c:a", 100), node("b", None), node("memcpy", None)])
    first += edge("run", "file.c:a") + edge("run", "b") + edge("file.c:a", "memcpy")
    second = node("b", 32) + node("c", 48) + node("d", 40) + edge("b", "c") + edge("c", "d")
    graph = read_call_graph([first, second])
    assert graph.stack("run") == 16 + 32 + 48 + 40
    assert graph.stack("file.c:a") == 100
    assert graph.stack("memcpy") == 0
    with pytest.raises(ValueError, match="b calls itself, by way of b, c, d"):
        read_call_graph([first, second, edge("d", "b")]).stack("b")


def unit(file: str, *texts: str) -> str:
    return "".join([f'graph: {{ title: "{file}"\n', *texts, "}\n"])


def test_stack_of_a_kernel_that_calls_by_pointers() -> None:
    """What is static and called by nobody, in files of which it calls a function."""
    pointer = "__indirect_call"
    dense = unit("dense.c", node("dense", 100), edge("dense", "choose"), edge("dense", pointer), edge("dense", "short"))
    loops = unit(
        "loops.c",
        *(node("choose", 10), node("loops.c:wide", 80), node("loops.c:narrow", 60), node("loops.c:inner", 50)),
        edge("loops.c:narrow", "loops.c:inner"),
    )
    pool = unit("pool.c", node("pool", 30), node("pool.c:averages", 500), edge("pool", pointer))
    graph = read_call_graph([dense, loops, pool])
    assert graph.stack("dense") == 100 + 10
    assert graph.through_pointers("dense").stack("dense") == 100 + 60 + 50
    assert graph.through_pointers("pool").stack("pool") == 30 + 500
    assert graph.through_pointers("choose").stack("choose") == 10, "it calls nobody"


def test_sizes_in_the_report_and_as_macros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = match.compile(DIGITS, "gap9", modules=["cluster"], name="digits", output=tmp_path / "digits")
    found = size(tmp_path / "digits", "host")
    constants = compiled.report.totals.constant_bytes
    assert constants < found.rodata < 2 * constants
    headers = subprocess.run(
        ["objdump", "-h", str(tmp_path / "digits/build/size-host/digits.o")], capture_output=True, text=True, check=True
    )
    texts = re.findall(r"^\s*\d+ \.text\S*\s+([0-9a-f]+)", headers.stdout, re.MULTILINE)
    assert found.text == sum(int(count, 16) for count in texts)
    assert 0 < found.data + found.bss < compiled.report.totals.l2_peak_bytes
    assert all((found.control_stack, found.layer_stack, found.kernel_stack))
    assert found.kernel_stacks == {"cluster": found.kernel_stack}
    (row,) = add_size(tmp_path / "digits/report.json", found).sizes
    assert (row.platform, row.text, row.kernel_stack) == ("host", found.text, found.kernel_stack)
    assert len(add_size(tmp_path / "digits/report.json", found).sizes) == 1
    header = (tmp_path / "digits/build/size-host/digits_size.h").read_text()
    macros = dict(re.findall(r"#define DIGITS_(\w+)_BYTES (\d+)", header))
    assert macros["TEXT"] == str(found.text)
    assert macros["LAYER_STACK"] == str(found.layer_stack)
    assert macros["CLUSTER_KERNEL_STACK"] == macros["KERNEL_STACK"] == str(found.kernel_stack)
    monkeypatch.setenv("CFLAGS", "-Os -I/opt/*/sdk")
    assert size(tmp_path / "digits", "host").text < found.text, "objects of other flags are built anew"
    made = str(tmp_path / "digits/build/size-host/digits_size.h")
    subprocess.run(["cc", "-Wall", "-Werror", "-fsyntax-only", "-x", "c", made], check=True)


LEVELS = ("-O1", "-O2", "-O3", "-Os", "-Og")


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two networks, which together have all operators of the cluster and NE16."""
    folder = tmp_path_factory.mktemp("sizes")
    match.compile(DIGITS, "pulp_open", name="digits", output=folder / "digits")
    match.compile(zoo.ds_cnn(), "pulp_open", name="keywords", output=folder / "keywords")
    return {name: folder / name for name in ("digits", "keywords")}


@pytest.mark.parametrize("network", ["digits", "keywords"])
@pytest.mark.parametrize(
    "level", [level if level == "-Os" else pytest.param(level, marks=pytest.mark.sweep) for level in LEVELS]
)
@pytest.mark.usefixtures("qemu")
def test_stacks_have_room(network: str, level: str, projects: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """On the chip; what its own functions take in front of these is less than the eighth that is left."""
    monkeypatch.setenv("CFLAGS", f"{level} -Wall -Wextra -Werror")
    found = size(projects[network], "bare")
    stacks = found.kernel_stacks
    assert 0 < (found.control_stack or 0) < CONTROL_STACK * 7 / 8
    assert 0 < (found.layer_stack or 0) + stacks.get("ne16", 0) < L1_STACKS.master * 7 / 8
    assert 0 < max(stacks.get("cluster", 0), stacks.get("started", 0)) < L1_STACKS.worker * 7 / 8


@pytest.mark.parametrize(
    "level", [level if level == "-Os" else pytest.param(level, marks=pytest.mark.sweep) for level in LEVELS[:-1]]
)
@pytest.mark.usefixtures("qemu")
def test_every_kernel_has_room(level: str, tmp_path: Path) -> None:
    """All of the cluster's, with what forks take in front of them; with -Og two do not, which the canaries tell."""
    (bare,) = (platform for platform in match.get_target("pulp_open").platforms if platform.name == "bare")
    include = [f"-I{PACKAGE / folder}" for folder in (*bare.include, Path("codegen/include"))]
    defines = [f"-D{name}={value}" for name, value in bare.defines.items()]
    sources = sorted((PACKAGE / "kernels/pulp").glob("*.c"))
    options = ["-std=c11", level, *bare.flags, "-fcallgraph-info=su", *include, *defines]
    command = ["riscv64-unknown-elf-gcc", *options, "-c", *map(str, sources)]
    subprocess.run(command, cwd=tmp_path, check=True)
    graph = read_call_graph(path.read_text() for path in tmp_path.glob("*.ci"))
    kernels = {name for name in graph.without_callers() if name.startswith("match_pulp_")}
    stacks = {kernel: graph.through_pointers(kernel).stack(kernel) for kernel in kernels}
    assert len(stacks) > 50
    assert max(stacks.values()) <= L1_STACKS.worker - FORK_STACK, max(stacks, key=lambda kernel: stacks[kernel])


@pytest.mark.usefixtures("qemu")
def test_a_build_without_room_is_refused(projects: dict[str, Path]) -> None:
    command = ["make", "-s", "-C", str(projects["digits"]), "PLATFORM=bare", "BUILD=build/O0", "CFLAGS=-O0"]
    place = "build/O0/targets/pulp_open/bare/pulp_open_cluster.o"
    done = subprocess.run([*command, place], capture_output=True, text=True, check=False)
    assert "need more stack than the cluster's cores have; use -Og" in done.stderr
    assert done.returncode


PLATFORMS = ("host", "qemu", "bare")


@pytest.mark.sweep
@pytest.mark.usefixtures("qemu")
@pytest.mark.parametrize(
    ("level", "platform"),
    [pair for pair in product(["-O0", *LEVELS], PLATFORMS) if pair != ("-O0", "bare")],
)
def test_every_level_builds_without_warnings(level: str, platform: str, projects: dict[str, Path]) -> None:
    """Each network, its program and its archive, for each platform; warnings are errors. The rest is refused, above."""
    for folder in projects.values():
        command = ["make", "-s", "-C", str(folder), f"PLATFORM={platform}", f"BUILD=build/{platform}{level}"]
        options = [f"CFLAGS={level}", "WERROR=1", "all", "lib"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        assert not done.stderr


@pytest.mark.sweep
@pytest.mark.usefixtures("qemu")
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_builds_for_the_sdk_and_rtl(level: str, tmp_path: Path) -> None:
    match.compile(DIGITS, "gap9", modules=["cluster"], name="digits", output=tmp_path / "digits")
    for platform, flags in (("gap_sdk", (*plain_flags("gap9", "freertos"), level)), ("rtl", (level,))):
        command = ["make", "-s", "-C", str(tmp_path / "digits"), f"PLATFORM={platform}", "WERROR=1"]
        options = ["CC=riscv64-unknown-elf-gcc", f"CFLAGS={' '.join(flags)}", "all", "lib"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        assert not done.stderr


def test_files_that_are_no_more_are_not_measured(tmp_path: Path) -> None:
    """Objects of a layer that another compilation does not have, and sources of the user's."""
    folder = tmp_path / "digits"
    match.compile(DIGITS, "gap9", modules=["cluster"], name="digits", fuse=False, output=folder)
    size(folder, "host")
    match.compile(DIGITS, "gap9", modules=["cluster"], name="digits", output=folder)
    again = size(folder, "host")
    (folder / "src" / "00_mine.c").write_text("mine: match_on_mine_compute(mine,")
    assert size(folder, "host") == again
    match.compile(DIGITS, "gap9", modules=["cluster"], name="digits", output=tmp_path / "alone")
    assert size(tmp_path / "alone", "host") == again
