"""Tensors of layers, as a program dumped them: a line of JSON for each, as codegen/src/dump.c writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from match.errors import ToolchainError

Dumps = Mapping[tuple[str, str], tuple[bytes, ...]]
"""The bytes of a tensor in each sample, by the layer's C function and the operand's name, in the order of execution."""


class _DumpLine(msgspec.Struct, frozen=True, tag_field="event", tag="dump"):
    layer: str
    operand: str
    data: str


def read_dumps(lines: Iterable[str], samples: int) -> Dumps:
    """All tensors of so many samples.

    Raises:
        ToolchainError: if the lines are no dumps, or not those of so many samples.
    """
    found: dict[tuple[str, str], list[bytes]] = {}
    for line in lines:
        try:
            tensor = msgspec.json.decode(line, type=_DumpLine)
            found.setdefault((tensor.layer, tensor.operand), []).append(bytes.fromhex(tensor.data))
        except (msgspec.MsgspecError, ValueError) as error:
            raise ToolchainError(f"{line[:80]!r} is no dump of a tensor: {error}; build the project again.") from error
    if any(len(tensors) != samples for tensors in found.values()):
        raise ToolchainError(f"the program did not dump every layer of {samples} samples; build the project again.")
    return {key: tuple(tensors) for key, tensors in found.items()}
