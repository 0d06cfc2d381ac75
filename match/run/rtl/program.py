"""Runs programs without an operating system on one CV32E40P core: its RTL, simulated."""

from __future__ import annotations

from match.interrupt.unfinished import scratch_folder
from match.run.rtl.simulator import check_installed, default_folder, simulator
from match.run.runner import Finished, Job
from match.run.tools import call


def check(machine: tuple[str, ...], what: str) -> None:
    """Raise ToolchainError if what makes the simulator is not installed."""
    check_installed()


def run(job: Job) -> Finished:
    """The program with two files, which the simulator reads and writes for it; builds that one where it is due."""
    core = simulator(default_folder())
    with scratch_folder("match-run-") as folder:
        source, sink = folder / "inputs", folder / "outputs"
        source.write_bytes(job.inputs)
        printed = call([str(core), str(job.program), str(source), str(sink)], job.what)
        return Finished(sink.read_bytes(), printed, f"{core.name} {job.program.name} INPUTS OUTPUTS (one core)")
