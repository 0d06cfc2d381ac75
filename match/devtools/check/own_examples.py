"""Whether the compiler finds a module's own operator in the example that the module gives of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from match.devtools.check.probes import Probe, network
from match.errors import MatchError, TargetError, in_a_line
from match.frontend.failures import tvm_failures
from match.graph.value import Graph
from match.ir.layer import Op
from match.partitioning.own import with_own_operators
from match.partitioning.pattern import Match, find_layers
from match.passes.pipeline import integer_network
from match.target.hardware import MatchTarget
from match.target.own import OwnOperator, Reading


def example_problem(target: MatchTarget, operator: OwnOperator, example: Probe) -> str | None:
    """What keeps the compiler from finding the operator in its example, in a sentence; None if it finds it.

    It looks where it looks in any network: in integer form, which passes may have written in another way.
    """
    what = f"the operator {operator.name} of a module of target {target.name}"
    try:
        integers = _integers(target, example, f"the example of {what}")
    except MatchError as error:
        return f"{str(error).rstrip('.')}."
    reason = _unfound(integers, operator)
    if reason is None:
        return None
    return f"{what} is not found in its example ({example.dtype}), as passes leave it in integer form: {reason}."


def _integers(target: MatchTarget, example: Probe, what: str) -> Graph:
    """The example in integer form.

    Raises:
        MatchError: if it fails; `what` begins the sentence.
    """
    try:
        with tvm_failures(what):
            return integer_network(network([example]), target.activations)
    except MatchError:
        raise
    except Exception as error:
        raise TargetError(f"{what} raised {in_a_line(error)}") from error


def _unfound(integers: Graph, operator: OwnOperator) -> str | None:
    """Why the operator is not the one layer of a network, or None if it is."""
    answers: list[Reading | None] = []

    def read(parts: Mapping[Any, Any]) -> Reading | None:
        answers.append(operator.read(parts))
        return answers[-1]

    layers = find_layers(with_own_operators(integers, [replace(operator, read=read)]))
    if len(layers) == 1 and isinstance(layers[0], Match) and layers[0].layer.op is Op.OWN:
        return None
    if not answers:
        return "its dataflow pattern matches nothing in it"
    if all(answer is None for answer in answers):
        return "its read() returns None for it"
    return "there are other operators in it, or one reads what is inside of it"
