"""Targets by name: entry points of the group ``match.targets``, this package's own and anyone else's."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from match.errors import MatchError, OptionError, TargetError, in_a_line
from match.mapping.memory import Memory
from match.target.arguments import is_a, is_one_of, shown
from match.target.attributes import attribute_problems
from match.target.hardware import Enlarged, HwModule, MatchTarget
from match.target.memory_sizes import GivenSizes, Sizes, l1_sizes, memory_size
from match.target.parameters import Parameter, made, parameters

GROUP = "match.targets"


def target_names() -> tuple[str, ...]:
    """Names of the installed targets, sorted."""
    return tuple(sorted({entry.name for entry in entry_points(group=GROUP)}))


def installed_targets() -> tuple[list[MatchTarget], list[str]]:
    """Every installed target that can be made, and a sentence for each other one that says why it cannot."""
    targets: list[MatchTarget] = []
    problems: list[str] = []
    for name in target_names():
        try:
            targets.append(get_target(name))
        except TargetError as error:
            problems.append(str(error))
    return targets, problems


def get_target(
    target: str | MatchTarget,
    l1: GivenSizes | None = None,
    modules: Sequence[str] | None = None,
    l2: int | str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> MatchTarget:
    """A target, optionally made with settings, with other sizes of memories and with some of its modules only.

    Args:
        target: the name of an entry point in the group ``match.targets``, in any case, or a target, which is copied.
        l1: bytes of the innermost memory, which all modules share, in place of the chip's own, also as "64k" or "1M";
            where modules have memories of their own, bytes by the module's name, also as "cluster=64k,npu=32k".
        modules: names of the modules to use, in the target's order whatever the order here; none: all of them.
        l2: bytes of the main memory, in the same way, in place of the chip's own.
        settings: parameters of the target's constructor by name, also as texts, see `match.target.parameters`; the
            target is given by its name then.

    Raises:
        TargetError: if there is no such target, it cannot be loaded, lacks an attribute, or has no such module.
        OptionError: if `l1` or `l2` is no number of bytes, a memory has two sizes, `modules` are no names, or there is
            no such setting.
    """
    if isinstance(target, str):
        target = _load(_entry(target), settings or {})
    elif settings:
        raise OptionError(
            f"{', '.join(settings)} {'is' if len(settings) == 1 else 'are'} given when a target is made: give its name "
            "with them, or make it with them yourself."
        )
    if not is_a(target, MatchTarget):
        kind = f"the class {target.__name__}" if isinstance(target, type) else type(target).__name__
        raise TargetError(f"a target is the name of an installed one or a MatchTarget, not {kind}.")
    for problem in attribute_problems(target):
        raise TargetError(problem)
    return _configured(target, l1_sizes(l1), modules, memory_size("L2", l2))


def _entry(target: str) -> EntryPoint:
    found = entry_points(group=GROUP, name=target)
    if found:
        return next(iter(found))
    names = target_names()
    plain = target.lower().replace("-", "_")
    alike = [name for name in names if name.lower() == plain]
    if len(alike) == 1:
        return next(iter(entry_points(group=GROUP, name=alike[0])))
    near = difflib.get_close_matches(plain, names, n=1)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    raise TargetError(f"there is no target {target!r}{meant}; installed targets: {', '.join(names) or 'none'}.")


def _configured(target: MatchTarget, l1: Sizes | None, modules: Sequence[str] | None, l2: int | None) -> MatchTarget:
    if modules is not None and (is_a(modules, str) or not is_a(modules, Iterable)):
        raise OptionError(f"modules must be a list of names, not {shown(modules)}.")
    names = [module.name for module in target.modules]
    for wanted in (*(() if modules is None else modules), *(l1 if isinstance(l1, dict) else ())):
        if not is_one_of(wanted, names):
            raise TargetError(f"target {target.name} has no module {shown(wanted)}; its modules: {', '.join(names)}.")
    chosen = [module for module in target.modules if modules is None or module.name in modules]
    sizes = _sizes(target, chosen, l1)
    configured = copy.copy(target)
    configured.modules = tuple(_resized(module, sizes) for module in chosen)
    if l2 is not None:
        configured.main_memory = replace(target.main_memory, size=l2)
        if target.flash is None:
            configured.program = None  # the caller says what is left for the network
    given = [*sizes.items(), *([] if l2 is None else [(target.main_memory, l2)])]
    configured.enlarged = tuple(
        Enlarged(memory.name, size, memory.size) for memory, size in given if size > memory.size
    )
    main, largest = configured.main_memory.size, max(sizes.values(), default=0)
    if largest > main:
        raise OptionError(
            f"{target.name} cannot have an L1 of {largest:,} bytes beside a main memory (L2) of {main:,} bytes; choose "
            "a smaller L1 or a larger L2."
        )
    return configured


def _sizes(target: MatchTarget, chosen: Sequence[HwModule], l1: Sizes | None) -> dict[Memory, int]:
    """The sizes of innermost memories of some modules, as far as they were given; equal memories are one.

    Raises:
        OptionError: one size is given for several memories, or several for one.
    """
    own = {module.memories[-1]: module for module in chosen if module.memories}
    if l1 is not None and not own:
        raise OptionError(f"{target.name} has no module with a scratchpad; leave out --l1 (l1).")
    if not isinstance(l1, dict):
        if l1 is not None and len(own) > 1:
            memories = ", ".join(
                f"{memory.name} of {one.name} with {memory.size:,} bytes" for memory, one in own.items()
            )
            raise OptionError(
                f"modules of {target.name} have memories of their own ({memories}), and --l1 (l1) is the size of one "
                f"that all share; give each its own (--l1 {','.join(f'{one.name}=64k' for one in own.values())}), or "
                "choose one of them (--modules)."
            )
        return {} if l1 is None else dict.fromkeys(own, l1)
    sizes: dict[Memory, int] = {}
    for module in target.modules:
        if module.direct:
            if module.name in l1:
                raise OptionError(f"{module.name} of {target.name} has no scratchpad; leave its size out of --l1 (l1).")
            continue
        memory, size = module.memories[-1], l1.get(module.name)
        if size is not None and sizes.setdefault(memory, size) != size:
            raise OptionError(
                f"{memory.name} of {module.name} cannot have {size:,} bytes: other modules of {target.name} share it, "
                f"and it was given {sizes[memory]:,}; give it one size."
            )
    return {memory: size for memory, size in sizes.items() if memory in own}


def _resized(module: HwModule, sizes: Mapping[Memory, int]) -> HwModule:
    size = sizes.get(module.memories[-1]) if module.memories else None
    if size is None:
        return module
    resized = copy.copy(module)
    resized.memories = (*module.memories[:-1], replace(module.memories[-1], size=size))
    return resized


def _load(entry: EntryPoint, settings: Mapping[str, Any]) -> MatchTarget:
    loaded = _class(entry)
    try:
        return made(loaded, settings)
    except MatchError:
        raise
    except Exception as error:
        raise TargetError(f"target {entry.name}, {entry.value}, cannot be made: {in_a_line(error)}.") from error


def settable(target: str | MatchTarget) -> dict[str, Parameter]:
    """What can be set of an installed target, by name; of one that was made already nothing can.

    Raises:
        TargetError: if there is no such target, or it cannot be loaded.
    """
    return parameters(_class(_entry(target))) if isinstance(target, str) else {}


def _class(entry: EntryPoint) -> type[MatchTarget]:
    try:
        loaded: object = entry.load()
    except Exception as error:
        raise TargetError(f"target {entry.name} cannot be loaded from {entry.value}: {in_a_line(error)}.") from error
    if not (isinstance(loaded, type) and issubclass(loaded, MatchTarget)):
        raise TargetError(f"target {entry.name} is {entry.value}, which is not a subclass of MatchTarget.")
    return loaded
