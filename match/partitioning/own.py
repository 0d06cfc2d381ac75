"""Finds operators that modules define: occurrences of their dataflow patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from match.errors import TargetError, in_a_line
from match.graph.layers import element_wise
from match.graph.opaque import Opaque
from match.graph.operator import Described, Known
from match.graph.value import Graph
from match.graph.work import Loop, Work
from match.ir.attributes import Own
from match.ir.constants import LayerConstants, Structure
from match.ir.graph import Tensor
from match.ir.layer import Op
from match.relay import relay
from match.relay.graph_reader import Form, RelayFunction, covered, read_graph
from match.relay.graph_writer import write_graph
from match.relay.rewrite import dtype, is_8bit, shape
from match.relay.work import is_reference, work_of
from match.target.own import OwnOperator, Reading


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnOperation(Opaque):
    """An operator that a module brings, with the bytes of its constants."""

    own: Own
    constants: bytes

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described:
        """An element-wise layer of tensors of one shape."""
        layer = replace(element_wise(Op.OWN, result.shape, inputs[0].dtype, result.dtype), attributes=self.own)
        data = Structure(np.frombuffer(self.constants, np.uint8), self.own.name) if self.constants else None
        return Described(layer, LayerConstants(data), order=tuple(range(len(inputs))))


def with_own_operators(graph: Graph, own: Iterable[OwnOperator]) -> Graph:
    """A graph with the operators that modules define; they come before others.

    What another operator reads a value of is no occurrence: TVM finds none there.

    Raises:
        TargetError: an operator of a module's own cannot be read.
    """
    own = tuple(own)
    if not own:
        return graph
    written = write_graph(graph)
    found = occurrences(written.main, own)
    return read_graph(written.main, {**written.forms, **found}).graph if found else graph


def occurrences(main: relay.Function, operators: Iterable[OwnOperator]) -> dict[relay.Expr, Form]:
    """Occurrences of operators in a typed function, by last expression; if two end there, the one that is listed first.

    Raises:
        TargetError: an operator's pattern or reading fails, or what it reads cannot be a layer.
    """
    found: dict[relay.Expr, Form] = {}
    for operator in operators:
        for root, parts in _parts(main, operator).items():
            reading = _asked(operator, parts)
            if reading is not None and root not in found:
                found[root] = _form(root, operator, reading)
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


def _form(root: relay.Expr, operator: OwnOperator, reading: Reading) -> Form:
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
    works = [work_of(call) for call in core]
    name = "+".join(work.name for work in works if work.loop is not Loop.END)
    floating = any(work.floating for work in works)
    operation = OwnOperation(
        name=operator.name,
        tensor=Tensor(shape(root), dtype(root)),
        function=RelayFunction(root, inputs, Work(name, Loop.OTHER, floating=floating)),
        own=Own(operator.name, len(inputs), len(reading.constants), name, floating),
        constants=reading.constants,
    )
    return Form(operation, root, inputs, calls, all(map(is_reference, core)))


def _fault(operator: OwnOperator, what: str, error: Exception) -> TargetError:
    return TargetError(f"the operator {operator.name} of a module: its {what}: {in_a_line(error)}.")
