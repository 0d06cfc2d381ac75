"""Whether targets and modules have what they must have, each of its kind: authors need not run a type checker.

Validation by annotations (typeguard, pydantic) would not name the target and the module that are wrong, nor say what to
give, and needs a subclass or a decorator of theirs on classes that authors write.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from match.ir.layer import Op
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.target.arguments import is_a
from match.target.cost import CostModel, CpuCostModel, Energy
from match.target.hardware import DirectApi, External, HwModule, MatchTarget, ModuleApi, ProgramSize, TargetApi


class _Kind(NamedTuple):
    """An attribute: its types in Python and in words, or those of its elements where it is a tuple.

    `values` are all that it can be, if any are given.
    """

    name: str
    types: tuple[type, ...]
    words: str
    values: tuple[object, ...] = ()
    several: bool = False


_TARGET = (
    _Kind("name", (str,), "a str"),
    _Kind("clock_hz", (int, float), "a number of hertz"),
    _Kind("main_memory", (Memory,), "a Memory"),
    _Kind("modules", (HwModule,), "HwModules", several=True),
    _Kind("cpu_cost_model", (CpuCostModel,), "a CpuCostModel"),
    _Kind("api", (TargetApi,), "a TargetApi"),
    _Kind("activations", (str, type(None)), "'uint8' or None", ("uint8", None)),
    _Kind("mixed", (bool,), "True or False"),
    _Kind("external", (External, type(None)), "an External or None"),
    _Kind("flash", (Memory, type(None)), "a Memory or None"),
    _Kind("program", (ProgramSize, type(None)), "a ProgramSize or None"),
    _Kind("estimated_energy", (bool,), "True or False"),
)
_MODULE = (
    _Kind("name", (str,), "a str"),
    _Kind("memories", (Memory,), "Memory objects", several=True),
    _Kind("api", (ModuleApi, DirectApi), "a ModuleApi, or a DirectApi where it has no memories"),
    _Kind("sums", (Op,), "operators", several=True),
    _Kind("groups", (bool,), "True or False"),
    _Kind("peak_macs", (int, type(None)), "a number of MACs or None"),
)
_MEMORY = (
    _Kind("name", (str,), "a str"),
    _Kind("size", (int,), "a whole number of bytes"),
    _Kind("alignment", (int,), "a whole number of bytes"),
    _Kind("private", (tuple,), "(operand, bytes)", several=True),
)
_FORMS = _Kind("requantizers", (Requantizer,), "Requantizers", several=True)
_COST = _Kind("cost_model", (CostModel,), "a CostModel")
_ENERGY = _Kind("energy", (Energy, type(None)), "an Energy or None")


def attribute_problems(target: MatchTarget) -> Iterator[str]:
    """A sentence for each attribute of a target and of its modules that is missing or of another kind."""
    what = f"target {getattr(target, 'name', type(target).__name__)}"
    wrong = False
    for kind in _TARGET:
        for sentence in _problem(target, kind, what):
            wrong |= kind.name == "modules"
            yield sentence
    if isinstance(core := getattr(target, "cpu_cost_model", None), CpuCostModel):
        yield from _problem(core, _ENERGY, f"{type(core).__name__}, which {what} has for its control core,")
    outside = getattr(getattr(target, "external", None), "memory", None)
    for memory in (getattr(target, "main_memory", None), getattr(target, "flash", None), outside):
        yield from _memory_problems(memory, what)
    for module in () if wrong else target.modules:
        own = type(module)
        kinds = [*_MODULE]
        if own.forms is HwModule.forms:
            kinds.append(_FORMS)
        if own.cost is HwModule.cost:
            kinds.append(_COST)
        named = f"module {getattr(module, 'name', own.__name__)} of {what}"
        for kind in kinds:
            yield from _problem(module, kind, named)
        if isinstance(model := getattr(module, "cost_model", None), CostModel):
            yield from _problem(model, _ENERGY, f"{type(model).__name__}, the cost model of {named},")
        memories = getattr(module, "memories", ())
        for memory in memories if is_a(memories, tuple, list) else ():
            yield from _memory_problems(memory, named)


def _memory_problems(memory: object, what: str) -> Iterator[str]:
    """A sentence for each field of a memory, if it is one, that is of another kind."""
    for kind in _MEMORY if is_a(memory, Memory) else ():
        yield from _problem(memory, kind, f"{what}, whose memory is {getattr(memory, 'name', None)!r:.40},")
    private = getattr(memory, "private", ())
    for entry in private if is_a(memory, Memory) and is_a(private, tuple, list) else ():
        if not (is_a(entry, tuple) and [type(part) for part in entry] == [str, int]):
            yield (
                f"{what} has {entry!r:.60} among the private memories of {getattr(memory, 'name', None)}; give each as "
                "(operand, bytes)."
            )


def _problem(owner: object, kind: _Kind, what: str) -> Iterator[str]:
    wanted = f"a tuple of {kind.words}" if kind.several else kind.words
    if not hasattr(owner, kind.name):
        yield f"{what} has no {kind.name}; give it {wanted}."
        return
    value = getattr(owner, kind.name)
    right = (
        is_a(value, tuple, list, frozenset) and all(is_a(element, *kind.types) for element in value)
        if kind.several
        else is_a(value, *kind.types) and (not kind.values or value in kind.values)
    )
    if not right:
        short = f"the class {value.__name__}" if isinstance(value, type) else f"{value!r:.60}"
        yield f"{what} has {short} for its {kind.name}, which must be {wanted}."
