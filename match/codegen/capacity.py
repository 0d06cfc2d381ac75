"""What to say of a network that main memory cannot hold."""

from __future__ import annotations

from match.codegen.network import Network
from match.target.hardware import MatchTarget

_NAMED = 3


def shortage(network: Network, target: MatchTarget) -> str:
    """How many bytes are short where the target has no external memory, because of what, and what would help."""
    memory = target.main_memory
    needed = network.constant_bytes + network.activation_bytes
    largest = sorted(network.layers, key=lambda layer: (-len(layer.plan.constants), layer.plan.symbol))[:_NAMED]
    named = ", ".join(
        f"{layer.plan.layer.name} with {len(layer.plan.constants)}" for layer in largest if layer.plan.constants
    )
    return (
        f"{network.name} needs {needed} bytes of {target.name}'s {memory.name}, which has {memory.size}, so that "
        f"{needed - memory.size} are short: {network.constant_bytes} for constants"
        + (f" (most of them in {named})" if named else "")
        + f" and {network.activation_bytes} for activations; {target.name} has no external memory to put them in, so "
        f"take a smaller network or a target with more memory."
    )
