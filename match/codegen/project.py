"""Writes a network as a C project: a folder that make and a C compiler turn into a program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from match.codegen.backend import WORKSPACE_ALIGNMENT
from match.codegen.c_text import comment, render, values, wrap
from match.codegen.layer import callbacks, prototype
from match.codegen.memory_text import MemoryText
from match.codegen.network import Call, Network, tensor_bytes
from match.codegen.platforms import PACKAGE, place
from match.errors import OutputError
from match.files.output import write_folder
from match.frontend.model import Tensor
from match.ir.names import identifier, identifiers
from match.target.hardware import MatchTarget, Platform

MANIFEST = "project.json"

_STATIC = (
    "include/match_count.h",
    "include/match_dump.h",
    "include/match_io.h",
    "include/match_layer.h",
    "include/match_trace.h",
    "src/count.c",
    "src/dump.c",
    "src/io.c",
    "src/trace.c",
)
IMAGE = "external.bin"
"""What external memory holds when the program starts, of networks that take some."""

_C_TYPES = {"float32": "float", "float64": "double", "bool": "bool"}


class PlatformEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A platform of the project; the fields are those of `match.target.hardware.Platform`.

    `missing` are modules that the network uses and the platform does not have: it is then not in the Makefile.
    """

    name: str
    on: str
    compiler: str | None
    runner: str
    machine: tuple[str, ...]
    counts: Literal["instructions", "cycles"] | None
    modules: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`project.json`: what a program that runs the project has to know.

    `calls` are what one inference calls, in order.
    """

    name: str
    target: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    platforms: tuple[PlatformEntry, ...]
    calls: tuple[Call, ...]
    schema_version: Literal[3] = 3


@dataclass(frozen=True)
class _TensorText:
    """An input or output of the network in C."""

    tensor: Tensor
    c_name: str
    direction: str

    @property
    def name(self) -> str:
        return self.tensor.name

    @property
    def c_type(self) -> str:
        return _c_type(self.tensor.dtype)

    @property
    def shape(self) -> str:
        return "x".join(map(str, self.tensor.shape)) or "scalar"

    @property
    def bytes(self) -> int:
        return tensor_bytes([self.tensor])

    @property
    def size_name(self) -> str:
        return f"MATCH_{self.direction}_{self.c_name}_BYTES".upper()

    @property
    def variable(self) -> str:
        return f"{self.direction}_{self.c_name}"


def export(network: Network, target: MatchTarget, directory: Path, files: Mapping[str, str] | None = None) -> None:
    """Write the C project of a network, and further text `files` by name, into `directory`, all or nothing.

    A project that is already there is replaced. Equal networks give equal folders, byte for byte.

    Raises:
        OutputError: if the folder cannot be written, or holds something that is not a project.
    """
    directory = directory.resolve()
    contents: dict[str, str | bytes] = {**project_files(network, target, tuple(files or ())), **(files or {})}
    if network.memory:
        contents[IMAGE] = network.memory.image
    check_folder(directory)
    write_folder(directory, contents)


def check_folder(directory: Path) -> None:
    """Find out if a project may be written into `directory`: there is none, it is empty, or holds a project.

    Raises:
        OutputError: if it may not.
    """
    try:
        foreign = directory.exists() and any(directory.iterdir()) and not _is_project(directory)
    except OSError as error:
        raise OutputError(
            f"{directory} cannot be written: {error.strerror or error}; choose another folder."
        ) from error
    if foreign:
        raise OutputError(
            f"{directory} holds files that are no project of this compiler; choose another folder or empty it."
        )


def _is_project(directory: Path) -> bool:
    """Whether there is a manifest of any version: other tools, too, call a file project.json."""
    try:
        manifest = msgspec.json.decode((directory / MANIFEST).read_bytes(), type=dict[str, object])
    except (OSError, msgspec.MsgspecError):
        return False
    return {"name", "target", "inputs", "outputs", "schema_version"} <= manifest.keys()


def project_files(network: Network, target: MatchTarget, others: Sequence[str] = ()) -> dict[str, str]:
    """Every file of text of the project, by its path inside it; `others` are names of files that join them."""
    header = f"match_{identifier(network.name)}.h"
    described = target.platforms if network.memory is None else with_external(target)
    platforms = place(platform for platform in described if not _missing(platform, network))
    platform = {name: text for placed in platforms for name, text in placed.files.items()}
    layers = {f"src/{layer.plan.symbol}.c": layer.code for layer in network.layers}
    own = ["src/main.c", "src/network.c", *layers]
    context: dict[str, object] = {
        "network": network,
        "memory": MemoryText(network.memory) if network.memory else None,
        "image": IMAGE,
        "target": target,
        "header": header,
        "inputs": _texts(network.inputs, "input"),
        "outputs": _texts(network.outputs, "output"),
        "sources": sorted(own),
        "platforms": platforms,
        "folders": sorted({name.split("/")[0] for name in platform}),
        "others": others,
        "alignment": WORKSPACE_ALIGNMENT,
        "c_type": _c_type,
        "comment": comment,
        "numbers": _numbers,
        "prototype": prototype,
        "callbacks": callbacks,
        "values": values,
    }
    entries = tuple(_entry(platform, network) for platform in described)
    manifest = Manifest(network.name, target.name, network.inputs, network.outputs, entries, network.calls)
    return {
        "Makefile": render("Makefile.mako", **context),
        "README.md": render("README.md.mako", **context),
        MANIFEST: msgspec.json.format(msgspec.json.encode(manifest), indent=2).decode() + "\n",
        f"include/{header}": wrap(render("network.h.mako", **context)),
        "include/match_layers.h": wrap(render("layers.h.mako", **context)),
        **{name: (PACKAGE / "codegen" / name).read_text(encoding="utf-8") for name in _STATIC},
        "src/main.c": wrap(render("main.c.mako", **context)),
        "src/network.c": wrap(render("network.c.mako", **context)),
        **layers,
        **platform,
    }


def _entry(platform: Platform, network: Network) -> PlatformEntry:
    return PlatformEntry(
        name=platform.name,
        on=platform.place,
        compiler=platform.compiler,
        runner=platform.runner,
        machine=platform.machine,
        counts=platform.counts,
        modules=platform.modules,
        missing=_missing(platform, network),
    )


def _missing(platform: Platform, network: Network) -> tuple[str, ...]:
    """Modules that the network uses and the platform does not have."""
    if platform.modules is None:
        return ()
    return tuple(sorted({layer.plan.module for layer in network.layers} - set(platform.modules)))


def _texts(tensors: Sequence[Tensor], direction: str) -> tuple[_TensorText, ...]:
    names = identifiers(tensor.name for tensor in tensors)
    return tuple(_TensorText(tensor, name, direction) for tensor, name in zip(tensors, names, strict=True))


def _c_type(dtype: str) -> str:
    return _C_TYPES.get(dtype, f"{dtype}_t")


def _numbers(data: npt.NDArray[np.generic]) -> list[str]:
    """Elements as C literals."""
    if data.dtype.kind == "f":
        return [_float(float(value), data.dtype.itemsize) for value in data.flat]
    return [_integer(int(value)) for value in data.flat]


def _float(value: float, size: int) -> str:
    if not math.isfinite(value):
        return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
    return repr(value) + ("f" if size == 4 else "")


def _integer(value: int) -> str:
    return f"({value + 1} - 1)" if value == -(2**63) else str(value)


def with_external(target: MatchTarget) -> tuple[Platform, ...]:
    """The target's platforms that have its external memory, with what that takes."""
    external = target.external
    assert external is not None, "networks take external memory of targets that have some"
    return tuple(
        replace(
            platform,
            sources=(*platform.sources, *external.sources),
            include=(*platform.include, *external.include),
            defines={**platform.defines, **external.defines},
        )
        for platform in target.platforms
        if platform.name in external.platforms
    )
