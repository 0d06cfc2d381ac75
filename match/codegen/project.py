"""Writes a network as a C project: a folder that make and a C compiler turn into a program."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from match.codegen.c_text import comment, quoted, render, values, wrap
from match.codegen.identity import SharedC, fingerprint, shared_c
from match.codegen.layer import callbacks, prototype
from match.codegen.literal_text import c_type, numbers
from match.codegen.main_text import MainText
from match.codegen.manifest import MANIFEST, Manifest, PlatformEntry, encode
from match.codegen.memory_text import MemoryText
from match.codegen.network import Network
from match.codegen.platforms import COUNT, place
from match.codegen.project_folder import check_project_folder, earlier
from match.codegen.shared_text import DirectSharedText, SharedText, plan_files
from match.codegen.steps import CONSTANT_ALIGNMENT, WORKSPACE_ALIGNMENT
from match.dispatch.plan import CPU
from match.files.own import listed, replace_own
from match.frontend.model import ModelTensor, Quantization, Rounding, tensor_bytes
from match.ir.names import identifiers, network_prefix
from match.target.hardware import MatchTarget, Platform
from match.target.sources import PACKAGE

RUNTIME = ("match_async.c", "match_context.c", "match_lock.c", "match_quantize.c", "match_status.c")
"""What networks share on all platforms."""

_STATIC = {
    **{f"include/{name}": f"include/{name}" for name in ("match_layer.h", "match_network.h", "match_runtime.h")},
    **{f"include/match_{name}.h": f"include/match_{name}.h" for name in ("count", "dump", "io", "trace")},
    **{f"runtime/{name}": f"runtime/{name}" for name in RUNTIME},
    **{f"program/{name}": f"src/{name}" for name in ("count.c", "dump.c", "io.c", "trace.c")},
}
"""Files that are the same in all projects: where they are there, and here."""

_OWN_FOLDERS = frozenset({"include", "runtime", "src"})
"""Folders of a network's own C; programs, platforms and their kernels have others."""

_ROUNDING = {Rounding.ONNXRUNTIME: "MATCH_HALF_EVEN"}


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
        return c_type(self.tensor.dtype)

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
    def pointer(self) -> str:
        """The caller's array for operators, which take pointers to what they change, and truth values as int8_t."""
        place = f"{self.direction}s->{self.c_name}"
        return f"(void *){place}" if self.direction == "input" or self.c_type == "bool" else place

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


def export(
    network: Network,
    target: MatchTarget,
    directory: Path,
    records: Mapping[str, str] | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write the C project of a network into `directory`, all or nothing.

    `records` are further texts by name, such as reports, which commands write again. Of a project that is already there
    the files that it was written with are replaced; all others stay. Equal networks give equal files, byte for byte.

    Raises:
        OutputError: if the folder cannot be written, holds something that is not a project, or files that were changed
            since they were written, unless `overwrite` is set.
    """
    directory = directory.resolve()
    check_project_folder(directory, overwrite=overwrite)
    before = earlier(directory)
    contents: dict[str, str | bytes] = {**project_files(network, target, tuple(records or ()))}
    if network.memory:
        contents[image_file(network)] = network.memory.image
    manifest = _manifest(network, target, contents, before.selftest)
    replace_own(
        directory,
        contents,
        before.files or {},
        {**(records or {}), MANIFEST: encode(manifest)},
        overwrite=overwrite,
    )


def _manifest(
    network: Network, target: MatchTarget, contents: Mapping[str, str | bytes], selftest: dict[str, str]
) -> Manifest:
    files = {path: text for path, text in contents.items() if isinstance(text, str)}
    return Manifest(
        name=network.name,
        target=target.name,
        inputs=network.inputs,
        outputs=network.outputs,
        platforms=tuple(_entry(platform, network, files) for platform in _described(network, target)),
        calls=network.calls,
        image=image_file(network) if network.memory else None,
        fingerprint=fingerprint(network),
        shared=shared_by(target).symbol,
        files=listed(contents),
        selftest=selftest,
        states=tuple(state.tensor for state in network.states),
        sources=_own_sources(files),
    )


def shared_by(target: MatchTarget) -> SharedC:
    """The C that networks for a target share, by its content."""
    texts = [(PACKAGE / "codegen" / path).read_text(encoding="utf-8") for path in _STATIC.values()]
    return shared_c(target.name, [*texts, *_shared_files(target)])


def _described(network: Network, target: MatchTarget) -> tuple[Platform, ...]:
    return target.platforms if network.memory is None else with_external(target)


def project_files(network: Network, target: MatchTarget, others: Sequence[str] = ()) -> dict[str, str]:
    """Every file of text that a project is written with but its manifest, by path; `others` are names of more files."""
    name = network_prefix(network.name)
    platforms = place(platform for platform in _described(network, target) if not _missing(platform, network))
    platform = {name: text for placed in platforms for name, text in placed.files.items()}
    layers = {f"src/{layer.plan.symbol.removeprefix(f'{name}_')}.c": layer.code for layer in network.layers}
    shared = plan_files(layer.plan for layer in network.layers)
    shared = {f"{'include' if part.endswith('.h') else 'runtime'}/{part}": text for part, text in shared.items()}
    image = {"src/image.c": "image.c.mako"} if network.memory else {}
    image_name = image_file(network) if network.memory else None
    static = {place: (PACKAGE / "codegen" / path).read_text(encoding="utf-8") for place, path in _STATIC.items()}
    context: dict[str, object] = {
        **_network_context(network, target),
        "shared": shared_by(target),
        "fingerprint": fingerprint(network),
        "image": image_name,
        "platforms": platforms,
        "folders": sorted({name.split("/")[0] for name in platform}),
        "others": others,
    }
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
    code = _code({**static, **made})
    context["sources"] = _own_sources({**static, **made})
    context["libraries"] = {placed.platform.name: placed.used(code) for placed in platforms}
    context["counting"] = {placed.platform.name: placed.counting(code, static[COUNT]) for placed in platforms}
    return {
        "Makefile": render("Makefile.mako", **context),
        f"{name}.cmake": render("network.cmake.mako", **context),
        f"{name}.mk": render("network.mk.mako", **context),
        "README.md": render("README.md.mako", **context),
        **static,
        **made,
        "program/main.c": wrap(render("main.c.mako", **context)),
        **platform,
    }


def _code(files: Mapping[str, str]) -> list[str]:
    """The C of a network that every library of it has."""
    return [text for path, text in files.items() if path.split("/")[0] in _OWN_FOLDERS]


def _own_sources(files: Mapping[str, str]) -> tuple[str, ...]:
    """The paths of what is compiled of it."""
    return tuple(sorted(path for path in files if path.split("/")[0] in _OWN_FOLDERS and path.endswith(".c")))


def _shared_files(target: MatchTarget) -> list[str]:
    """The text of what platforms bring along, with external memory and without, and of what makes modules' shared C."""
    platforms = [*target.platforms, *(with_external(target) if target.external else ())]
    files = {path: text for placed in place(platforms) for path, text in placed.files.items()}
    kinds = SharedText.template, DirectSharedText.template
    templates = [PACKAGE / "codegen" / "templates" / f"{kind}.{suffix}.mako" for kind in kinds for suffix in "ch"]
    return [*(files[path] for path in sorted(files)), *(path.read_text(encoding="utf-8") for path in templates)]


def _network_context(network: Network, target: MatchTarget) -> dict[str, object]:
    """What templates are told of the network and the target, and the functions that they call."""
    name = network_prefix(network.name)
    tensors = _texts(network, name)
    return {
        "network": network,
        "main": MainText(network, [tensor.pointer for tensor in tensors]),
        "memory": MemoryText(network.memory, network.steps) if network.memory else None,
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
        "alike": _alike,
        "c_type": c_type,
        "comment": comment,
        "numbers": numbers,
        "prototype": prototype,
        "callbacks": callbacks,
        "values": values,
        "quoted": quoted,
    }


def _alike(data: npt.NDArray[np.generic]) -> int | None:
    """The one byte that an array is made of; None if there are others."""
    found = {*data.tobytes()}
    return found.pop() if len(found) == 1 else None


def image_file(network: Network) -> str:
    """Name of the file with what external memory holds when the program starts, for networks that take some."""
    return f"{network_prefix(network.name)}.bin"


def _entry(platform: Platform, network: Network, files: Mapping[str, str]) -> PlatformEntry:
    missing = _missing(platform, network)
    (placed,) = place([platform])
    return PlatformEntry(
        name=platform.name,
        on=platform.place,
        compiler=platform.compiler,
        runner=platform.runner,
        machine=platform.machine,
        counts=platform.counts,
        counted=platform.counted,
        modules=platform.modules,
        missing=missing,
        sources=() if missing else placed.used(_code(files)),
        counting=() if missing else placed.counting(_code(files), files[COUNT]),
        include=() if missing else ("include", *placed.include),
        defines=() if missing else tuple(placed.defines.split()),
    )


def _missing(platform: Platform, network: Network) -> tuple[str, ...]:
    """Modules that the network uses and the platform does not have."""
    if platform.modules is None:
        return ()
    return tuple(sorted({unit.name for layer in network.layers for unit in layer.plan.units} - set(platform.modules)))


def _texts(network: Network, prefix: str) -> tuple[_TensorText, ...]:
    """Inputs, then outputs."""
    offsets = iter(network.inside.offsets)
    return tuple(
        _TensorText(tensor, name, direction, next(offsets), prefix)
        for direction, tensors in (("input", network.inputs), ("output", network.outputs))
        for tensor, name in zip(tensors, identifiers(tensor.name for tensor in tensors), strict=True)
    )


def _operators(network: Network) -> Iterator[_Operator]:
    modules = {layer.plan.symbol: layer.plan.module for layer in network.layers}
    for step in network.steps:
        yield _Operator(step.name, step.source, modules.get(step.function, CPU))


def _memory_uses(network: Network, target: MatchTarget) -> Iterator[_MemoryUse]:
    """What the network takes of each memory: of scratchpads the most that a layer does."""
    main = target.main_memory.name
    yield _MemoryUse(main, "workspace", network.workspace_bytes)
    if network.states:
        yield _MemoryUse(main, "states", network.state_bytes)
    if network.memory is None:
        constants_in = target.flash.name if target.flash else main
        yield _MemoryUse(constants_in, "constants", network.constant_bytes)
    elif target.external:
        yield _MemoryUse(target.external.memory.name, "constants and activations", network.memory.plan.external)
    used: dict[str, int] = {}
    for layer in network.layers:
        schedule = layer.plan.schedule
        if schedule.direct:
            continue
        for room, _ in schedule.inner_memory.rooms:
            used[room] = max(used.get(room, 0), schedule.used_bytes(schedule.inner_memory, room))
    for room, size in sorted(used.items()):
        yield _MemoryUse(room, "blocks", size)


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
