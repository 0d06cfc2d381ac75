"""Where a network's inputs and outputs lie in its workspace, for callers that have no arrays of their own for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from match.codegen.network import Inside
from match.codegen.steps import CallStep, Copy, lives
from match.frontend.model import ModelTensor, tensor_bytes
from match.mapping.memory import align


class _TakenBytes(NamedTuple):
    """Bytes of the workspace that something takes from its first step to its last.

    over: numbers of tensors over which it may lie if they end at its first step, with the bytes that it has to begin
        before them.
    """

    first: int
    last: int
    offset: int
    bytes: int
    over: Mapping[int | None, int] = {}

    def end(self, number: int, last: int) -> int:
        """Where a tensor may begin behind it that is needed to step `last`."""
        return self.offset + min(self.bytes, self.over.get(number, self.bytes) if last == self.first else self.bytes)


def beside(
    inputs: Sequence[ModelTensor],
    outputs: Sequence[ModelTensor],
    steps: Sequence[CallStep],
    copies: Sequence[Copy],
    offsets: Mapping[str, int],
    workspace_bytes: int,
    alignment: int,
) -> Inside:
    """Places among the activations: an input until the last step reads it, an output from the first that writes it.

    Args:
        inputs: of the network.
        outputs: of the network.
        steps: its calls, which tell which tensors they touch.
        copies: what is done after them.
        offsets: of the activations in the workspace, by the names of their buffers.
        workspace_bytes: of the workspace without inputs and outputs.
        alignment: of each place, in bytes.
    """
    over = {step.arguments[-1].buffer: {x.border: lag for x, lag in step.over} for step in steps if step.over}
    rooms = [
        _TakenBytes(
            life.first, life.last, offsets[life.buffer.name], life.buffer.bytes, over.get(life.buffer, {})
        )
        for life in lives(steps, copies)
    ]
    tensors = (*inputs, *outputs)
    last = len(steps)
    copied = {copy.source.border for copy in copies}
    taken: dict[int, tuple[int, int]] = {}
    for number in range(len(tensors)):
        touching = [step for step, call in enumerate(steps) if number in call.tensors]
        end = last if number in copied else max(touching, default=0)
        taken[number] = (0, end) if number < len(inputs) else (min(touching, default=0), last)
    found: dict[int, int] = {}
    for number in sorted(taken, key=lambda n: (-tensor_bytes([tensors[n]]), n)):
        first, last = taken[number]
        size = tensor_bytes([tensors[number]])
        alive = [room for room in rooms if room.first <= last and first <= room.last]
        spans = [(room.offset, room.end(number, last)) for room in alive]
        candidates = sorted({0, *(align(end, alignment) for _, end in spans)})
        found[number] = next(
            at for at in candidates if all(at + size <= start or end <= at for start, end in spans)
        )
        rooms.append(_TakenBytes(first, last, found[number], size))
    end = max((found[n] + tensor_bytes([tensors[n]]) for n in found), default=0)
    return Inside(tuple(found[n] for n in range(len(tensors))), max(workspace_bytes, align(end, alignment)))


def behind(
    inputs: Sequence[ModelTensor], outputs: Sequence[ModelTensor], workspace_bytes: int, alignment: int
) -> Inside:
    """Places after all else."""
    offsets: list[int] = []
    end = workspace_bytes
    for tensor in (*inputs, *outputs):
        offsets.append(align(end, alignment))
        end = offsets[-1] + tensor_bytes([tensor])
    return Inside(tuple(offsets), align(end, alignment))
