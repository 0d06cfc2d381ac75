"""Ctrl-C at any moment of a command: status 130, a line on stderr, and nothing of it left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from match.errors import OutputError
from match.files.output import write_folder
from match.interrupt.unfinished import all_or_nothing, discard, scratch_folder, unfinished
from tests.cli.conftest import DIGITS
from tests.sampled import sampled

pytestmark = pytest.mark.cc

NEVER = 120
"""Seconds after which a command is taken not to end."""

LINE = "match: interrupted.\n"
MOMENTS = 30
ATTEMPTS = 5
QUICK = {(6, "compile"), (15, "run")}
"""The moments and the commands that are tried in each run of the suite."""

COMMANDS = {
    "compile": ("compile", str(DIGITS), "--jobs", "3", "-o", "out"),
    "demo": ("demo", "--target", "gap8"),
    "run": ("run", "out", "--on", "host"),
}


@dataclass(frozen=True)
class Ended:
    """How a program ended, and how many seconds after it began to watch for Ctrl-C."""

    status: int
    err: str
    seconds: float


class Machine:
    """A folder in which a program runs that finds no other files, and by which its processes are known."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("tmp", "cache", "here"):
            (folder / name).mkdir(parents=True)

    def run(self, command: Sequence[str | Path], interrupt: Callable[[subprocess.Popen[str]], None]) -> Ended:
        """Run a program in `here`; `interrupt` is called once it watches for Ctrl-C."""
        variables = {"TMPDIR": str(self.folder / "tmp"), "MATCH_CACHE_DIR": str(self.folder / "cache")}
        process = subprocess.Popen(
            command,
            cwd=self.folder / "here",
            env={**os.environ, **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 (which may be ignored)
        )
        try:
            watching(process)
            began = time.monotonic()
            interrupt(process)
            _, err = process.communicate(timeout=NEVER)
        finally:
            process.kill()
        return Ended(process.returncode, err, time.monotonic() - began)

    def left(self) -> Iterator[str]:
        """Temporary and half-written files, and processes.

        onnxruntime leaves a file `.ses` in the folder of temporary files whenever it is imported.
        """
        yield from (str(path) for path in (self.folder / "tmp").iterdir() if path.name != ".ses")
        yield from (str(path) for path in (self.folder / "here").iterdir() if path.name != "out")
        yield from (
            str(path)
            for path in (self.folder / "cache").iterdir()
            if path.suffix not in {".schedule", ".network", ".form", ".model"}
        )
        mark = f"TMPDIR={self.folder / 'tmp'}".encode()
        for place in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in place.read_bytes():
                    yield place.parent.name
            except OSError:
                continue


def watching(process: subprocess.Popen[str]) -> None:
    """Wait until the program watches for Ctrl-C, or has ended: before, it is the interpreter alone."""
    tasks = Path(f"/proc/{process.pid}/task")
    while process.poll() is None and len(list(tasks.iterdir())) < 2:
        time.sleep(0.001)


def wait_for(happens: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something happens in a program that runs."""
    end = time.monotonic() + NEVER
    while not happens():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)


def program() -> Path:
    return Path(sys.executable).with_name("match")


@pytest.fixture(scope="module")
def lives() -> dict[str, float]:
    """How long each command goes on if nobody interrupts it, as far as it is known."""
    return {}


@pytest.mark.parametrize(("moment", "name"), sampled(product(range(MOMENTS), COMMANDS), QUICK))
def test_at_any_moment(name: str, moment: int, lives: dict[str, float], project: Path, tmp_path: Path) -> None:
    def prepared(folder: Path) -> Machine:
        machine = Machine(folder)
        if name == "run":
            write_folder(folder / "here" / "out", files_of(project))
        return machine

    def interrupt(process: subprocess.Popen[str]) -> None:
        time.sleep(lives[name] * moment / MOMENTS)
        process.send_signal(signal.SIGINT)

    command = (program(), *COMMANDS[name])
    if name not in lives:
        whole = prepared(tmp_path / "whole").run(command, lambda _: None)
        assert (whole.status, whole.err) == (0, "")
        lives[name] = whole.seconds
    machine, ended = Machine(tmp_path / "unused"), Ended(0, "", 0.0)
    for attempt in range(ATTEMPTS):
        machine = prepared(tmp_path / str(attempt))
        ended = machine.run(command, interrupt)
        if ended.status:
            break
        lives[name] = min(lives[name], ended.seconds)  # it had ended before: the machine has become quicker
    assert (ended.status, ended.err) == (130, LINE)
    assert not list(machine.left())
    out = machine.folder / "here" / "out"
    if name == "compile" and out.exists():
        assert files_of(out).keys() == files_of(project).keys()


def files_of(project: Path) -> dict[str, bytes]:
    """What `match compile` wrote there."""
    inside = {path.relative_to(project): path for path in project.rglob("*") if path.is_file()}
    return {str(name): path.read_bytes() for name, path in inside.items() if name.parts[0] != "build"}


IN_TVM = """
import os, time
from match.interrupt.watch import watch
watch()
from match.relay import tvm
def loop(*_):
    os.close(1)
    while True:
        try:
            time.sleep(0.001)
        except BaseException:
            pass
"""


@pytest.mark.parametrize(
    "call",
    [
        "os.close(1); tvm.get_global_func('testing.sleep_in_ffi')(3600.0)",
        "tvm.runtime.convert(loop)()",
        "tvm.ir.transform.module_pass(loop, opt_level=0)(tvm.IRModule())",
    ],
)
def test_deep_inside_tvm(call: str, tmp_path: Path) -> None:
    """In C++ that takes an hour, and in Python that C++ calls, where exceptions are lost."""
    machine = Machine(tmp_path)

    def interrupt(process: subprocess.Popen[str]) -> None:
        wait_for(lambda: not os.path.lexists(f"/proc/{process.pid}/fd/1"), process)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)

    ended = machine.run([sys.executable, "-c", IN_TVM + call], interrupt)
    assert (ended.status, ended.err) == (130, LINE)
    assert not list(machine.left())


def test_programs_that_do_not_listen_are_ended_by_force(tmp_path: Path) -> None:
    """Also those that others have started and left alone; shells would say of a `sleep` that it was killed."""
    machine = Machine(tmp_path)
    deaf = "exec 2> /dev/null; trap '' TERM INT; touch {}; while :; do sleep 0.05; done"
    script = f"""
import subprocess
from match.interrupt.watch import watch
watch()
subprocess.run(["sh", "-c", "(" + {deaf.format("a")!r} + ") & " + {deaf.format("b")!r}])
"""

    def interrupt(process: subprocess.Popen[str]) -> None:
        wait_for(lambda: all((machine.folder / "here" / name).exists() for name in "ab"), process)
        process.send_signal(signal.SIGINT)

    ended = machine.run([sys.executable, "-c", script], interrupt)
    assert (ended.status, ended.err) == (130, LINE)
    for name in "ab":
        (machine.folder / "here" / name).unlink()
    assert not list(machine.left())


def test_who_ignores_the_signal_goes_on(tmp_path: Path) -> None:
    """As shells start programs in the background."""
    machine = Machine(tmp_path)
    script = """
import os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
from match.interrupt.watch import watch
watch()
os.kill(os.getpid(), signal.SIGINT)
"""
    ended = machine.run([sys.executable, "-c", script], lambda _: None)
    assert (ended.status, ended.err) == (0, "")


def test_the_package_leaves_signals_alone() -> None:
    """Programs that import it get Python's own KeyboardInterrupt."""
    script = """
import os, signal
import match, match.compiler
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.stdout == "interrupted\n"


def test_what_is_discarded(tmp_path: Path) -> None:
    with unfinished(tmp_path / "file") as file, scratch_folder("x-", tmp_path) as folder:
        file.touch()
        (folder / "inside").touch()

        def undo() -> None:
            folder.rename(tmp_path / "undone")

        with all_or_nothing(undo):
            discard()
            assert [path.name for path in tmp_path.iterdir()] == ["undone"], "the last is undone first"


def test_what_is_done_is_not_undone(tmp_path: Path) -> None:
    with all_or_nothing((tmp_path / "undone").touch):
        pass
    discard()
    assert not list(tmp_path.iterdir())


def test_other_files_are_no_folder_to_write(tmp_path: Path) -> None:
    write_folder(tmp_path / "project", {"a": "first"})
    with pytest.raises(OutputError, match="Directory not empty"):
        write_folder(tmp_path / "project", {"b": "second"})
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*")] == [Path("project"), Path("project/a")]
