"""A network that computes several samples at once, as one that computes a single one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from match.errors import OptionError
from match.frontend.model import Model, ModelTensor
from match.graph.float_average import FloatAverage
from match.graph.maximum import Maximum
from match.graph.moves import Move, reshape
from match.graph.operator import Operator
from match.graph.reals import RealAverage, RealConvolution, RealProduct, RealTransposed
from match.graph.reductions import RealReduction
from match.graph.resize import RealInterpolation, Resize
from match.graph.rows import LogSoftmax, RealSoftmax, Softmax
from match.graph.sums import Accumulation, Convolution
from match.graph.value import Graph, Value
from match.ir.graph import Tensor

_ALONG_OTHERS = (
    *(Accumulation, FloatAverage, Maximum, RealAverage, RealConvolution, RealInterpolation),
    *(RealProduct, RealReduction, RealTransposed, Resize),
)
"""Operators that combine elements along other axes than the first, or take that one's extent away."""


_OF_ROWS = LogSoftmax, RealSoftmax, Softmax
"""Functions of rows along the last axis."""


def batch_of(model: Model) -> int:
    """How many samples all inputs and outputs of a network have along their first axis; 1 where that is not known."""
    found = {tensor.shape[0] if tensor.shape else 1 for tensor in (*model.inputs, *model.outputs)}
    return found.pop() if len(found) == 1 else 1


def with_one_sample(model: Model) -> Model:
    """The network with a batch of one in place of the one that it has.

    Raises:
        OptionError: it has none, or does more than the same to each sample.
    """
    made = of_one_sample(model)
    if made is None:
        raise OptionError(
            f"{model.name} cannot be compiled for one sample (--one-sample): its inputs and outputs have no batch of "
            "several along their first axis, or samples are not computed alike; leave the option out."
        )
    return made


def of_one_sample(model: Model) -> Model | None:
    """The same; None where there is no such network."""
    network, batch = model.network, batch_of(model)
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
        return _Sample(replace(value, tensor=_less(value.tensor, 0, batch)), 0)
    inputs = [made[x] for x in value.inputs]
    axes = {one.axis for one in inputs if one.axis is not None}
    if not axes:
        return _Sample(value, None)
    tensors = tuple(one.value for one in inputs)
    if isinstance(value.operator, Move) and value.operator.keeps_order:
        axis = next((at for at, extent in enumerate(value.shape) if extent > 1), 0)
        if value.shape[axis] % batch:
            return None
        wanted = _less(value.tensor, axis, batch)
        return _Sample(
            replace(value, tensor=wanted, operator=reshape(tensors[0].tensor, wanted.shape), inputs=tensors), axis
        )
    axis = axes.pop()
    operator = None if axes else _operator_of_one(value, value.operator, inputs, axis, batch)
    if operator is None or len(value.shape) <= axis or value.shape[axis] % batch:
        return None
    wanted = _less(value.tensor, axis, batch)
    if operator.result(*(x.tensor for x in tensors)) != wanted:
        return None
    return _Sample(replace(value, tensor=wanted, operator=operator, inputs=tensors), axis)


def _less(tensor: Tensor, axis: int, batch: int) -> Tensor:
    """A tensor with a part of an axis."""
    return Tensor((*tensor.shape[:axis], tensor.shape[axis] // batch, *tensor.shape[axis + 1 :]), tensor.dtype)


def _operator_of_one(
    value: Value, operator: Operator, inputs: Sequence[_Sample], axis: int, batch: int
) -> Operator | None:
    """What an operator is for one sample; None if it may combine several."""
    if isinstance(operator, Move):
        stays = axis == 0 and operator.columns[0] is None and operator.axes[0] == 0
        if not stays or not operator.split[0] == operator.shape[0] == value.inputs[0].shape[0]:
            return None
        first = operator.split[0] // batch
        return replace(operator, split=(first, *operator.split[1:]), shape=(first, *operator.shape[1:]))
    if operator.elementwise or (isinstance(operator, _OF_ROWS) and axis < len(value.shape) - 1):
        return operator
    if axis == 0 or (axis == 1 and isinstance(operator, Convolution) and _is_of_pixels(operator)):
        constant = all(one.axis is None for one in inputs[1:])  # else weights are computed
        return operator if isinstance(operator, _ALONG_OTHERS) and constant else None
    return None


def _is_of_pixels(convolution: Convolution) -> bool:
    """Whether each pixel is computed of the one at its place."""
    own = convolution.weights.shape[:2], convolution.strides
    return own == ((1, 1), (1, 1)) and not any(convolution.padding)
