"""Runs programs without an operating system on GVSoC, the simulator of PULP chips; files pass through semihosting."""

from __future__ import annotations

from match.errors import ToolchainError
from match.interrupt.unfinished import scratch_folder
from match.run.runner import Finished, Job
from match.run.tools import check, execute

_INPUTS, _OUTPUTS = "inputs.bin", "outputs.bin"
_STEPS = ("image", "flash", "run")
_FLASH = "hyperflash:readfs:files"


def run(job: Job) -> Finished:
    """The program on `machine`, a command line of GVSoC without a binary; it finds the two files in its folder.

    An image is a file of the readfs in flash. Lines of the simulator's own are not part of what the program printed.
    """
    with scratch_folder("match-run-") as folder:
        (folder / _INPUTS).write_bytes(job.inputs)
        places = (f"--work-dir={folder}", f"--binary={job.program.resolve()}")
        flash = (f"--flash-property={job.image.resolve()}@{_FLASH}",) if job.image else ()
        done = execute([*job.machine, *places, *flash, *_STEPS], job.what, folder=folder)
        check(done.returncode, done.stdout + done.stderr, job.what)
        sink = folder / _OUTPUTS
        if not sink.exists():
            raise ToolchainError(f"{job.what} wrote no outputs; GVSoC says: {(done.stdout + done.stderr)[-200:]!r}.")
        printed = "\n".join(line for line in done.stdout.splitlines() if line.startswith("{"))
        image = (f"--flash-property={job.image.name}@{_FLASH}",) if job.image else ()
        command = " ".join((*job.machine, f"--binary={job.program.name}", *image, *_STEPS))
        return Finished(sink.read_bytes(), printed, command)
