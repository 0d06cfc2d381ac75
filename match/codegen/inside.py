"""Where a network's inputs and outputs lie in its workspace, for callers that have no arrays of their own for them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from match.codegen.network import Inside
from match.codegen.steps import CallStep, Copy, laid_over, lives
from match.frontend.model import ModelTensor, tensor_bytes
from match.mapping.memory import align
from match.mapping.packing import Item, lowest


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
    alive = lives(steps, copies)
    tensors = (*inputs, *outputs)
    last = len(steps)
    copied = {copy.source.border for copy in copies}
    taken: dict[int, tuple[int, int]] = {}
    for number in range(len(tensors)):
        touching = [step for step, call in enumerate(steps) if number in call.tensors]
        end = last if number in copied else max(touching, default=0)
        taken[number] = (0, end) if number < len(inputs) else (min(touching, default=0), last)
    ends: dict[Hashable, int] = {life.buffer.name: life.last for life in alive}
    over = laid_over(steps, ends | {number: end for number, (_, end) in taken.items()})
    placed: list[tuple[int, int, Item]] = []
    for life in alive:
        name, size = life.buffer.name, life.buffer.bytes
        item = Item(name, life.first, life.last, size, over.get(name, {}))
        placed.append((offsets[name], align(offsets[name] + size, alignment), item))
    found: dict[int, int] = {}
    sizes = [tensor_bytes([tensor]) for tensor in tensors]
    for number in sorted(taken, key=lambda n: (-sizes[n], n)):
        item = Item(number, *taken[number], sizes[number], over.get(number, {}))
        beside = [one for one in placed if one[2].first <= item.last and item.first <= one[2].last]
        found[number] = lowest(item, beside, alignment)
        placed.append((found[number], align(found[number] + item.bytes, alignment), item))
    end = max((found[n] + sizes[n] for n in found), default=0)
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
