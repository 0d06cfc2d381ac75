"""Compiles small layers for each module, runs them on this machine, and compares them with TVM's C."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import match
from match.check.methods import method_problems
from match.check.probes import Probe, network, probes
from match.compiler import CompiledModel
from match.cost import CpuCostModel
from match.errors import CostModelError, MatchError, ToolchainError
from match.hardware import HwModule, MatchTarget
from match.layer import Op
from match.plan import LayerDecision

_SAMPLES = 3
_UNAFFORDABLE = 1e15
_UNDEFINED = re.compile(r"undefined reference to [`'‘](\w+)['’]|undefined symbol: (\w+)")


class _NoCpu(CpuCostModel):
    """Keeps layers from the control core, so that the module has to run them."""

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        return _UNAFFORDABLE


@dataclass(frozen=True)
class Coverage:
    """How many layers of an operator a module took, of those tried."""

    module: str
    op: Op
    taken: int
    tried: int


def execution_problems(target: MatchTarget) -> tuple[tuple[str, ...], tuple[Coverage, ...]]:
    """Sentences about patterns, methods, cost models, kernels and C functions that do not do what the description says.

    Raises:
        ToolchainError: there is no C compiler or make.
    """
    types = (target.activations,) if target.activations else ("int8", "uint8")
    layers = [probe for dtype in types for probe in probes(dtype)]
    problems = [sentence for module in target.modules for sentence in method_problems(module, target.name, layers)]
    if problems:
        return tuple(problems), ()
    try:
        compiled = match.compile(network(layers), target, modules=[], numerics="exact")
    except MatchError as error:
        return (f"the control core of target {target.name} cannot be compiled for: {str(error).rstrip('.')}.",), ()
    expected = compiled.run(_inputs(layers))
    coverage: list[Coverage] = []
    for module in target.modules:
        patterns = {pattern.op for pattern in module.patterns()}
        chosen = [n for n, probe in enumerate(layers) if probe.op in patterns]
        wanted = [list(expected.values())[n] for n in chosen]
        found, counted = _module(target, module, [layers[n] for n in chosen], wanted)
        problems += found
        coverage += counted
    return tuple(dict.fromkeys(problems)), tuple(coverage)


def _module(
    target: MatchTarget, module: HwModule, layers: Sequence[Probe], wanted: Sequence[npt.NDArray[Any]]
) -> tuple[list[str], list[Coverage]]:
    what = f"module {module.name} of target {target.name}"
    forced = copy.copy(target)
    forced.cpu_cost_model = _NoCpu()
    try:
        compiled = match.compile(network(layers), forced, modules=[module.name], numerics="exact")
    except CostModelError as error:
        return [str(error)], []
    except MatchError as error:
        return [f"{what} cannot be compiled for: {str(error).rstrip('.')}."], []
    decisions = [layer for layer in compiled.layers if layer.op in set(Op)]
    problems: list[str] = []
    coverage: list[Coverage] = []
    for op in dict.fromkeys(probe.op for probe in layers):
        own = [(probe, row) for probe, row in zip(layers, decisions, strict=True) if probe.op is op]
        taken = sum(row.plan is not None for _, row in own)
        coverage.append(Coverage(module.name, op, taken, len(own)))
        if not taken:
            probe, row = own[0]
            problems.append(
                f"{what} has a pattern for {op.value} that matches none of {len(own)} ordinary layers; {probe.what} is "
                f"refused because {row.candidates[0].refusal}."
            )
    problems += _differences(compiled, layers, decisions, wanted, what)
    return problems, coverage


def _differences(
    compiled: CompiledModel,
    layers: Sequence[Probe],
    decisions: Sequence[LayerDecision],
    wanted: Sequence[npt.NDArray[Any]],
    what: str,
) -> Iterator[str]:
    """What keeps the module's C from running, and where its outputs differ from those of TVM's C."""
    try:
        outputs = list(compiled.run(_inputs(layers), sanitize=True).values())
    except ToolchainError as error:
        missing = _UNDEFINED.search(str(error))
        if missing is None:
            yield f"{what} fails in a run of {len(layers)} small layers: {str(error).rstrip('.')}."
        else:
            yield (
                f"{what} calls the C function {missing[1] or missing[2]}, which none of the host sources defines; "
                f"define it, or correct its name in the description."
            )
        return
    for probe, row, output, right in zip(layers, decisions, outputs, wanted, strict=True):
        differing = int(np.count_nonzero(output != right))
        if differing and row.plan is not None:
            yield (
                f"kernel {row.plan.kernel} of {what} computes other values than TVM's C for {probe.what}: {differing} "
                f"of {output.size} differ."
            )


def _inputs(layers: Sequence[Probe]) -> dict[str, npt.NDArray[Any]]:
    """The same samples for a layer wherever it is computed."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for n, probe in enumerate(layers):
        rng, limits = np.random.default_rng(len(probe.what)), np.iinfo(probe.dtype)
        for i in range(probe.inputs):
            values = rng.integers(limits.min, limits.max, (_SAMPLES, *probe.shape), endpoint=True)
            arrays[f"x{n}_{i}"] = values.astype(probe.dtype)
    return arrays
