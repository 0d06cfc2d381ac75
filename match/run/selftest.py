"""A sample and what a network computes of it, as C: for the chip on which the network is brought up."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from match.codegen.c_text import comment, quoted, render, values, wrap
from match.codegen.manifest import MANIFEST, Manifest, encode
from match.errors import InputError
from match.files.own import check_unchanged, listed, replace_own
from match.ir.names import identifiers, network_prefix
from match.run import Dumps, dump, read_manifest
from match.run import run as run_project
from match.target.sources import PACKAGE

FOLDER = "selftest"


class _Input(NamedTuple):
    c_name: str
    data: bytes


class _Output(NamedTuple):
    name: str
    c_name: str
    crc: int


class _Operand(NamedTuple):
    layer: str
    tensor: str
    crc: int


def write_selftest(
    directory: str | PathLike[str],
    inputs: Mapping[str, npt.NDArray[Any]],
    origin: str = "a sample",
    *,
    overwrite: bool = False,
) -> Path:
    """Run a project on one sample on this machine, and write that as C into its folder "selftest", which is returned.

    `origin` says in the C where the sample is from. Of networks with external memory outputs alone are expected: a core
    does not read that memory as it reads main memory. The files of an earlier self-test are replaced, those of them
    that were changed since then if `overwrite` is set.

    Raises:
        InputError: if the folder holds no project, or the inputs are not one sample of its tensors.
        ToolchainError: if make or a C compiler is missing, the build fails, or the program does.
        OutputError: if the files cannot be written, or were changed since they were.
    """
    manifest, project = read_manifest(directory), Path(directory)
    if not overwrite:
        check_unchanged(project, manifest.selftest)
    _check_one_sample(manifest, inputs)
    dumps: Dumps = {}
    if manifest.image:
        outputs = run_project(directory, inputs)
    else:
        outputs, dumps = dump(directory, inputs)
    name, context = network_prefix(manifest.name), _context(manifest, inputs, outputs, dumps)
    shared = {"match_selftest.h": "include/match_selftest.h", "match_selftest.c": "src/selftest.c"}
    files: dict[str, str | bytes] = {
        f"{FOLDER}/{place}": (PACKAGE / "codegen" / path).read_text(encoding="utf-8") for place, path in shared.items()
    }
    for end in ("c", "h"):
        files[f"{FOLDER}/{name}_selftest.{end}"] = wrap(render(f"selftest.{end}.mako", **context, origin=origin))
    records = {MANIFEST: encode(msgspec.structs.replace(manifest, selftest=listed(files)))}
    replace_own(project, files, manifest.selftest, records, overwrite=overwrite)
    return project / FOLDER


def _check_one_sample(manifest: Manifest, inputs: Mapping[str, npt.NDArray[Any]]) -> None:
    for tensor in manifest.inputs:
        given = inputs.get(tensor.name)
        if given is not None and np.shape(given) != tensor.shape:
            raise InputError(
                f"a self-test has one sample: {tensor.name} has shape {list(np.shape(given))}, and one sample is "
                f"{list(tensor.shape)}; take one out of it."
            )


def _context(
    manifest: Manifest,
    inputs: Mapping[str, npt.NDArray[Any]],
    outputs: Mapping[str, npt.NDArray[Any]],
    dumps: Dumps,
) -> dict[str, object]:
    """What templates are told of a sample and of what the network makes of it."""
    name = network_prefix(manifest.name)
    input_names = identifiers(tensor.name for tensor in manifest.inputs)
    output_names = identifiers(tensor.name for tensor in manifest.outputs)
    return {
        "name": name,
        "prefix": name.upper(),
        "fingerprint": manifest.fingerprint,
        "states": manifest.states,
        "inputs": [
            _Input(c_name, inputs[tensor.name].astype(tensor.dtype).tobytes())
            for tensor, c_name in zip(manifest.inputs, input_names, strict=True)
        ],
        "layers": [_Operand(layer, operand, zlib.crc32(data[0])) for (layer, operand), data in dumps.items()],
        "outputs": [
            _Output(tensor.name, c_name, zlib.crc32(outputs[tensor.name].tobytes()))
            for tensor, c_name in zip(manifest.outputs, output_names, strict=True)
        ],
        "comment": comment,
        "quoted": quoted,
        "values": values,
    }
