"""A network that computes several samples at once, as one that computes a single one."""

from __future__ import annotations

from dataclasses import replace

from match.frontend.model import Model, ModelTensor
from match.graph.moves import Move
from match.graph.opaque import Constant
from match.graph.value import Graph, Value
from match.ir.graph import Tensor


def batch_of(model: Model) -> int:
    """How many samples all inputs and outputs of a network have along their first axis; 1 where that is not known."""
    found = {tensor.shape[0] if tensor.shape else 1 for tensor in (*model.inputs, *model.outputs)}
    return found.pop() if len(found) == 1 else 1


def of_one_sample(model: Model) -> Model | None:
    """The network with a batch of one; None where an operator does more than the same to each sample."""
    network, batch = model.network, batch_of(model)
    if batch == 1 or not isinstance(network, Graph) or network.states:
        return None
    made: dict[Value, Value] = {}
    for value in network.values:
        one = _of_one(value, made, batch)
        if one is None:
            return None
        made[value] = one
    inputs, outputs = (tuple(made[value] for value in side) for side in (network.inputs, network.outputs))
    return replace(
        model,
        network=Graph(inputs, outputs),
        inputs=tuple(map(_first, model.inputs)),
        outputs=tuple(map(_first, model.outputs)),
    )


def _first(tensor: ModelTensor) -> ModelTensor:
    return replace(tensor, shape=(1, *tensor.shape[1:]))


def _of_one(value: Value, made: dict[Value, Value], batch: int) -> Value | None:
    """A tensor of one sample; None if it is not made sample by sample."""
    if isinstance(value.operator, Constant):
        return value
    wanted = Tensor((1, *value.shape[1:]), value.dtype)
    if value.operator is None:
        return replace(value, tensor=wanted)
    operator, inputs = value.operator, tuple(made[x] for x in value.inputs)
    if isinstance(operator, Move):
        stays = operator.split[0] == batch and operator.columns[0] is None and operator.axes[0] == 0
        if not stays or operator.shape[0] != batch:
            return None
        operator = replace(operator, split=(1, *operator.split[1:]), shape=(1, *operator.shape[1:]))
    if value.shape[:1] != (batch,) or operator.result(*(x.tensor for x in inputs)) != wanted:
        return None
    return replace(value, tensor=wanted, operator=operator, inputs=inputs)
