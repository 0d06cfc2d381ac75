"""Finds operators that modules define: occurrences of their dataflow patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from match.errors import TargetError, in_a_line
from match.ir.constants import LayerConstants
from match.ir.layer import Op, Own
from match.partitioning.pattern.layers import covered, element_wise
from match.partitioning.pattern.rows import called, is_floating, is_reference
from match.partitioning.pattern.types import Match
from match.relay import relay
from match.relay.rewrite import dtype, is_8bit, shape
from match.target.own import OwnOperator, Reading


def occurrences(main: relay.Function, operators: Iterable[OwnOperator]) -> dict[relay.Expr, Match]:
    """Occurrences of operators in a typed function, by last expression; if two end there, the one that is listed first.

    Raises:
        TargetError: an operator's pattern or reading fails, or what it reads cannot be a layer.
    """
    found: dict[relay.Expr, Match] = {}
    for operator in operators:
        for root, parts in _parts(main, operator).items():
            reading = _asked(operator, parts)
            if reading is not None and root not in found:
                found[root] = _match(root, operator, reading)
    return found


def _parts(main: relay.Function, operator: OwnOperator) -> dict[relay.Expr, Mapping[Any, Any]]:
    """The expressions that match the parts of the pattern, by the last expression of each occurrence."""
    callback: Any = relay.dataflow_pattern.DFPatternCallback
    found: dict[relay.Expr, Mapping[Any, Any]] = {}

    class Recorder(callback):
        def callback(self, pre: relay.Expr, post: relay.Expr, node_map: Any) -> relay.Expr:
            if pre not in found:
                found[pre] = {part: exprs[0] for part, exprs in node_map.items()}
            return post

    try:
        recorder: Any = Recorder(require_type=False)
        recorder.pattern = operator.dataflow
        recorder.rewrite(main)
    except Exception as error:
        raise _fault(operator, "dataflow pattern", error) from error
    return found


def _asked(operator: OwnOperator, parts: Mapping[Any, Any]) -> Reading | None:
    try:
        return operator.read(parts)
    except Exception as error:
        raise _fault(operator, "read()", error) from error


def _match(root: relay.Expr, operator: OwnOperator, reading: Reading) -> Match:
    inputs = tuple(reading.inputs)
    tensors = (*inputs, root)
    if len(inputs) != operator.inputs or any(not is_8bit(x) or shape(x) != shape(root) for x in tensors):
        shapes = ", ".join(f"{dtype(x)} {list(shape(x))}" for x in tensors)
        raise TargetError(
            f"the operator {operator.name} of a module reads {operator.inputs} tensors of 8 bits and its output's "
            f"shape, not {shapes}; let read() return None for such occurrences."
        )
    calls = covered(root, inputs)
    core = tuple(call for call in reversed(calls) if isinstance(call, relay.Call))
    own = Own(operator.name, len(inputs), len(reading.constants), called(core), is_floating(core))
    layer = replace(element_wise(Op.OWN, shape(root), dtype(inputs[0]), dtype(root)), own=own)
    table = np.frombuffer(reading.constants, np.uint8) if reading.constants else None
    return Match(root, inputs, calls, layer, LayerConstants(None, None, table=table), None, is_reference(core))


def _fault(operator: OwnOperator, what: str, error: Exception) -> TargetError:
    return TargetError(f"the operator {operator.name} of a module: its {what}: {in_a_line(error)}.")
