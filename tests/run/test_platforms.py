"""Platforms beside the host, on the mock target: what is built, what runs it, what is refused in a sentence."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from match.codegen.network import Call
from match.codegen.project import export
from match.errors import OptionError, ToolchainError
from match.relay import relay
from match.run import CallCount, build, measure, read_manifest, run, trace
from match.run.counts import read_counts
from match.target.hardware import Platform
from tests.codegen import networks
from tests.codegen.mock_target import FOLDER, MockTarget

pytestmark = pytest.mark.cc

X = np.arange(8, dtype=np.int8).reshape(1, 8)
CALLS = (Call("first"), Call("second"))

COUNTER = """
#include "match_count.h"

uint64_t match_counter(void)
{
    static uint64_t now;
    now += 7;
    return now;
}
"""
IO = """
#include <stdio.h>
#include "match_io.h"
#include "match_status.h"
static FILE *in, *out;
int32_t match_io_open(int argc, char **argv)
{
    in = fopen(argv[1], "rb");
    out = fopen(argv[argc - 1], "wb");
    return GREETING == 42 && in != NULL && out != NULL ? MATCH_OK : MATCH_ERROR_PLATFORM;
}
bool match_io_read(void *data, size_t bytes) { return fread(data, bytes, 1, in) == 1; }
bool match_io_write(const void *data, size_t bytes) { return fwrite(data, bytes, 1, out) == 1; }
int32_t match_io_close(void) { return fclose(in) | fclose(out); }
"""


class Boards(MockTarget):
    """The mock target on this machine, on this machine again with a counter and files of its own, and on nothing."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    @property
    def platforms(self) -> tuple[Platform, ...]:
        host = self.host
        counting = Platform(
            sources=(*host.sources, self.folder / "counter.c"),
            include=host.include,
            defines={"GREETING": "42"},
            name="counting",
            io=self.folder / "files.c",
            files=(self.folder / "board.ld",),
            counts="cycles",
        )
        nowhere = Platform(
            host.sources, host.include, name="nowhere", compiler="no-such-gcc", counts="cycles", on="board"
        )
        return (host, counting, nowhere)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Y = 2(x + 1) in int8, as two functions of TVM's."""
    sources = tmp_path_factory.mktemp("boards")
    (sources / "counter.c").write_text(COUNTER)
    (sources / "files.c").write_text(IO)
    (sources / "board.ld").write_text("/* nothing */\n")
    x = relay.var("x", shape=(1, 8), dtype="int8")
    total = relay.annotation.stop_fusion(relay.add(x, relay.const(np.int8(1))))
    made = networks.module([], [x], lambda: relay.add(total, total))
    target = Boards(sources)
    folder = tmp_path_factory.mktemp("platforms") / "net"
    export(networks.build(made, target, networks.model(made, ["y"])), target, folder)
    return folder


def test_every_platform_is_in_the_project(project: Path) -> None:
    place = "platform/" + next(path.name for path in (project / "platform").iterdir() if path.name != FOLDER.name)
    assert (project / place / "board.ld").read_text() == "/* nothing */\n"
    assert [platform.name for platform in read_manifest(project).platforms] == ["host", "counting", "nowhere"]
    makefile = (project / "Makefile").read_text()
    assert "make PLATFORM=nowhere             build/nowhere/network, with no-such-gcc" in makefile
    assert "`make PLATFORM=nowhere` builds it with no-such-gcc." in (project / "README.md").read_text()


def test_outputs_are_the_same_everywhere(project: Path) -> None:
    for on in ("host", "counting"):
        assert run(project, {"x": X}, on=on)["y"].tolist() == (2 * (X + 1)).tolist()
        assert build(project, on) == project / "build" / on / "network"
    assert trace(project, {"x": X}, on="counting")[1] == ()


def test_every_call_is_counted(project: Path) -> None:
    """The counter of this platform advances by 7 each time it is read."""
    calls = read_manifest(project).calls
    assert [call.layers for call in calls] == [("add_0",), ("add_2",)]
    outputs, counts = measure(project, {"x": np.stack([X, X, X])}, on="counting")
    assert outputs["y"].tolist() == [(2 * (X + 1)).tolist()] * 3
    assert (counts.platform, counts.unit, counts.samples, counts.total) == ("counting", "cycles", 3, 14)
    assert [(one.call, one.count) for one in counts.calls] == [(call, 7) for call in calls]
    assert counts.command == "network INPUTS OUTPUTS"


def test_what_a_platform_cannot(project: Path) -> None:
    with pytest.raises(OptionError, match="has no platform 'moon'; choose one of host, counting, nowhere"):
        build(project, "moon")
    with pytest.raises(OptionError, match="net for mock does not run on 'moon'; choose one of host, counting, board"):
        run(project, {"x": X}, on="moon")
    with pytest.raises(OptionError, match="does not run on 'nowhere': programs for nowhere run on board; choose one"):
        run(project, {"x": X}, on="nowhere")
    with pytest.raises(OptionError, match="nothing is counted on 'host'; for mock it is on: counting, board"):
        measure(project, {"x": X}, on="host")
    with pytest.raises(OptionError, match="platform 'nowhere' has no sanitizers"):
        run(project, {"x": X}, on="board", sanitize=True)
    with pytest.raises(ToolchainError, match=r"building .* for nowhere needs 'no-such-gcc', which is not on the PATH"):
        run(project, {"x": X}, on="board")


def test_the_makefile_knows_its_platforms(project: Path) -> None:
    done = subprocess.run(["make", "-C", project, "PLATFORM=moon"], capture_output=True, text=True, check=False)
    assert done.returncode
    assert "there are: host, counting, nowhere" in done.stderr


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["hello"], "'hello' is no count of a call"),
        (['{"event":"count","call":2,"count":5}'], "is no count of a call"),
        (['{"event":"count","call":0,"count":5}'], "did not count every call of 1 inferences"),
    ],
)
def test_counts_that_cannot_be(lines: list[str], message: str) -> None:
    with pytest.raises(ToolchainError, match=message):
        read_counts(lines, CALLS, 1)


def test_counts_are_means() -> None:
    lines = [f'{{"event":"count","call":{call},"count":{count}}}' for call, count in ((0, 4), (1, 10), (0, 7), (1, 10))]
    assert read_counts(lines, CALLS, 2) == (CallCount(CALLS[0], 6), CallCount(CALLS[1], 10))


def test_qemu_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from match.run import RUNNERS

    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="running the program of x needs 'qemu-system-riscv32', which is not"):
        RUNNERS["qemu"].check(("qemu-system-riscv32",), "the program of x")


@pytest.mark.usefixtures("qemu")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('printf("net: status -4, see match_status.h\\n"); return 1;', "failed: net: status -4"),
        ("return 3;", "failed: exit status 3"),
    ],
)
def test_programs_that_fail_under_qemu(body: str, message: str, tmp_path: Path) -> None:
    from match.run import qemu
    from match.run.runner import Job
    from match.run.tools import call
    from match.targets.gap8.target import Gap8

    platform = next(platform for platform in Gap8().platforms if platform.name == "qemu")
    source, program = tmp_path / "main.c", tmp_path / "network"
    source.write_text(f"#include <stdio.h>\nint main(void) {{ {body} }}\n")
    assert shutil.which(platform.compiler or "")
    call([str(platform.compiler), *platform.flags, str(source), "-o", str(program), *platform.link], "gcc")
    with pytest.raises(ToolchainError, match=message):
        qemu.run(Job(program, b"", platform.machine, "the program"))
