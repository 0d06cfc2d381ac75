"""Runs programs without an operating system under QEMU; files and exit status pass through semihosting.

`-icount shift=0` makes QEMU's counters of cycles count instructions, the same in every run.
"""

from __future__ import annotations

from match.interrupt.unfinished import scratch_folder
from match.run.runner import Finished, Job
from match.run.tools import check, execute

_QUIET = ("-nographic", "-monitor", "none", "-serial", "none", "-icount", "shift=0")


def run(job: Job) -> Finished:
    """The program on `machine`, a command line of QEMU without a kernel; it finds the two files by its arguments."""
    with scratch_folder("match-run-") as folder:
        source, sink, console = (folder / part for part in ("inputs", "outputs", "console"))
        source.write_bytes(job.inputs)
        done = execute([*job.machine, *_arguments(str(job.program), str(source), str(sink), str(console))], job.what)
        printed = console.read_text(errors="replace") if console.exists() else ""
        check(done.returncode, printed + done.stderr + done.stdout, job.what)
        command = " ".join((*job.machine, *_arguments(job.program.name, "INPUTS", "OUTPUTS", "CONSOLE")))
        return Finished(sink.read_bytes(), printed, command)


def _arguments(program: str, source: str, sink: str, console: str) -> tuple[str, ...]:
    return (
        *_QUIET,
        "-chardev",
        f"file,id=console,path={console}",
        "-semihosting-config",
        f"enable=on,target=native,chardev=console,arg={source},arg={sink}",
        "-kernel",
        program,
    )
