"""The graph: tensors, and the operators that compute them from other tensors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from match.graph.operator import Array, Operator
from match.ir.deviation import Deviation
from match.ir.graph import Tensor


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor, and how it is computed.

    tensor: its shape and type.
    operator: what computes it from `inputs`; None for an input of the network.
    exact: whether the reference is known to compute just these numbers. Where it computes in floating point, integers
        may be one step off.
    source: what the model calls the tensor or its operator; empty if that is not known. For an input its name.
    deviation: by how much these numbers differ from the model's, where the operator became another one.
    parts: into how many parts the model's operator was cut, where this is one of them, or joins some.
    """

    tensor: Tensor
    operator: Operator | None = None
    inputs: tuple[Value, ...] = field(default=(), repr=False)
    exact: bool = True
    source: str = ""
    parts: int = 1
    deviation: Deviation | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self.tensor.shape

    @property
    def dtype(self) -> str:
        """The type of its elements, by NumPy's name."""
        return self.tensor.dtype


def computed(operator: Operator, *inputs: Value, exact: bool = True, source: str = "") -> Value:
    """What an operator computes from tensors."""
    tensor = operator.result(*(value.tensor for value in inputs))
    return Value(tensor, operator, inputs, exact, source)


@dataclass(frozen=True, eq=False)
class Graph:
    """A network: the tensors that it is given, and those that it hands out.

    states: what it keeps from one inference to the next, as it is before the first. The last inputs are what states
        hold, and the last outputs, in the same order, what they hold afterwards.
    """

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    states: tuple[Array, ...] = ()

    @property
    def given(self) -> tuple[Value, ...]:
        """The inputs that are the caller's."""
        return self.inputs[: len(self.inputs) - len(self.states)]

    @property
    def handed_out(self) -> tuple[Value, ...]:
        """The outputs that are the caller's."""
        return self.outputs[: len(self.outputs) - len(self.states)]

    @property
    def ends(self) -> tuple[Value, ...]:
        """The outputs as they are computed: states first, so that what these are made of is not held for long."""
        count = len(self.handed_out)
        return (*self.outputs[count:], *self.outputs[:count])

    @property
    def values(self) -> list[Value]:
        """All tensors, each after those that it is computed from; inputs that nothing reads come last."""
        return ordered((*self.ends, *self.inputs))


def ordered(values: Iterable[Value]) -> list[Value]:
    """Tensors and all that they are computed from, each once, after its inputs.

    There can be thousands in a row, more than Python's calls may be nested.
    """
    order: dict[Value, None] = {}
    pending = [(value, False) for value in reversed(list(values))]
    while pending:
        value, ready = pending.pop()
        if ready:
            order[value] = None
        elif value not in order:
            pending.append((value, True))
            pending += [(source, False) for source in reversed(value.inputs)]
    return list(order)


def readers(graph: Graph) -> dict[Value, list[Value | None]]:
    """For each tensor those that are computed from it, once for each time that they read it; None: the caller."""
    values = graph.values
    found: dict[Value, list[Value | None]] = {value: [] for value in values}
    for value in values:
        for source in value.inputs:
            found[source].append(value)
    for value in graph.outputs:
        found[value].append(None)
    return found
