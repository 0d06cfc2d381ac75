"""Builds a project that was made for this machine and runs it on inputs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from match.arguments import is_a
from match.codegen.network import tensor_bytes
from match.codegen.project import MANIFEST, Manifest
from match.errors import InputError, OutputError, ToolchainError
from match.frontend.model import Tensor
from match.trace import LayerTrace, read_trace

Arrays = dict[str, npt.NDArray[Any]]

_CHECKS = "address,undefined"


def read_manifest(directory: Path) -> Manifest:
    """What a project says about itself.

    Raises:
        InputError: if the folder holds no project, or one that another version of the compiler made.
    """
    path = directory / MANIFEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except OSError as error:
        raise InputError(
            f"{directory} holds no compiled network: {path} cannot be read; compile one into it."
        ) from error
    except msgspec.MsgspecError as error:
        raise InputError(f"{path} is of another version or damaged: {error}; compile the network again.") from error


def run(directory: Path, inputs: Mapping[str, npt.NDArray[Any]], *, sanitize: bool = False) -> Arrays:
    """Outputs of a project by tensor name, computed by its C on this machine; builds it first where that is due.

    Args:
        directory: the project.
        inputs: for each input tensor an array of its dtype and shape, or of as many such samples as all the others
            along a new first axis; the outputs then have that axis too.
        sanitize: build and run with the address and undefined-behaviour sanitizers.

    Raises:
        InputError: if the folder holds no project, or the inputs do not match its tensors.
        ToolchainError: if make or a C compiler is missing, the build fails, or the program does.
        OutputError: if there is no room for temporary files.
    """
    return _run(directory, inputs, sanitize=sanitize, traced=False)[0]


def trace(
    directory: Path, inputs: Mapping[str, npt.NDArray[Any]], *, sanitize: bool = False
) -> tuple[Arrays, tuple[LayerTrace, ...]]:
    """What `run` returns, and what the layers on modules did for it, each in the order of execution.

    With several samples, the layers of the first come before those of the second. Arguments and errors are those of
    `run`; the program is a build of its own.
    """
    outputs, text = _run(directory, inputs, sanitize=sanitize, traced=True)
    return outputs, tuple(read_trace(text.splitlines()))


def _run(
    directory: Path, inputs: Mapping[str, npt.NDArray[Any]], *, sanitize: bool, traced: bool
) -> tuple[Arrays, str]:
    """Outputs, and what the program printed."""
    manifest = read_manifest(directory)
    samples, batched = _checked(manifest, inputs)
    program = build(directory, sanitize=sanitize, traced=traced)
    try:
        with TemporaryDirectory(prefix="match-run-") as name:
            source, sink = Path(name, "inputs"), Path(name, "outputs")
            source.write_bytes(_interleaved(samples))
            printed = _call([str(program), str(source), str(sink)], f"the program of {directory}")
            data = np.frombuffer(sink.read_bytes(), np.uint8)
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"tensors cannot be written to a temporary file: {reason}; set TMPDIR.") from error
    count = len(next(iter(samples.values())))
    outputs = _taken_apart(manifest.outputs, data.reshape(count, -1))
    return (outputs if batched else {name: array[0] for name, array in outputs.items()}), printed


def build(directory: Path, *, sanitize: bool = False, traced: bool = False) -> Path:
    """Compile a project with make where it is not up to date; returns the program.

    Raises:
        ToolchainError: if make or a C compiler is missing, or the build fails.
    """
    compiler = os.environ.get("CC", "").strip() or "cc"
    for tool in ("make", compiler.split()[0]):
        if shutil.which(tool) is None:
            raise ToolchainError(f"building {directory} needs {tool!r}, which is not on the PATH; install it.")
    options = [f"SANITIZE={_CHECKS}"] if sanitize else []
    options += ["TRACE=1"] if traced else []
    jobs = f"-j{os.cpu_count() or 1}"
    _call(["make", "-s", "-C", str(directory), jobs, f"CC={compiler}", *options], f"make in {directory}")
    folder = "host" + ("-" + _CHECKS.replace(",", "-") if sanitize else "") + ("-trace" if traced else "")
    return directory / "build" / folder / "network"


def random_inputs(manifest: Manifest, seed: int) -> Arrays:
    """One sample of every input of a project: integers from all of their range, floats from 0 to 1."""
    rng = np.random.default_rng(seed)
    return {tensor.name: _random(tensor, rng) for tensor in manifest.inputs}


def _random(tensor: Tensor, rng: np.random.Generator) -> npt.NDArray[Any]:
    dtype = np.dtype(tensor.dtype)
    if dtype.kind == "f":
        return rng.random(tensor.shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, tensor.shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, tensor.shape, dtype=dtype, endpoint=True)


def _checked(manifest: Manifest, inputs: Mapping[str, npt.NDArray[Any]]) -> tuple[Arrays, bool]:
    """Each input with an axis of samples in front, in the project's order; whether they came with one."""
    expected = ", ".join(f"{t.name} {t.dtype} {list(t.shape)}" for t in manifest.inputs)
    names = [tensor.name for tensor in manifest.inputs]
    if not is_a(inputs, Mapping):
        raise InputError(f"inputs are arrays by name, not {type(inputs).__name__}; {manifest.name} takes: {expected}.")
    if set(inputs) != set(names):
        given = ", ".join(map(str, inputs)) or "none"
        raise InputError(f"the inputs given are {given}; {manifest.name} takes: {expected}.")
    samples: Arrays = {}
    counts: set[int | None] = set()
    for tensor in manifest.inputs:
        try:
            array = np.asarray(inputs[tensor.name])
        except ValueError as error:
            raise InputError(f"input {tensor.name} is no array; {manifest.name} takes: {expected}.") from error
        batched = array.ndim == len(tensor.shape) + 1
        if array.shape[batched:] != tensor.shape or array.dtype != np.dtype(tensor.dtype) or not array.size:
            raise InputError(
                f"input {tensor.name} is {array.dtype} {list(array.shape)}; {manifest.name} takes: {expected}, "
                f"or any number of such samples along one more axis in front."
            )
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise InputError(f"input {tensor.name} has {np.isnan(array).sum()} values that are NaN; give numbers.")
        samples[tensor.name] = array if batched else array[np.newaxis]
        counts.add(len(array) if batched else None)
    if len(counts) > 1:
        raise InputError(f"the inputs of {manifest.name} have different numbers of samples; give all of them as many.")
    return samples, counts != {None}


def _interleaved(samples: Arrays) -> bytes:
    """All tensors of the first sample, all of the second, and so on."""
    count = len(next(iter(samples.values())))
    parts = [np.ascontiguousarray(array).view(np.uint8).reshape(count, -1) for array in samples.values()]
    return np.concatenate(parts, axis=1).tobytes()


def _taken_apart(tensors: Sequence[Tensor], data: npt.NDArray[np.uint8]) -> Arrays:
    """The tensors in rows of bytes, one row a sample."""
    outputs: Arrays = {}
    start = 0
    for tensor in tensors:
        size = tensor_bytes([tensor])
        part = np.ascontiguousarray(data[:, start : start + size])
        outputs[tensor.name] = part.view(tensor.dtype).reshape(len(data), *tensor.shape)
        start += size
    return outputs


def _call(command: Sequence[str], what: str) -> str:
    """What a command prints, which is not shown; raises ToolchainError with the line that says what went wrong."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise ToolchainError(f"{what} cannot be started: {error.strerror or error}.") from error
    if done.returncode:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        key = next(
            (
                line
                for line in lines
                if re.search(r"undefined reference|undefined symbol|error|status|not found", line, re.IGNORECASE)
            ),
            None,
        )
        reason = key or (lines[-1] if lines else f"exit status {done.returncode}")
        raise ToolchainError(f"{what} failed: {reason.rstrip('.')}.")
    return done.stdout
