"""Builds a project for one of its platforms and runs it on inputs.

`on` says what runs it: of the project's platforms the one whose programs run there. A platform names its runner, one of
`RUNNERS`: functions of a module of its own that know how a program is started there, how inputs get in, and how
outputs and what is printed come out (`match.run.runner`).
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy.typing as npt

from match.analysis.trace import LayerTrace, read_trace
from match.codegen.manifest import Manifest
from match.errors import OptionError, OutputError
from match.run import debugger, gvsoc, native, qemu, sdk
from match.run.counts import CallCount, Counts, read_counts
from match.run.dumps import Dumps, read_dumps
from match.run.project import build, platform_on, read_manifest
from match.run.rtl import program as rtl
from match.run.runner import Finished, Job, Runner
from match.run.samples import Arrays, checked, interleaved, random_inputs, returned, taken_apart
from match.run.tools import need_machine

__all__ = [
    "RUNNERS",
    "Arrays",
    "CallCount",
    "Counts",
    "Dumps",
    "build",
    "dump",
    "measure",
    "platform_on",
    "random_inputs",
    "read_manifest",
    "run",
    "trace",
]

RUNNERS: Mapping[str, Runner] = {
    "native": Runner(native.run),
    "qemu": Runner(qemu.run, need_machine),
    "rtl": Runner(rtl.run, rtl.check),
    "gvsoc": Runner(gvsoc.run, need_machine),
    "sdk": Runner(sdk.run),
    "debugger": Runner(debugger.run),
}


class _Run(NamedTuple):
    outputs: Arrays
    samples: int
    finished: Finished


def run(
    directory: str | PathLike[str], inputs: Mapping[str, npt.NDArray[Any]], *, on: str = "host", sanitize: bool = False
) -> Arrays:
    """Outputs of a project by tensor name, computed by its C; builds it first where that is due.

    Args:
        directory: the project.
        inputs: for each input tensor an array of its dtype and shape. Or all of them hold the same number of samples:
            along a new first axis, or along the tensor's own if that is 1. The outputs then have their samples there.
        on: what runs it: "host" is this machine, "qemu", "rtl" and "gvsoc" are simulators, as far as the target has
            platforms for them.
        sanitize: build and run with the address and undefined-behaviour sanitizers, on the host.

    Raises:
        InputError: if the folder holds no project, or the inputs do not match its tensors.
        OptionError: if the project does not run there, or there are no sanitizers.
        ToolchainError: if make, a C compiler or what runs the program is missing, the build fails, or the program does.
        OutputError: if there is no room for temporary files.
    """
    return _run(read_manifest(directory), directory, inputs, on, sanitize=sanitize).outputs


def trace(
    directory: str | PathLike[str], inputs: Mapping[str, npt.NDArray[Any]], *, on: str = "host", sanitize: bool = False
) -> tuple[Arrays, tuple[LayerTrace, ...]]:
    """What `run` returns, and what the layers on modules did for it, each in the order of execution.

    With several samples, the layers of the first come before those of the second. Arguments and errors are those of
    `run`; the program is a build of its own.
    """
    done = _run(read_manifest(directory), directory, inputs, on, sanitize=sanitize, traced=True)
    return done.outputs, tuple(read_trace(done.finished.printed.splitlines()))


def dump(
    directory: str | PathLike[str], inputs: Mapping[str, npt.NDArray[Any]], *, on: str = "host"
) -> tuple[Arrays, Dumps]:
    """What `run` returns, and the bytes of the tensors that each layer on a module read and wrote, in every sample.

    Arguments and errors are those of `run`; the program is a build of its own.
    """
    done = _run(read_manifest(directory), directory, inputs, on, dumped=True)
    return done.outputs, read_dumps(done.finished.printed.splitlines(), done.samples)


def measure(
    directory: str | PathLike[str], inputs: Mapping[str, npt.NDArray[Any]], *, on: str, flags: str | None = None
) -> tuple[Arrays, Counts]:
    """What `run` returns, and what each call of the network cost, as it is counted there.

    Arguments and errors are those of `run`; the program is a build of its own, with `flags` in place of CFLAGS of the
    environment if they are given.

    Raises:
        OptionError: if nothing is counted there, too.
    """
    manifest = read_manifest(directory)
    platform = platform_on(manifest, on)
    unit = platform.counts
    if unit is None:
        known = ", ".join(platform.on for platform in manifest.platforms if platform.counts) or "none"
        raise OptionError(f"nothing is counted on {on!r}; for {manifest.target} it is on: {known}.")
    done = _run(manifest, directory, inputs, on, counted=True, flags=flags)
    calls = read_counts(done.finished.printed.splitlines(), manifest.calls, done.samples)
    return done.outputs, Counts(on, unit, done.finished.command, done.samples, calls, platform.counted)


def _run(
    manifest: Manifest,
    directory: str | PathLike[str],
    inputs: Mapping[str, npt.NDArray[Any]],
    on: str,
    *,
    sanitize: bool = False,
    traced: bool = False,
    counted: bool = False,
    dumped: bool = False,
    flags: str | None = None,
) -> _Run:
    platform = platform_on(manifest, on)
    samples, given = checked(manifest, inputs)
    runner, what = RUNNERS[platform.runner], f"the program of {directory}"
    runner.check(platform.machine, what)
    program = build(
        directory, platform.name, sanitize=sanitize, traced=traced, counted=counted, dumped=dumped, flags=flags
    )
    count = len(next(iter(samples.values())))
    image = Path(directory) / manifest.image if manifest.image else None
    job = Job(program, interleaved(samples), platform.machine, what, image)
    try:
        finished = runner.run(job)
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"tensors cannot be written to a temporary file: {reason}; set TMPDIR.") from error
    outputs = taken_apart(manifest.outputs, finished.outputs, count, job.what)
    return _Run(returned(outputs, given), count, finished)
