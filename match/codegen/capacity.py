"""Whether a chip's memories hold a network, and what to say of one that they cannot hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from match.codegen.network import Network
from match.errors import CapacityError
from match.frontend.model import Model, tensor_bytes
from match.mapping.memory import Memory
from match.target.hardware import MatchTarget

_NAMED = 3


class NetworkBytes(NamedTuple):
    """Bytes of a network: of its activations with inputs and outputs, states, constants, and of the program."""

    activations: int
    states: int
    constants: int
    program: int


class Need(NamedTuple):
    """A memory, and the bytes of each kind that a network needs of it."""

    memory: Memory
    parts: NetworkBytes

    @property
    def bytes(self) -> int:
        """All of them."""
        return sum(self.parts)

    @property
    def short(self) -> int:
        """Bytes that the memory lacks."""
        return max(0, self.bytes - self.memory.size)


def needs(sizes: NetworkBytes, target: MatchTarget) -> tuple[Need, ...]:
    """What a network needs of main memory, and of flash where there is some, which has constants and program then."""
    if target.flash is None:
        return (Need(target.main_memory, sizes),)
    in_flash = NetworkBytes(0, 0, sizes.constants, sizes.program)
    return (
        Need(target.main_memory, NetworkBytes(sizes.activations, sizes.states, 0, 0)),
        Need(target.flash, in_flash),
    )


def check_border(model: Model, target: MatchTarget) -> None:
    """Find out if main memory holds all inputs of a network, and all its outputs, before it is searched how.

    Raises:
        CapacityError: it does not.
    """
    for what, tensors in (("inputs", model.inputs), ("outputs", model.outputs)):
        need, *_ = needs(NetworkBytes(tensor_bytes(tensors), 0, 0, target.program_bytes(0, 0)), target)
        if need.short:
            memory, program = need.memory, need.parts.program
            beside = f" beside an estimated {program} for the program" if program else ""
            wide = any(tensor.dtype == "float32" for tensor in tensors)
            others = f", {what} of integers (--{what.removesuffix('s')}-type)" if wide else ""
            raise CapacityError(
                f"{model.name} does not fit {target.name}'s {memory.name} of {memory.size} bytes: its {what} alone "
                f"take {need.parts.activations} of it{beside}; smaller {what}{others} or a larger {memory.name} (--l2) "
                "would help."
            )


def _sizes(network: Network, target: MatchTarget) -> NetworkBytes:
    """The bytes of a network that takes no external memory, or those of it in main memory."""
    program = network.program_bytes(target)
    if network.memory is not None:
        return NetworkBytes(network.main_bytes - network.state_bytes, network.state_bytes, 0, program)
    return NetworkBytes(network.activation_bytes, network.state_bytes, network.constant_bytes, program)


def fits(network: Network, target: MatchTarget) -> bool:
    """Whether the chip's memories hold the network's constants and activations beside the program."""
    return not any(need.short for need in needs(_sizes(network, target), target))


def shortage(network: Network, target: MatchTarget) -> str:
    """How many bytes are short where the target has no external memory, because of what, and what would help."""
    need = max(needs(_sizes(network, target), target), key=lambda need: need.short)
    memory = need.memory
    return (
        f"{network.name} needs {need.bytes} bytes of {target.name}'s {memory.name}, which has {memory.size}, so that "
        f"{need.short} are short: {_listed(list(_parts(network, need.parts)))}; {target.name} has no external memory "
        "to put them in, so take a smaller network or a target with more memory."
    )


def _parts(network: Network, sizes: NetworkBytes) -> Iterator[str]:
    """What takes the bytes of a memory."""
    if sizes.constants:
        largest = sorted(network.layers, key=lambda layer: (-len(layer.plan.constants), layer.plan.symbol))[:_NAMED]
        sized = (f"{one.plan.layer.name} with {len(one.plan.constants)}" for one in largest if one.plan.constants)
        named = ", ".join(sized)
        yield f"{sizes.constants} for constants" + (f" (most of them in {named})" if named else "")
    if sizes.program:
        yield f"an estimated {sizes.program} for the program"
    if sizes.states:
        yield f"{sizes.states} for states"
    if sizes.activations:
        yield f"{sizes.activations} for activations"


def _listed(parts: list[str]) -> str:
    """Parts of a sentence, joined."""
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
