"""A model with states: inputs that become, from one inference to the next, what outputs were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from match.errors import OptionError
from match.frontend.model import Model, ModelState, ModelTensor
from match.graph.value import Graph
from match.target.arguments import is_a, shown

if TYPE_CHECKING:
    from match.relay import tvm


def checked_states(states: Any) -> Mapping[str, str]:
    """What a caller gives as states.

    Raises:
        OptionError: it is no mapping of texts.
    """
    if states is None:
        return {}
    if not is_a(states, Mapping) or not all(is_a(one, str) for pair in states.items() for one in pair):
        raise OptionError(f"states are names of outputs by names of inputs, not {shown(states)}; give a mapping.")
    return states


def with_states(model: Model, states: Mapping[str, str]) -> Model:
    """The model with some outputs kept inside for the next inference, which they are the inputs of.

    `states` are the names of outputs by those of inputs. All begin as the real number 0.

    Raises:
        OptionError: there is no such input or output, both differ in type, shape or scale, or none is left.
    """
    if not states:
        return model
    kept = [_state(model, *pair) for pair in states.items()]
    given, handed_out = [one.tensor.name for one in kept], [one.output for one in kept]
    twice = next((name for name in handed_out if handed_out.count(name) > 1), None)
    if twice is not None:
        raise OptionError(f"output {twice} is to be several states; name it once.")
    for what, tensors, names in (("input", model.inputs, given), ("output", model.outputs, handed_out)):
        if len(names) == len(tensors):
            raise OptionError(f"all {what}s of {model.name} are to be states; leave one {what} to the caller.")
    return replace(
        model,
        network=_reordered(model, kept),
        inputs=tuple(tensor for tensor in model.inputs if tensor.name not in given),
        outputs=tuple(tensor for tensor in model.outputs if tensor.name not in handed_out),
        states=(*model.states, *kept),
        original=model,
    )


def _state(model: Model, given: str, output: str) -> ModelState:
    """One state, checked."""
    before, after = _named(model, "input", model.inputs, given), _named(model, "output", model.outputs, output)
    for what, own, other in (
        ("shape", _shape(before), _shape(after)),
        ("type", before.dtype, after.dtype),
        ("scale and zero point", _scale(before), _scale(after)),
    ):
        if own != other and own and other:
            raise OptionError(
                f"state {given}:{output} has the {what} {own} as an input and {other} as an output; both have to be "
                "the same: export the model so, or leave the state to the caller."
            )
    zero = before.quantization or after.quantization
    initial = np.full(before.shape, 0 if zero is None or before.dtype == "float32" else zero.zero_point, before.dtype)
    return ModelState(before, initial, output)


def _shape(tensor: ModelTensor) -> str:
    return str(list(tensor.shape))


def _scale(tensor: ModelTensor) -> str:
    """What its integers stand for; empty if that is not known."""
    known = tensor.quantization
    return "" if known is None else f"{known.scale:.9g}, {known.zero_point}"


def _named(model: Model, what: str, tensors: Sequence[ModelTensor], name: str) -> ModelTensor:
    for tensor in tensors:
        if tensor.name == name:
            return tensor
    known = ", ".join(tensor.name for tensor in tensors)
    raise OptionError(f"{model.name} has no {what} {name!r} that could be a state; its {what}s are: {known}.")


def _reordered(model: Model, kept: Sequence[ModelState]) -> Graph | tvm.IRModule:
    """The network with its states after all other inputs and outputs."""
    inputs = _last([one.name for one in model.inputs], [one.tensor.name for one in kept], len(model.states))
    outputs = _last([one.name for one in model.outputs], [one.output for one in kept], len(model.states))
    network = model.network
    if isinstance(network, Graph):
        return Graph(
            tuple(network.inputs[at] for at in inputs),
            tuple(network.outputs[at] for at in outputs),
            (*network.states, *(one.initial for one in kept)),
        )
    from match.relay import relay, tvm

    main = network["main"]
    body = relay.Tuple([main.body.fields[at] for at in outputs])
    function = relay.Function([main.params[at] for at in inputs], body)
    return relay.transform.InferType()(tvm.IRModule.from_expr(function))


def _last(names: Sequence[str], chosen: Sequence[str], behind: int) -> list[int]:
    """Places of tensors: of those that are not chosen, of `behind` more, and of the chosen ones in their order."""
    others = [place for place, name in enumerate(names) if name not in chosen]
    return [*others, *range(len(names), len(names) + behind), *(names.index(name) for name in chosen)]
