"""Runs programs without an operating system on GVSoC, the simulator of PULP chips; files pass through semihosting."""

from __future__ import annotations

from match.errors import ToolchainError
from match.interrupt.unfinished import scratch_folder
from match.run.runner import Finished, Job
from match.run.tools import check, execute, need

_INPUTS, _OUTPUTS = "inputs.bin", "outputs.bin"
_STEPS = ("image", "flash", "run")


def run(job: Job) -> Finished:
    """The program on `machine`, a command line of GVSoC without a binary; it finds the two files in its folder.

    Lines of the simulator's own are not part of what the program printed.
    """
    need(job.machine[:1], f"running {job.what}")
    with scratch_folder("match-run-") as folder:
        (folder / _INPUTS).write_bytes(job.inputs)
        places = (f"--work-dir={folder}", f"--binary={job.program.resolve()}")
        done = execute([*job.machine, *places, *_STEPS], job.what, folder=folder)
        check(done.returncode, done.stdout + done.stderr, job.what)
        sink = folder / _OUTPUTS
        if not sink.exists():
            raise ToolchainError(f"{job.what} wrote no outputs; GVSoC says: {(done.stdout + done.stderr)[-200:]!r}.")
        printed = "\n".join(line for line in done.stdout.splitlines() if line.startswith("{"))
        command = " ".join((*job.machine, f"--binary={job.program.name}", *_STEPS))
        return Finished(sink.read_bytes(), printed, command)
