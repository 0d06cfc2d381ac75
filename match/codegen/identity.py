"""Numbers by which C is known: that of a network, and that which networks share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib import metadata
from typing import NamedTuple

import msgspec

from match.codegen.network import Network
from match.ir.names import identifier


class SharedC(NamedTuple):
    """What networks share: by which version of MATCH, for which target; eight hexadecimal digits of its content."""

    version: str
    target: str
    digits: str

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Major, minor and patch."""
        parts = [int(part) if part.isdecimal() else 0 for part in self.version.split(".")]
        major, minor, patch = [*parts, 0, 0, 0][:3]
        return major, minor, patch

    @property
    def symbol(self) -> str:
        """A constant in it that networks name: others are then not linked with it."""
        return f"match_shared_{identifier(self.target)}_{self.digits}"


def shared_c(target: str, texts: Iterable[str]) -> SharedC:
    """The identity of the target's name and of the text of all files that networks for it may share."""
    version = metadata.version("match-compiler")
    return SharedC(version, target, _digits(text.encode() for text in (version, target, *texts))[:8])


def fingerprint(network: Network) -> str:
    """16 hexadecimal digits of a network's own C: layers, operators, constants, inputs and outputs."""
    texts = [network.operators, *(layer.code for layer in network.layers)]
    data = [constant.data.tobytes() for constant in network.constants]
    data += [state.initial.tobytes() for state in network.states]
    states = [state.tensor for state in network.states]
    tensors = msgspec.json.encode((network.name, network.inputs, network.outputs, *([states] if states else [])))
    image = [network.memory.image] if network.memory else []
    return _digits([tensors, *(text.encode() for text in texts), *data, *image])[:16]


def _digits(parts: Iterable[bytes]) -> str:
    """SHA-256 of the parts, each after its length."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
