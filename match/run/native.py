"""Runs programs that were built for this machine."""

from __future__ import annotations

from match.interrupt.unfinished import scratch_folder
from match.run.runner import Finished, Job
from match.run.tools import call


def run(job: Job) -> Finished:
    """The program itself, with two files."""
    with scratch_folder("match-run-") as folder:
        source, sink = folder / "inputs", folder / "outputs"
        source.write_bytes(job.inputs)
        printed = call([str(job.program), str(source), str(sink)], job.what)
        return Finished(sink.read_bytes(), printed, f"{job.program.name} INPUTS OUTPUTS")
