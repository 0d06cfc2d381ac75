"""What can be told from a target's description alone."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

from match.codegen.platforms import PACKAGE
from match.devtools.check.external import external_problems
from match.errors import in_a_line
from match.ir.names import identifier
from match.mapping.schedule import Memory
from match.target.arguments import is_a
from match.target.attributes import attribute_problems
from match.target.hardware import HwModule, MatchTarget, Pattern, Platform


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
        yield from _module_problems(module, f"module {module.name} of {what}")
    bare = copy.copy(target)
    bare.modules = ()
    try:
        platforms = bare.platforms
    except Exception as error:  # noqa: BLE001
        reason = in_a_line(error)
        yield f"{what} has no host platform when none of its modules is used ({reason}); make host cope with that."
        return
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
    if not module.memories:
        yield f"{what} has no memory; list the scratchpads that its kernels read from."
    for memory in module.memories:
        yield from _memory_problems(memory, what)
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
        for constraint in pattern.constraints:
            if not (constraint.__doc__ or "").strip():
                yield (
                    f"{what} has a constraint without a docstring ({constraint.__name__}); its first sentence is what "
                    f"the table of supported operators says."
                )


def _memory_problems(memory: Memory, what: str) -> Iterator[str]:
    if memory.size <= 0 or memory.alignment <= 0 or memory.alignment & (memory.alignment - 1):
        yield (
            f"{what} has the memory {memory.name} of {memory.size} bytes aligned to {memory.alignment}; sizes are "
            f"positive and alignments powers of two."
        )
