"""The order of execution of a cut network in which its tensors take the fewest bytes of main memory at once."""

from __future__ import annotations

from dataclasses import replace

from match.dispatch.plan import InPlace, LayerPlan
from match.graph.opaque import Constant
from match.graph.value import Value
from match.mapping.order import Held, Work, least_peak
from match.partitioning.aliases import Aliases
from match.partitioning.steps import Step, Steps

_MOST = 400
"""Networks of more steps, which are cells step by step, keep their order."""


def with_least_peak(steps: Steps) -> Steps:
    """The same steps, in an order with a smaller peak if there is one; inputs and outputs of the network are counted.

    Scratch of kernels is, too; what operators on the control core keep for themselves is not known here.
    """
    if len(steps.steps) > _MOST:
        return steps
    order = least_peak(*_problem(steps), range(len(steps.steps)))
    return replace(steps, steps=tuple(steps.steps[number] for number in order))


def _problem(network: Steps) -> tuple[list[Work], list[Held]]:
    """The steps, and the tensors that they touch, without constants and states."""
    steps, aliases = network.steps, Aliases(network.steps)
    states = network.inputs[len(network.inputs) - len(network.states) :]
    given = network.inputs[: len(network.inputs) - len(network.states)]
    touching: dict[Value, set[int]] = {aliases.whole(x)[0]: set() for x in given}
    for number, step in enumerate(steps):
        if not step.alias and not isinstance(step.plan, InPlace):
            for x in (aliases.whole(x)[0] for x in (*step.reads, *step.writes)):
                if x not in states and not isinstance(x.operator, Constant):
                    touching.setdefault(x, set()).add(number)
    returned = {aliases.whole(x)[0] for x in network.outputs}
    held = [
        Held(tensor.tensor.bytes, frozenset(own), before=tensor in given, after=tensor in returned)
        for tensor, own in touching.items()
    ]
    numbers = {tensor: number for number, tensor in enumerate(touching)}
    writers = {x: number for number, step in enumerate(steps) for x in step.writes}
    return [
        Work(frozenset(writers[x] for x in step.reads if x in writers), _scratch(step), _over(step, aliases, numbers))
        for step in steps
    ], held


def _over(step: Step, aliases: Aliases, numbers: dict[Value, int]) -> dict[int, dict[int, int]]:
    under = {numbers[x]: lag for x, lag in aliases.overwritable(step) if x in numbers}
    return {numbers[step.writes[0]]: under} if under else {}


def _scratch(step: Step) -> int:
    return step.plan.schedule.scratch if isinstance(step.plan, LayerPlan) and step.plan.schedule.direct else 0
