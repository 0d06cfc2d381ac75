"""Compiles small layers for each module, runs them on this machine, and compares them with TVM's C."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.compilation.stopwatch import Progress, unheard
from match.compiler import CompiledModel
from match.compiler import compile as compile_model
from match.devtools.check.external_run import external_run_problems
from match.devtools.check.methods import method_problems
from match.devtools.check.probes import Probe, inputs, network, own_probes, probes
from match.devtools.check.undefined import undefined_function
from match.dispatch.plan import LayerDecision
from match.errors import CostModelError, MatchError, ToolchainError
from match.ir.layer import Op
from match.partitioning.layouts import LAYOUT
from match.partitioning.pattern import Match, find
from match.target.cost import CpuCostModel
from match.target.hardware import HwModule, MatchTarget

_UNAFFORDABLE = 1e15


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


def execution_problems(
    target: MatchTarget, progress: Progress = unheard
) -> tuple[tuple[str, ...], tuple[Coverage, ...]]:
    """Sentences about patterns, methods, cost models, kernels and C functions that do not do what the description says.

    Raises:
        ToolchainError: there is no C compiler or make.
    """
    types = (target.activations,) if target.activations else ("int8", "uint8")
    own = target.own_operators
    layers = [probe for dtype in types for probe in (*probes(dtype), *own_probes(own, dtype))]
    problems = [sentence for module in target.modules for sentence in method_problems(module, target.name, layers, own)]
    if problems:
        return tuple(problems), ()
    progress(f"{len(layers)} layers on the control core")
    try:
        compiled = compile_model(network(layers), target, modules=[], numerics="exact")
    except MatchError as error:
        return (f"the control core of target {target.name} cannot be compiled for: {str(error).rstrip('.')}.",), ()
    try:
        expected = compiled.run(inputs(layers))
    except ToolchainError as error:
        missing = undefined_function(str(error))
        if missing is None:
            raise
        return (_undefined(f"target {target.name}", missing),), ()
    coverage: list[Coverage] = []
    constant: dict[str, tuple[Probe, npt.NDArray[Any]]] = {}
    for number, module in enumerate(target.modules, 1):
        progress(f"{module.name}, module {number} of {len(target.modules)}")
        patterns = {pattern.name for pattern in module.patterns() if not pattern.before}
        chosen = [n for n, probe in enumerate(layers) if probe.name in patterns]
        wanted = [list(expected.values())[n] for n in chosen]
        found, counted, taken = _module(target, module, [layers[n] for n in chosen], wanted)
        problems += found
        coverage += counted
        constant |= {layers[chosen[n]].what: (layers[chosen[n]], wanted[n]) for n in taken}
    if not problems:
        problems += external_run_problems(_without_cpu(target), list(constant.values()))
    return tuple(dict.fromkeys(problems)), tuple(coverage)


def _module(
    target: MatchTarget, module: HwModule, layers: Sequence[Probe], wanted: Sequence[npt.NDArray[Any]]
) -> tuple[list[str], list[Coverage], list[int]]:
    """Problems, coverage, and which of the layers the module takes and has constants for."""
    what = f"module {module.name} of target {target.name}"
    try:
        compiled = compile_model(network(layers), _without_cpu(target), modules=[module.name], numerics="exact")
    except CostModelError as error:
        return [str(error)], [], []
    except MatchError as error:
        return [f"{what} cannot be compiled for: {str(error).rstrip('.')}."], [], []
    tried = {*Op, *(probe.name for probe in layers)}
    decisions = [layer for layer in compiled.layers if layer.op in tried]
    problems: list[str] = []
    coverage: list[Coverage] = []
    for op in dict.fromkeys(probe.name for probe in layers):
        own = [(probe, row) for probe, row in zip(layers, decisions, strict=True) if probe.name == op]
        taken = sum(row.plan is not None for _, row in own)
        coverage.append(Coverage(module.name, op, taken, len(own)))
        if not taken:
            probe, row = max(own, key=lambda pair: _constraints_met(target, module, pair[0]))
            problems.append(
                f"{what} has a pattern for {op} that matches none of {len(own)} ordinary layers; {probe.what} is "
                f"refused because {row.candidates[0].refusal}."
            )
    problems += _differences(compiled, layers, decisions, wanted, what)
    return problems, coverage, [n for n, row in enumerate(decisions) if row.plan is not None and row.plan.constants]


def _constraints_met(target: MatchTarget, module: HwModule, probe: Probe) -> int:
    """How many constraints a layer meets; that of the most misses by the least."""
    layers = [row.layer for row in find(network([probe]), target.own_operators) if isinstance(row, Match)]
    patterns = [pattern for pattern in module.patterns() if pattern.name == probe.name]
    return max(sum(met(layer).ok for met in pattern.constraints) for layer in layers for pattern in patterns)


def _undefined(what: str, function: str) -> str:
    return (
        f"{what} calls the C function {function}, which none of the host sources defines; define it, or correct its "
        f"name in the description."
    )


def _without_cpu(target: MatchTarget) -> MatchTarget:
    """The target with a control core that is never chosen."""
    forced = copy.copy(target)
    forced.cpu_cost_model = _NoCpu()
    return forced


def _differences(
    compiled: CompiledModel,
    layers: Sequence[Probe],
    decisions: Sequence[LayerDecision],
    wanted: Sequence[npt.NDArray[Any]],
    what: str,
) -> Iterator[str]:
    """What keeps the module's C from running, and where its outputs differ from those of TVM's C."""
    try:
        outputs = list(compiled.run(inputs(layers), sanitize=True).values())
    except ToolchainError as error:
        missing = undefined_function(str(error))
        if missing is None:
            yield f"{what} fails in a run of {len(layers)} small layers: {str(error).rstrip('.')}."
        else:
            yield _undefined(what, missing)
        return
    for probe, row, output, right in zip(layers, decisions, outputs, wanted, strict=True):
        differing = int(np.count_nonzero(output != right))
        if differing and row.plan is not None:
            yield (
                f"kernel {row.plan.kernel} of {what} computes other values than TVM's C for {probe.what}: {differing} "
                f"of {output.size} differ."
            )
