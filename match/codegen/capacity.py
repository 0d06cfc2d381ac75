"""Whether main memory holds a network, and what to say of one that it cannot hold."""

from __future__ import annotations

from match.codegen.network import Network
from match.errors import CapacityError
from match.frontend.model import Model, tensor_bytes
from match.target.hardware import MatchTarget

_NAMED = 3


def check_border(model: Model, target: MatchTarget) -> None:
    """Find out if main memory holds all inputs of a network, and all its outputs, before it is searched how.

    Raises:
        CapacityError: it does not.
    """
    memory, program = target.main_memory, target.program_bytes(0)
    for what, tensors in (("inputs", model.inputs), ("outputs", model.outputs)):
        needed = tensor_bytes(tensors)
        if needed + program > memory.size:
            beside = f" beside an estimated {program} for the program" if program else ""
            wide = any(tensor.dtype == "float32" for tensor in tensors)
            others = f", {what} of integers (--{what.removesuffix('s')}-type)" if wide else ""
            raise CapacityError(
                f"{model.name} does not fit {target.name}'s {memory.name} of {memory.size} bytes: its {what} alone "
                f"take {needed} of it{beside}; smaller {what}{others} or a larger {memory.name} (--l2) would help."
            )


def fits(network: Network, target: MatchTarget) -> bool:
    """Whether main memory holds the network's constants and activations beside the program."""
    return network.main_bytes + target.program_bytes(len(network.calls)) <= target.main_memory.size


def shortage(network: Network, target: MatchTarget) -> str:
    """How many bytes are short where the target has no external memory, because of what, and what would help."""
    memory, program = target.main_memory, target.program_bytes(len(network.calls))
    needed = network.main_bytes + program
    largest = sorted(network.layers, key=lambda layer: (-len(layer.plan.constants), layer.plan.symbol))[:_NAMED]
    named = ", ".join(
        f"{layer.plan.layer.name} with {len(layer.plan.constants)}" for layer in largest if layer.plan.constants
    )
    return (
        f"{network.name} needs {needed} bytes of {target.name}'s {memory.name}, which has {memory.size}, so that "
        f"{needed - memory.size} are short: {network.constant_bytes} for constants"
        + (f" (most of them in {named})" if named else "")
        + (f", an estimated {program} for the program" if program else "")
        + (f", {network.state_bytes} for states" if network.states else "")
        + f" and {network.activation_bytes} for activations; {target.name} has no external memory to put them in, so "
        f"take a smaller network or a target with more memory."
    )
