"""Compiles small layers for each module, runs them on this machine, and compares them with TVM's C."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, permutations, product
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from match.compilation.stopwatch import Progress, unheard
from match.compiled.model import CompiledModel
from match.compiler import compile as compile_model
from match.devtools.check.chain_probes import chain_probes, first_of_groups, group_probes
from match.devtools.check.external_run import external_run_problems
from match.devtools.check.form_probes import FormProbes, untried_forms
from match.devtools.check.methods import method_problems
from match.devtools.check.own_examples import example_problem
from match.devtools.check.probes import Probe, graph_of, inputs, int16_probes, layers_of, network, own_probes, probes
from match.devtools.check.real_scales import refused_scales
from match.devtools.check.undefined import undefined_function
from match.dispatch.plan import LayerDecision
from match.dispatch.request import accepts
from match.errors import CostModelError, MatchError, ToolchainError
from match.ir.layer import GROUP, Op
from match.partitioning.chains import find_chains
from match.partitioning.layouts import LAYOUT
from match.partitioning.pattern import Match, find_layers
from match.target.cost import CpuCostModel
from match.target.group import without_groups
from match.target.hardware import HwModule, MatchTarget
from match.target.shared_memory import sharing

_UNAFFORDABLE = 1e15

Outputs = Mapping[Probe, npt.NDArray[Any]]
"""What the control core computes for each probe."""

Corrected = dict[tuple[bool, bool, str, str], npt.NDArray[Any]]
"""Outputs of layers with a step of negative accumulators, with exceptions, by what they are and their type."""


class _NoCpu(CpuCostModel):
    """Keeps layers from the control core, so that the module has to run them; layouts between the two cost nothing."""

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        return 0 if op == LAYOUT else _UNAFFORDABLE


@dataclass(frozen=True)
class Coverage:
    """How many layers of an operator a module took, of those tried; equal to TVM's C unless there is a problem."""

    module: str
    op: str
    taken: int
    tried: int


@dataclass(frozen=True)
class _Tried:
    """Layers, chains of them and groups that are tried, all in the `types` of activations of the target.

    groups: of an operator of one module and of one of a module, the same or one that shares its memory, by their names.
    """

    types: tuple[str, ...]
    layers: Sequence[Probe]
    chains: Sequence[Probe]
    groups: Mapping[tuple[str, str], Sequence[Probe]]

    @property
    def all_groups(self) -> list[Probe]:
        """The groups of all modules."""
        return list(chain.from_iterable(self.groups.values()))

    @property
    def count(self) -> int:
        """How many networks there are."""
        return len(self.layers) + len(self.chains) + len(self.all_groups)


@dataclass(frozen=True)
class _Findings:
    """What was found by trying a module; `taken` are the layers that it takes and has constants for."""

    problems: list[str]
    coverage: list[Coverage]
    untried: list[str]
    taken: list[Probe]


def execution_problems(
    target: MatchTarget, progress: Progress = unheard
) -> tuple[tuple[str, ...], tuple[Coverage, ...], tuple[str, ...]]:
    """Sentences about patterns, methods, cost models, kernels and C functions that do not do what the description says.

    Then what was tried, and sentences about what the description lists and no layer could try.

    Raises:
        ToolchainError: there is no C compiler or make.
    """
    target = _on_this_machine(target)
    tried, problems = _tried(target)
    if problems:
        return tuple(problems), (), ()
    matches = [row for row in layers_of(tried.layers, target.own_operators) if isinstance(row, Match)]
    problems = [sentence for module in target.modules for sentence in method_problems(module, target.name, matches)]
    if problems:
        return tuple(problems), (), ()
    if not tried.count:
        return (), (), ()
    progress(f"{tried.count} layers on the control core")
    expected: dict[Probe, npt.NDArray[Any]] = {}
    for some in filter(None, (tried.layers, tried.chains, tried.all_groups)):
        outputs = _on_the_core(target, some)
        if isinstance(outputs, str):
            return (outputs,), (), ()
        expected.update(outputs)
    corrected: Corrected = {}
    found: list[_Findings] = []
    for number, module in enumerate(target.modules, 1):
        progress(f"{module.name}, module {number} of {len(target.modules)}")
        found.append(_try_module(target, module, tried, expected, corrected, progress))
    problems = [sentence for one in found for sentence in one.problems]
    if not problems:
        for first, second in (pair for modules in sharing(target) for pair in permutations(modules, 2)):
            groups = tried.groups[first.name, second.name]
            if groups:
                progress(f"{first.name} and {second.name} together")
                problems += _of_two_modules(target, (first, second), groups, expected)
    if not problems:
        different = {probe.what: probe for one in found for probe in one.taken}
        constant = [(probe, expected[probe]) for probe in different.values()]
        problems = list(external_run_problems(_without_cpu(target), constant))
    coverage = tuple(row for one in found for row in one.coverage)
    return tuple(dict.fromkeys(problems)), coverage, tuple(sentence for one in found for sentence in one.untried)


def _tried(target: MatchTarget) -> tuple[_Tried, list[str]]:
    """Small layers, chains and groups of the patterns that the target lists, and problems of modules' own operators."""
    types = (target.activations,) if target.activations else ("int8", "uint8")
    listed = {pattern.name for module in target.modules for pattern in module.patterns()}
    layers = [probe for dtype in types for probe in probes(dtype) if probe.name in listed]
    wide = {op for module in target.modules for op in module.int16}
    layers += [probe for probe in int16_probes() if probe.op in wide]
    examples, problems = _examples(target, types)
    tried = _Tried(
        types=types,
        layers=[*layers, *examples],
        chains=[probe for dtype in types for probe in chain_probes(target.patterns, dtype)],
        groups={
            (first.name, second.name): _groups_of(first, second, types)
            for modules in sharing(target)
            for first, second in product(modules, repeat=2)
        },
    )
    return tried, problems


def _groups_of(first: HwModule, second: HwModule, types: Sequence[str]) -> list[Probe]:
    """An operator of one module, and after it each of another one that is not the same, or any of the same module."""
    begin = first_of_groups(first.patterns())
    if begin is None:
        return []
    found = [probe for dtype in types for probe in group_probes(begin, second.patterns(), dtype)]
    return found if first is second else [probe for probe in found if probe.op is not begin]


def _examples(target: MatchTarget, types: Sequence[str]) -> tuple[list[Probe], list[str]]:
    """Examples of modules' own operators, in the types in which they are found, and problems of those never found."""
    found: list[Probe] = []
    problems: list[str] = []
    for operator in target.own_operators:
        told = {
            probe: example_problem(target, operator, probe)
            for dtype in types
            for probe in own_probes([operator], dtype)
        }
        there = [probe for probe, problem in told.items() if problem is None]
        found += there
        problems += [] if there else [problem for problem in told.values() if problem is not None][:1]
    return found, problems


def _on_the_core(target: MatchTarget, tried: Sequence[Probe]) -> Outputs | str:
    """Outputs of the control core alone, or a sentence about why it has none."""
    try:
        compiled = compile_model(network(tried), target, modules=[], numerics="exact")
    except MatchError as error:
        return f"the control core of target {target.name} cannot be compiled for: {str(error).rstrip('.')}."
    try:
        outputs = compiled.run(inputs(tried)).values()
    except ToolchainError as error:
        missing = undefined_function(str(error))
        if missing is None:
            raise
        return _undefined(f"target {target.name}", missing)
    return dict(zip(tried, outputs, strict=True))


def _try_module(
    target: MatchTarget,
    module: HwModule,
    tried: _Tried,
    expected: Outputs,
    corrected: Corrected,
    progress: Progress,
) -> _Findings:
    """Tries the layers of a module's patterns, then chains, groups and forms, until some of them has a problem."""
    patterns = {pattern.name for pattern in module.patterns()}
    tried_here = (probe for probe in tried.layers if probe.dtype != "int16" or probe.op in module.int16)
    own = [probe for probe in tried_here if probe.name in patterns]
    problems, coverage, taken = _layers(target, module, own, expected)
    found = _Findings(problems, coverage, [], taken)
    chains = [probe for probe in tried.chains if probe.name in patterns]
    if chains and not problems:
        problems, counted = _chains(target, module, chains, expected)
        found.problems.extend(problems)
        found.coverage.extend(counted)
    if problems:
        return found
    groups = tried.groups.get((module.name, module.name))
    if groups:
        found.problems.extend(_groups(target, module, groups, expected))
    for probes_of_form in untried_forms(module, tried.types):
        progress(f"{module.name}, its form {probes_of_form.form.name}")
        outputs = _corrected_on_the_core(target, probes_of_form, corrected)
        problems, idle = _form(target, module, probes_of_form, outputs)
        found.problems.extend(problems)
        found.untried.extend(idle)
    found.untried.extend(f"{_words(target, module)} {said}." for said in refused_scales(module, tried.types))
    return found


def _layers(
    target: MatchTarget, module: HwModule, layers: Sequence[Probe], expected: Outputs
) -> tuple[list[str], list[Coverage], list[Probe]]:
    """Problems, coverage, and which of the layers the module takes and has constants for."""
    compiled = _compiled(target, [module], layers, "latency", fuse=False)
    if isinstance(compiled, str):
        return [compiled], [], []
    what = _words(target, module)
    decisions = _of_probes(compiled, layers)
    problems: list[str] = []
    coverage: list[Coverage] = []
    for op in dict.fromkeys(probe.name for probe in layers):
        own = [(probe, row) for probe, row in zip(layers, decisions, strict=True) if probe.name == op]
        taken = sum(row is not None and row.plan is not None for _, row in own)
        coverage.append(Coverage(module.name, op, taken, len(own)))
        if not taken:
            probe, row = max(own, key=lambda pair: _constraints_met(target, module, pair[0]))
            why = "it is computed step by step" if row is None else f"refused because {row.candidates[0].refusal}"
            problems.append(
                f"{what} has a pattern for {op} that matches none of {len(own)} ordinary layers; {probe.what} is {why}."
            )
    kernels = [row and row.plan and f"kernel {row.plan.kernel}" for row in decisions]
    problems += _differences(compiled, layers, kernels, expected, what)
    rows = zip(layers, decisions, strict=True)
    return problems, coverage, [probe for probe, row in rows if row and row.plan and row.plan.constants]


def _of_probes(compiled: CompiledModel, layers: Sequence[Probe]) -> list[LayerDecision | None]:
    """What was decided about each layer; None where it has several, as a recurrent one has that no module takes."""
    tried = {*Op, *(probe.name for probe in layers)}
    rows: dict[int, list[LayerDecision]] = {}
    for first, row in _by_first_input(compiled):
        if row.op in tried:
            rows.setdefault(first, []).append(row)
    begins = accumulate((probe.inputs for probe in layers[:-1]), initial=0)
    found = (rows.get(begin, []) for begin in begins)
    return [own[0] if len(own) == 1 else None for own in found]


def _as_given(compiled: CompiledModel) -> list[LayerDecision]:
    """The layers in the order of the network's inputs, which they read each by itself, whenever they are executed."""
    return [row for _, row in sorted(_by_first_input(compiled), key=itemgetter(0))]


def _by_first_input(compiled: CompiledModel) -> Iterator[tuple[int, LayerDecision]]:
    """The layers as they are executed, each with the number of the first network input that it is computed of.

    Of what one of several conversions of layouts reads nothing is known, which is no input.
    """
    first: list[int] = []
    for row, decision in zip(compiled.report.layers, compiled.layers, strict=True):
        known = (*row.network_inputs, *(first[place] for place in row.reads))
        first.append(min(known, default=len(compiled.inputs)))
        yield first[-1], decision


def _chains(
    target: MatchTarget, module: HwModule, chains: Sequence[Probe], expected: Outputs
) -> tuple[list[str], list[Coverage]]:
    """Problems of patterns of several operators, and coverage: a chain moves fewer bytes than its operators alone."""
    compiled = _compiled(without_groups(target), [module], chains, "bytes")
    if isinstance(compiled, str):
        return [compiled], []
    what = _words(target, module)
    taken = Counter(layer.op for layer in compiled.layers)
    tried = Counter(probe.name for probe in chains)
    coverage = [Coverage(module.name, name, taken[name], count) for name, count in tried.items()]
    problems = [
        f"{what} has a pattern for {one.op} that matches none of {one.tried} ordinary chains; "
        f"{_refused(target, module, chains, one.op)}."
        for one in coverage
        if not one.taken
    ]
    kernels = [f"a kernel of {probe.name}" if taken[probe.name] else None for probe in chains]
    problems += _differences(compiled, chains, kernels, expected, what)
    return problems, coverage


def _groups(target: MatchTarget, module: HwModule, tried: Sequence[Probe], expected: Outputs) -> list[str]:
    """Problems of groups: operators that read one another have to become one layer."""
    compiled = _compiled(target, [module], tried, "bytes")
    if isinstance(compiled, str):
        return [compiled]
    what = _words(target, module)
    if all(layer.op != GROUP for layer in compiled.layers):
        return [f"{what} executes groups, and of {len(tried)} small ones none fits its memory."]
    return list(_differences(compiled, tried, [f"a group of {probe.name}" for probe in tried], expected, what))


def _of_two_modules(
    target: MatchTarget, modules: tuple[HwModule, HwModule], tried: Sequence[Probe], expected: Outputs
) -> list[str]:
    """Problems of groups in which a module reads what another one writes, which may be under way beside it."""
    before, after = modules
    begin = first_of_groups(before.patterns())
    assert begin is not None, "the groups begin with it"
    alone = copy.copy(target)
    alone.modules = _with_operators(before, {begin}), _with_operators(after, {probe.op for probe in tried})
    compiled = _compiled(alone, modules, tried, "bytes")
    if isinstance(compiled, str):
        return [compiled]
    what, names = _words(target, *modules), {module.name for module in modules}
    if all({unit.name for unit in layer.plan.units} != names for layer in compiled.layers if layer.plan):
        return [f"{what} share their memory, and of {len(tried)} small groups of both none fits it."]
    return list(_differences(compiled, tried, [f"a group of {probe.name}" for probe in tried], expected, what))


def _corrected_on_the_core(target: MatchTarget, tried: FormProbes, known: Corrected) -> Outputs:
    """Outputs of the control core, which other forms ask for, too: what is computed is added to `known`."""
    form = tried.form
    names = [(form.negative_step, form.exceptions > 0, probe.what, probe.dtype) for probe in tried.layers]
    missing = {name: probe for name, probe in zip(names, tried.layers, strict=True) if name not in known}
    if missing:
        layers = list(missing.values())
        outputs = compile_model(network(layers), target, modules=[], numerics="exact").run(inputs(layers))
        known.update(zip(missing, outputs.values(), strict=True))
    return {probe: known[name] for name, probe in zip(names, tried.layers, strict=True)}


def _form(target: MatchTarget, module: HwModule, tried: FormProbes, expected: Outputs) -> tuple[list[str], list[str]]:
    """Problems of a module that has no other form of requantization, and a sentence where no layer takes this one."""
    what, form = _words(target, module), tried.form.name
    if not tried.layers:
        return [], [f"{what} lists the form {form}, which is exact for none of the small layers: it was not tried."]
    alone = copy.copy(target)
    alone.modules = tuple(tried.module if other is module else other for other in target.modules)
    compiled = _compiled(alone, [module], tried.layers, "latency", fuse=False)
    if isinstance(compiled, str):
        return [compiled], []
    operators = {*Op, *(probe.name for probe in tried.layers)}
    decisions = [row for row in _as_given(compiled) if row.op in operators]
    if all(row.plan is None for row in decisions):
        reason = decisions[0].candidates[0].refusal
        why = f"{tried.layers[0].what} is refused because {reason}"
        return [], [f"{what} lists the form {form}, which was not tried: {why}."]
    kernels = [row.plan and f"kernel {row.plan.kernel}" for row in decisions]
    described = f"{what}, which requantizes in the form {form},"
    return list(_differences(compiled, tried.layers, kernels, expected, described)), []


def _refused(target: MatchTarget, module: HwModule, chains: Sequence[Probe], name: str) -> str:
    """Why the first chain of a pattern is left to its operators."""
    probe = next(probe for probe in chains if probe.name == name)
    graph = graph_of([probe])
    layers = dict(enumerate(row for row in find_layers(graph) if isinstance(row, Match)))
    for one in find_chains(graph, layers, target):
        verdict = accepts(module, one.whole.layer)
        if not verdict.ok:
            return f"{probe.what} is refused because {verdict.reason}"
    return f"of {probe.what} no mapping moves fewer bytes than its operators one by one"


def _with_operators(module: HwModule, ops: Collection[Op]) -> HwModule:
    """The module with patterns of these operators alone."""
    kept = tuple(pattern for pattern in module.patterns() if pattern.op in ops and not pattern.before)
    alone = copy.copy(module)
    vars(alone)["patterns"] = lambda: kept
    return alone


def _words(target: MatchTarget, *modules: HwModule) -> str:
    names = " and ".join(module.name for module in modules)
    return f"module{'s' if len(modules) > 1 else ''} {names} of target {target.name}"


def _compiled(
    target: MatchTarget, modules: Sequence[HwModule], probes: Sequence[Probe], objective: str, *, fuse: bool = True
) -> CompiledModel | str:
    """The probes on some modules, or a sentence about why they cannot be compiled."""
    try:
        return compile_model(
            network(probes),
            _without_cpu(target),
            modules=[module.name for module in modules],
            numerics="exact",
            objective=objective,
            fuse=fuse,
        )
    except CostModelError as error:
        return str(error)
    except MatchError as error:
        return f"{_words(target, *modules)} cannot be compiled for: {str(error).rstrip('.')}."


def _constraints_met(target: MatchTarget, module: HwModule, probe: Probe) -> int:
    """How many constraints a layer meets; that of the most misses by the least."""
    layers = [row.layer for row in layers_of([probe], target.own_operators) if isinstance(row, Match)]
    patterns = [pattern for pattern in module.patterns() if pattern.name == probe.name]
    return max(sum(met(layer).ok for met in pattern.constraints) for layer in layers for pattern in patterns)


def _undefined(what: str, function: str) -> str:
    return (
        f"{what} calls the C function {function}, which none of the host sources defines; define it, or correct its "
        f"name in the description."
    )


def _on_this_machine(target: MatchTarget) -> MatchTarget:
    """The target with all of its main memory for a network, whose layers modules are asked about as they are.

    That of all small layers is larger than most.
    """
    roomy = copy.copy(target)
    roomy.program, roomy.mixed = None, False
    return roomy


def _without_cpu(target: MatchTarget) -> MatchTarget:
    """The target with a control core that is never chosen."""
    forced = copy.copy(target)
    forced.cpu_cost_model = _NoCpu()
    return forced


def _differences(
    compiled: CompiledModel,
    layers: Sequence[Probe],
    kernels: Sequence[str | None],
    expected: Outputs,
    what: str,
) -> Iterator[str]:
    """What keeps the module's C from running, and where outputs of its `kernels` differ from those of TVM's C."""
    try:
        outputs = list(compiled.run(inputs(layers), sanitize=True).values())
    except ToolchainError as error:
        missing = undefined_function(str(error))
        if missing is None:
            yield f"{what} fails in a run of {len(layers)} small layers: {str(error).rstrip('.')}."
        else:
            yield _undefined(what, missing)
        return
    for probe, kernel, output in zip(layers, kernels, outputs, strict=True):
        differing = int(np.count_nonzero(output != expected[probe]))
        if differing and kernel is not None:
            yield (
                f"{kernel} of {what} computes other values than TVM's C for {probe.what} ({probe.dtype}): "
                f"{differing} of {output.size} differ."
            )
