"""Writes a network as a C project: a folder that make and a C compiler turn into a program."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from match.codegen.backend import CONSTANT_ALIGNMENT, WORKSPACE_ALIGNMENT
from match.codegen.c_text import comment, quoted, render, values, wrap
from match.codegen.identity import fingerprint, shared_c
from match.codegen.layer import callbacks, prototype
from match.codegen.memory_text import MemoryText
from match.codegen.network import Call, Network
from match.codegen.platforms import PACKAGE, place
from match.codegen.shared_text import plan_files
from match.dispatch.plan import CPU
from match.errors import OutputError
from match.files.output import check_folder, write_folder
from match.frontend.model import ModelTensor, Quantization, Rounding, tensor_bytes
from match.ir.names import identifier, identifiers, network_prefix
from match.target.hardware import MatchTarget, Platform

MANIFEST = "project.json"

RUNTIME = ("match_async.c", "match_context.c", "match_lock.c", "match_quantize.c", "match_status.c")
"""What networks share on all platforms."""

_STATIC = {
    **{f"include/{name}": f"include/{name}" for name in ("match_layer.h", "match_network.h", "match_runtime.h")},
    **{f"include/match_{name}.h": f"include/match_{name}.h" for name in ("count", "dump", "io", "trace")},
    **{f"runtime/{name}": f"runtime/{name}" for name in RUNTIME},
    **{f"program/{name}": f"src/{name}" for name in ("count.c", "dump.c", "io.c", "trace.c")},
}
"""Files that are the same in all projects: where they are there, and here."""

_C_TYPES = {"float32": "float", "float64": "double", "bool": "bool"}
_ROUNDING = {Rounding.ONNXRUNTIME: "MATCH_HALF_EVEN"}


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

    `calls` are what one inference calls, in order. `image` is the file for external memory, of networks that take some.
    `fingerprint` is that of the network's own C, which the network has as well.
    """

    name: str
    target: str
    inputs: tuple[ModelTensor, ...]
    outputs: tuple[ModelTensor, ...]
    platforms: tuple[PlatformEntry, ...]
    calls: tuple[Call, ...]
    image: str | None = None
    fingerprint: str = ""
    schema_version: Literal[4] = 4


@dataclass(frozen=True)
class _TensorText:
    """An input or output of the network in C; `offset` is its place in the workspace, `prefix` begins macros."""

    tensor: ModelTensor
    c_name: str
    direction: str
    offset: int
    prefix: str

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
    def elements(self) -> int:
        return math.prod(self.tensor.shape)

    @property
    def quantization(self) -> Quantization | None:
        return self.tensor.quantization

    @property
    def scale(self) -> str:
        """The scale in so many digits that a float32 comes back as it was."""
        scale = self.tensor.quantization.scale if self.tensor.quantization else 0.0
        return str(np.float32(scale))

    @property
    def dtype_name(self) -> str:
        return f"MATCH_{self.tensor.dtype}".upper()

    @property
    def macro(self) -> str:
        return f"{self.prefix}_{self.direction}_{self.c_name}".upper()

    @property
    def variable(self) -> str:
        return f"{self.direction}_{self.c_name}"


class _Operator(NamedTuple):
    """A call of a run as the network describes it."""

    name: str
    source: str
    module: str


class _MemoryUse(NamedTuple):
    """Bytes that the network takes of a memory."""

    memory: str
    purpose: str
    bytes: int


def export(network: Network, target: MatchTarget, directory: Path, files: Mapping[str, str] | None = None) -> None:
    """Write the C project of a network, and further text `files` by name, into `directory`, all or nothing.

    A project that is already there is replaced. Equal networks give equal folders, byte for byte.

    Raises:
        OutputError: if the folder cannot be written, or holds something that is not a project.
    """
    directory = directory.resolve()
    contents: dict[str, str | bytes] = {**project_files(network, target, tuple(files or ())), **(files or {})}
    if network.memory:
        contents[image_file(network)] = network.memory.image
    check_project_folder(directory)
    write_folder(directory, contents)


def check_project_folder(directory: Path) -> None:
    """Find out if a project may be written into `directory`: there is none, it is empty, or holds a project.

    Raises:
        OutputError: if it may not.
    """
    try:
        directory = directory.resolve()
    except (OSError, RuntimeError) as error:
        raise OutputError(f"{directory} is a loop of symbolic links; choose another folder.") from error
    check_folder(directory)
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
    name = network_prefix(network.name)
    described = target.platforms if network.memory is None else with_external(target)
    platforms = place(platform for platform in described if not _missing(platform, network))
    platform = {name: text for placed in platforms for name, text in placed.files.items()}
    layers = {f"src/{layer.plan.symbol.removeprefix(f'{name}_')}.c": layer.code for layer in network.layers}
    shared = plan_files(layer.plan for layer in network.layers)
    shared = {f"{'include' if part.endswith('.h') else 'runtime'}/{part}": text for part, text in shared.items()}
    image = {"src/image.c": "image.c.mako"} if network.memory else {}
    image_name = image_file(network) if network.memory else None
    own = [*layers, *image, "src/network.c", "src/start.c", "src/workspace.c"]
    own += [part for part in shared if part.endswith(".c")]
    own += ["runtime/match_platform.c", *(f"runtime/{part}" for part in RUNTIME)]
    mark = fingerprint(network)
    static = {place: (PACKAGE / "codegen" / path).read_text(encoding="utf-8") for place, path in _STATIC.items()}
    context: dict[str, object] = {
        **_network_context(network, target),
        "shared": shared_c(target.name, [*static.values(), *_shared_files(target)]),
        "fingerprint": mark,
        "image": image_name,
        "sources": sorted(own),
        "platforms": platforms,
        "folders": sorted({name.split("/")[0] for name in platform}),
        "others": others,
    }
    entries = tuple(_entry(platform, network) for platform in described)
    manifest = Manifest(
        network.name, target.name, network.inputs, network.outputs, entries, network.calls, image_name, mark
    )
    made = {
        f"include/{name}.h": wrap(render("network.h.mako", **context)),
        "include/match_version.h": render("match_version.h.mako", **context),
        "runtime/match_platform.c": render("match_platform.c.mako", **context),
        "src/layers.h": wrap(render("layers.h.mako", **context)),
        "src/network.c": wrap(render("network.c.mako", **context)),
        "src/start.c": wrap(render("start.c.mako", **context)),
        "src/workspace.c": wrap(render("workspace.c.mako", **context)),
        **{place: wrap(render(template, **context)) for place, template in image.items()},
        **layers,
        **shared,
    }
    code = [text for path, text in {**static, **made}.items() if not path.startswith("program/")]
    context["libraries"] = {placed.platform.name: placed.used(code) for placed in platforms}
    return {
        "Makefile": render("Makefile.mako", **context),
        f"{name}.cmake": render("network.cmake.mako", **context),
        f"{name}.mk": render("network.mk.mako", **context),
        "README.md": render("README.md.mako", **context),
        MANIFEST: msgspec.json.format(msgspec.json.encode(manifest), indent=2).decode() + "\n",
        **static,
        **made,
        "program/main.c": wrap(render("main.c.mako", **context)),
        **platform,
    }


def _shared_files(target: MatchTarget) -> list[str]:
    """The text of what platforms bring along, with external memory and without, and of what makes modules' shared C."""
    platforms = [*target.platforms, *(with_external(target) if target.external else ())]
    files = {path: text for placed in place(platforms) for path, text in placed.files.items()}
    templates = [PACKAGE / "codegen" / "templates" / name for name in ("shared.c.mako", "shared.h.mako")]
    return [*(files[path] for path in sorted(files)), *(path.read_text(encoding="utf-8") for path in templates)]


def _network_context(network: Network, target: MatchTarget) -> dict[str, object]:
    """What templates are told of the network and the target, and the functions that they call."""
    name = network_prefix(network.name)
    tensors = _texts(network, name)
    return {
        "network": network,
        "memory": MemoryText(network.memory) if network.memory else None,
        "image_folder": (".",) if network.memory else (),  # assemblers look for the image among headers
        "target": target,
        "name": name,
        "prefix": name.upper(),
        "inputs": tensors[: len(network.inputs)],
        "outputs": tensors[len(network.inputs) :],
        "operators": tuple(_operators(network)),
        "rooms": tuple(_memory_uses(network, target)),
        "rounding": _ROUNDING.get(network.rounding, "MATCH_HALF_AWAY"),
        "alignment": max(WORKSPACE_ALIGNMENT, target.main_memory.alignment),
        "constant_alignment": CONSTANT_ALIGNMENT,
        "c_type": _c_type,
        "comment": comment,
        "numbers": _numbers,
        "prototype": prototype,
        "callbacks": callbacks,
        "values": values,
        "quoted": quoted,
    }


def image_file(network: Network) -> str:
    """Name of the file with what external memory holds when the program starts, for networks that take some."""
    return f"{network_prefix(network.name)}.bin"


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


def _texts(network: Network, prefix: str) -> tuple[_TensorText, ...]:
    """Inputs, then outputs."""
    offsets = iter(network.inside.offsets)
    return tuple(
        _TensorText(tensor, name, direction, next(offsets), prefix)
        for direction, tensors in (("input", network.inputs), ("output", network.outputs))
        for tensor, name in zip(tensors, identifiers(tensor.name for tensor in tensors), strict=True)
    )


def _operators(network: Network) -> Iterator[_Operator]:
    layers = {layer.plan.symbol: layer.plan for layer in network.layers}
    for call in network.calls:
        plan = layers.get(call.function)
        if plan is not None:
            yield _Operator(plan.layer.name, call.source, plan.module)
        else:
            name = call.function.removeprefix(f"tvmgen_{identifier(network.name)}_")
            yield _Operator(name, call.source, CPU)


def _memory_uses(network: Network, target: MatchTarget) -> Iterator[_MemoryUse]:
    """What the network takes of each memory: of scratchpads the most that a layer does."""
    main = target.main_memory.name
    yield _MemoryUse(main, "workspace", network.workspace_bytes)
    if network.memory is None:
        yield _MemoryUse(main, "constants", network.constant_bytes)
    elif target.external:
        yield _MemoryUse(target.external.memory.name, "constants and activations", network.memory.plan.external)
    used: dict[str, int] = {}
    for layer in network.layers:
        schedule = layer.plan.schedule
        for room, _ in schedule.inner_memory.rooms:
            used[room] = max(used.get(room, 0), schedule.used_bytes(schedule.inner_memory, room))
    for room, size in sorted(used.items()):
        yield _MemoryUse(room, "blocks", size)


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
            sources=(*platform.sources, *part.sources),
            include=(*platform.include, *part.include),
            defines={**platform.defines, **part.defines},
        )
        for platform in target.platforms
        if (part := external.platforms.get(platform.name)) is not None
    )
