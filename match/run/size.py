"""What a network's library takes of a chip: code, constants and variables by the linker, stack by the compiler."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable
from pathlib import Path

import msgspec

from match.codegen.c_text import comment
from match.errors import ToolchainError
from match.files.output import whole_file
from match.ir.names import network_prefix
from match.run.callgraph import CallGraph, read_call_graph
from match.run.make import make
from match.run.project import compiler_of, own_platform, platform_of, read_manifest
from match.run.tools import call, need

_SECTION = re.compile(r"^(\.\w+)\S*\s+(\d+)\s+\d+\s*$", re.MULTILINE)
_TEXT, _RODATA, _DATA, _BSS = (".text", ".init"), (".rodata", ".srodata"), (".data", ".sdata"), (".bss", ".sbss")
_KERNEL = re.compile(r"\bmatch_on_(\w+)_(?:compute|start)\((\w+),")
_LAYER = re.compile(r"src/\d+_\w+\.c:execute")
_RUN = re.compile(r"runtime/match_on_\w+\.c:run")
_FLAGS = "-ffunction-sections -fdata-sections -fcallgraph-info=su"


class Size(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes of a network's library for `platform`, built with `flags`, as `match size` measures them.

    `text`, `rodata`, `data` and `bss` are what a program takes that calls init and run and has a workspace of its own;
    the network's constants are `rodata`. `control_stack` is of the task that calls run, `layer_stack` of the core that
    executes layers, `kernel_stack` of each core that executes a kernel: the deepest chain of calls, null where the
    compiler does not tell. `kernel_stacks` tells modules apart: the kernels of an accelerator are drivers that the core
    which executes layers may execute, and `started` is what drivers start on other cores. Calls of the C library are in
    none of them, nor are the calls that lead from one of the three to the next, so that one core that does it all needs
    their sum.
    """

    platform: str
    flags: str
    text: int
    rodata: int
    data: int
    bss: int
    control_stack: int | None
    layer_stack: int | None
    kernel_stack: int | None
    kernel_stacks: dict[str, int] = {}


def size(directory: Path, platform: str | None = None, flags: str | None = None) -> Size:
    """Build a project's library and measure it.

    It is built for `platform`, none: the chip's own; with `flags`, none: CFLAGS of the environment, else -O2.

    The numbers are also written as macros, into build/size-<platform>/<name>_size.h of the project.

    Raises:
        InputError: if the folder holds no project.
        OptionError: if the project has no such platform.
        ToolchainError: if make, the compiler or its `size` is missing, or the build fails.
        OutputError: if the macros cannot be written.
    """
    manifest = read_manifest(directory)
    chosen = own_platform(manifest) if platform is None else platform_of(manifest, platform)
    platform, compiler = chosen.name, compiler_of(chosen)
    tool = compiler.split()[0]
    tools = f"{tool.removesuffix('gcc')}size" if tool.endswith("-gcc") else "size"
    others = [other.name for other in manifest.platforms if other.name != platform and not other.missing]
    advice = f"install it or choose another platform: {', '.join(others)} (--platform)" if others else "install it"
    need(("make", tool, tools), f"measuring {directory} for {platform}", advice)
    name = network_prefix(manifest.name)
    build = directory / "build" / f"size-{platform}"
    flags = os.environ.get("CFLAGS", "-O2") if flags is None else flags
    _build(directory, platform, compiler, flags, build / f"{name}.o")
    sections = _SECTION.findall(call([tools, "-A", str(build / f"{name}.o")], f"measuring {directory}"))

    def total(prefixes: tuple[str, ...]) -> int:
        return sum(int(count) for section, count in sections if section in prefixes)

    # Others may lie there, too: of an earlier compilation, or the user's own.
    sources = [Path(name) for name in manifest.files if name.endswith(".c")]
    graphs = (build / source.with_suffix(".ci") for source in sources)
    graph = read_call_graph(path.read_text() for path in graphs if path.exists())
    execute, run = ({name for name in graph.frames if one.fullmatch(name)} for one in (_LAYER, _RUN))
    graph = graph.with_calls(run, execute)
    layers = [(directory / source).read_text() for source in sources if source.match("src/[0-9]*.c")]
    kernels = {pair for text in layers for pair in _KERNEL.findall(text)}
    symbols = call([f"{tools.removesuffix('size')}nm", str(build / f"{name}.o")], f"measuring {directory}")
    linked = {line.split()[-1] for line in symbols.splitlines() if line}
    stacks = _kernel_stacks(graph, kernels, linked) if graph.frames else {}
    measured = Size(
        platform,
        flags,
        total(_TEXT),
        total(_RODATA),
        total(_DATA),
        total(_BSS),
        _stack(graph, {f"{name}_run"}),
        _stack(graph, run),
        max(stacks.values(), default=0) if graph.frames else None,
        stacks,
    )
    _write_macros(build / f"{name}_size.h", name.upper(), measured)
    return measured


def _build(directory: Path, platform: str, compiler: str, flags: str, library: Path) -> None:
    """Build the library of a project, in its folder, with a call graph beside each object."""
    folder = library.parent.name
    options = [f"PLATFORM={platform}", f"BUILD=build/{folder}", f"CFLAGS={flags} {_FLAGS}"]
    options += ["CCACHE_DISABLE=1"]  # it keeps objects and no call graphs
    advice = f"see if `{compiler.split(maxsplit=1)[0]} --version` is GCC 10 or later"
    make(directory, library.parent, compiler, [*options, f"build/{folder}/{library.name}"], advice)


def _kernel_stacks(graph: CallGraph, kernels: Iterable[tuple[str, str]], linked: Container[str]) -> dict[str, int]:
    """The stacks of kernels that layers name, by module, and of those `linked` that drivers name, which start them."""
    stacks: dict[str, int] = {}
    reached: set[str] = set()
    for module, kernel in sorted(kernels):
        whole = graph.through_pointers(kernel)
        reached |= whole.reached(kernel)
        stacks[module] = max(stacks.get(module, 0), _stack(whole, {kernel}) or 0)
    folders = {Path(graph.units[kernel]).parent for _, kernel in kernels if kernel in graph.units}
    others = {name for name in graph.without_callers() - reached if Path(graph.units[name]).parent in folders}
    started = {name for name in others if name.rpartition(":")[2] in linked}
    leading = graph.by_pointers(started)
    whole = graph.with_calls(leading, started - leading)
    return {**stacks, **({"started": _stack(whole, started) or 0} if started else {})}


def _stack(graph: CallGraph, roots: set[str]) -> int | None:
    if not graph.frames:
        return None
    try:
        return max((graph.stack(root) for root in roots), default=0)
    except ValueError as error:
        raise ToolchainError(f"the stack has no bound: {error}.") from error


def _write_macros(path: Path, prefix: str, measured: Size) -> None:
    numbers = {name: value for name, value in msgspec.structs.asdict(measured).items() if isinstance(value, int)}
    numbers |= {f"{module}_kernel_stack": value for module, value in measured.kernel_stacks.items()}
    lines = [f"/* {comment(f'Bytes of the library for {measured.platform}, built with {measured.flags}.')} */"]
    lines += [f"#ifndef {prefix}_SIZE_H", f"#define {prefix}_SIZE_H", ""]
    lines += [f"#define {prefix}_{name.upper()}_BYTES {value}" for name, value in numbers.items()]
    with whole_file(path) as unfinished:
        unfinished.write_text("\n".join([*lines, "", "#endif", ""]))
