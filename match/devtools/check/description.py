"""What can be told from a target's description alone."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

from match.devtools.check.external import external_problems
from match.dispatch.plan import CPU
from match.errors import in_a_line
from match.ir.layer import Op
from match.ir.names import identifier
from match.mapping.memory import Memory
from match.target.arguments import is_a
from match.target.attributes import attribute_problems
from match.target.hardware import DirectApi, HwModule, MatchTarget, Pattern, Platform
from match.target.operands import ADDEND, INPUT, OUTPUT, WEIGHTS
from match.target.sources import PACKAGE

_OPERANDS = (INPUT, ADDEND, WEIGHTS, OUTPUT)


def description_problems(target: MatchTarget) -> tuple[str, ...]:
    """Sentences about names, memories, patterns and files that cannot be right."""
    return tuple(attribute_problems(target)) or tuple(_problems(target))


def _problems(target: MatchTarget) -> Iterator[str]:
    what = f"target {target.name}"
    if identifier(target.name) != target.name:
        yield f"{what} has a name that is no C identifier in lower case; call it {identifier(target.name)!r}."
    if target.clock_hz <= 0:
        yield f"{what} has a clock of {target.clock_hz} Hz; give its frequency in hertz."
    yield from _memory_problems(target.main_memory, what)
    names = [module.name for module in target.modules]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{what} has {names.count(name)} modules called {name!r}; give each a name of its own."
    for module in target.modules:
        if module.name == CPU:
            yield f"{what} has a module called {CPU!r}, which is what the control core is called; call it otherwise."
        yield from _module_problems(module, f"module {module.name} of {what}")
    bare = copy.copy(target)
    bare.modules = ()
    try:
        platforms = bare.platforms
    except Exception as error:  # noqa: BLE001
        reason = in_a_line(error)
        yield f"{what} has no host platform when none of its modules is used ({reason}); make host cope with that."
        return
    try:
        _ = target.platforms
    except Exception as error:  # noqa: BLE001
        yield f"{what} has platforms that raise {in_a_line(error)}; make host and platforms cope with it."
    yield from _platform_problems(platforms, what)
    if target.external is not None:
        yield from _memory_problems(target.external.memory, what)
        yield from external_problems(target.external, target.main_memory, platforms, what)


def _platform_problems(platforms: Sequence[Platform], what: str) -> Iterator[str]:
    names = [platform.name for platform in platforms]
    if names[:1] != ["host"] or len(set(names)) < len(names):
        yield (
            f"{what} has the platforms {', '.join(names) or 'none'}; the first is called host and every other has a "
            f"name of its own."
        )
    places = [platform.place for platform in platforms]
    if places[:1] != names[:1] or len(set(places)) < len(places):
        yield (
            f"{what} has platforms whose programs run on {', '.join(places)}; the first has no `on`, and each one runs "
            f"in a place of its own."
        )
    for platform in platforms:
        own = () if platform.io is None else (platform.io,)
        files = (("source", (*platform.sources, *own)), ("folder", platform.include), ("file", platform.files))
        for kind, path in ((kind, path) for kind, paths in files for path in paths):
            if not (PACKAGE / path).exists():
                yield (
                    f"{what} names the {platform.name} {kind} {str(path)!r}, which does not exist; paths are absolute "
                    f"or relative to the match package."
                )


def _module_problems(module: HwModule, what: str) -> Iterator[str]:
    if module.direct:
        yield from _direct_problems(module, what)
    elif isinstance(module.api, DirectApi):
        yield f"{what} has memories and a DirectApi; give it a ModuleApi, whose functions move blocks into them."
    if len(module.memories) > 1:
        names = ", ".join(memory.name for memory in module.memories)
        yield (
            f"{what} has the memories {names}, and generated code moves tiles into one; give the scratchpad that its "
            "kernels read from."
        )
    for memory in module.memories:
        yield from _memory_problems(memory, what)
        yield from _private_problems(memory, module, what)
    if module.peak_macs is not None and module.peak_macs <= 0:
        yield f"{what} has a peak_macs of {module.peak_macs}; give a positive number of MACs, or None."
    try:
        patterns = module.patterns()
    except Exception as error:  # noqa: BLE001
        yield f"{what} has patterns() that raises {in_a_line(error)}; make it return Patterns."
        return
    if not is_a(patterns, tuple, list) or not all(is_a(pattern, Pattern) for pattern in patterns):
        yield f"{what} has patterns() that returns {patterns!r:.60}; it must return a tuple of Patterns."
        return
    if not patterns:
        yield f"{what} has no pattern, so that it never gets a layer; list the operators it takes in patterns()."
    for pattern in patterns:
        if not all(is_a(op, Op) for op in pattern.ops):
            operators = ", ".join(map(repr, pattern.ops))
            yield f"{what} has a pattern for {operators}; operators are those of match.ir.layer.Op."
        if not is_a(pattern.constraints, tuple, list):
            yield f"{what} has {pattern.constraints!r:.60} for the constraints of a pattern; give a tuple of functions."
            continue
        for constraint in pattern.constraints:
            if not (constraint.__doc__ or "").strip():
                yield (
                    f"{what} has a constraint without a docstring ({constraint.__name__}); its first sentence is what "
                    f"the table of supported operators says."
                )


def _direct_problems(module: HwModule, what: str) -> Iterator[str]:
    """What a module without memories has that only scratchpads make sense of."""
    if not isinstance(module.api, DirectApi):
        yield (
            f"{what} has no memory and a ModuleApi; give it the scratchpad that its kernels read from, or a DirectApi "
            "if they read main memory."
        )
        return
    if bool(module.api.start) != bool(module.api.wait):
        yield f"{what} has a DirectApi with one of start and wait; give both functions, or none."
    if module.groups:
        yield f"{what} has no memory and groups = True; groups keep tensors in a scratchpad: leave it False."


def _private_problems(memory: Memory, module: HwModule, what: str) -> Iterator[str]:
    """Every operand with memory of its own is one, has room, and has functions that reserve it."""
    served = set[str]() if isinstance(module.api, DirectApi) else {operand for operand, _ in module.api.memory.private}
    for operand, size in memory.private:
        if size <= 0:
            yield f"{what} has private memory of {size} bytes for the {operand}; sizes are positive."
        if operand not in _OPERANDS:
            yield f"{what} has private memory for {operand!r}; operands are called {', '.join(_OPERANDS)}."
        elif operand not in served:
            yield (
                f"{what} has private memory for the {operand}, and its api names no functions that reserve it; give "
                "them in MemoryApi.private."
            )
    for operand in sorted(served - {operand for operand, _ in memory.private}):
        yield (
            f"{what} names functions in MemoryApi.private that reserve memory for the {operand}, which has none of its "
            "own; give its bytes in Memory.private."
        )


def _memory_problems(memory: Memory, what: str) -> Iterator[str]:
    if memory.size <= 0 or memory.alignment <= 0 or memory.alignment & (memory.alignment - 1):
        yield (
            f"{what} has the memory {memory.name} of {memory.size} bytes aligned to {memory.alignment}; sizes are "
            f"positive and alignments powers of two."
        )
