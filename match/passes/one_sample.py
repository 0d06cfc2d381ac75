"""A network that computes several samples at once, as one that computes a single one.

Modules take one map at a time, so that maps of a batch are computed sample by sample in any case. A network that is
called once for each sample needs the memory of one, and its caller may have any number of them. Networks of rows alone
stay as they are: modules take all rows of a batch together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from match.frontend.model import Model, ModelTensor
from match.graph.moves import Move, reshape
from match.graph.samples import has_maps, operator_of_one, part_of
from match.graph.value import Graph, Value


def sample_by_sample(model: Model) -> Model:
    """The network with a batch of one in place of the one that it has, where it has maps and that is the same."""
    if not isinstance(model.network, Graph) or not any(map(has_maps, model.network.values)):
        return model
    return of_one_sample(model) or model


def of_one_sample(model: Model) -> Model | None:
    """The network of one sample; None where it is not known to do the same to each."""
    network, batch = model.network, _batch_of(model)
    if batch == 1 or not isinstance(network, Graph) or network.states:
        return None
    made: dict[Value, _Sample] = {}
    for value in network.values:
        one = _of_one(value, made, batch)
        if one is None:
            return None
        made[value] = one
    inputs, outputs = (tuple(made[value].value for value in side) for side in (network.inputs, network.outputs))
    return replace(
        model,
        network=Graph(inputs, outputs),
        inputs=tuple(map(_first, model.inputs)),
        outputs=tuple(map(_first, model.outputs)),
        batch=batch,
        original=model,
        notes=(*model.notes, f"{model.name} has a batch of {batch}, and its C computes one sample at a time."),
    )


def _batch_of(model: Model) -> int:
    """How many samples all inputs and outputs of a network have along their first axis; 1 where that is not known."""
    found = {tensor.shape[0] if tensor.shape else 1 for tensor in (*model.inputs, *model.outputs)}
    return found.pop() if len(found) == 1 else 1


def _first(tensor: ModelTensor) -> ModelTensor:
    return replace(tensor, shape=(1, *tensor.shape[1:]))


@dataclass(frozen=True, eq=False)
class _Sample:
    """A tensor of one sample, and the axis along which the tensor has all of them, one after the other.

    The axis is the first one with several elements; None of constants.
    """

    value: Value
    axis: int | None


def _of_one(value: Value, made: Mapping[Value, _Sample], batch: int) -> _Sample | None:
    """A tensor of one sample; None if it is not known to be made sample by sample."""
    if value.operator is None:
        return _Sample(replace(value, tensor=part_of(value.tensor, 0, batch)), 0)
    inputs = [made[x] for x in value.inputs]
    axes = {one.axis for one in inputs if one.axis is not None}
    if not axes:
        return _Sample(value, None)
    tensors = tuple(one.value for one in inputs)
    if isinstance(value.operator, Move) and value.operator.keeps_order:
        axis = next((at for at, extent in enumerate(value.shape) if extent > 1), 0)
        if value.shape[axis] % batch:
            return None
        wanted = part_of(value.tensor, axis, batch)
        return _Sample(
            replace(value, tensor=wanted, operator=reshape(tensors[0].tensor, wanted.shape), inputs=tensors), axis
        )
    axis = axes.pop()
    operator = None if axes else operator_of_one(value, [one.axis for one in inputs], axis, batch)
    if operator is None or len(value.shape) <= axis or value.shape[axis] % batch:
        return None
    wanted = part_of(value.tensor, axis, batch)
    if operator.result(*(x.tensor for x in tensors)) != wanted:
        return None
    return _Sample(replace(value, tensor=wanted, operator=operator, inputs=tensors), axis)
