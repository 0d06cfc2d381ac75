"""The plan of a network: every offset, from a decision and the results for its cut layers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from match.mapping.packing import Item, Packed, aligned, pack
from match.placement.contents import BLOCKS, CONSTANTS, cut_blocks, held, packed, spilled_bytes
from match.placement.decide import Decision
from match.placement.improve import improved, with_residents
from match.placement.latency import Latency, predict
from match.placement.problem import Choice, Cut, PlacementProblem


@dataclass(frozen=True)
class Plan:
    """The place of everything, in bytes from the beginning of the network's part of a memory.

    choice: how constants are fetched, and which tensors lie in external memory.
    tensors: offsets by name, in external memory for those that `choice.spilled` names, in main memory for the others.
    constants: by step, offset in main memory of those that are fetched whole or stay. images: by step, offset in the
        image in external memory of all constants.
    blocks: by step, offset in main memory of the blocks of a layer that is cut.
    main: bytes of main memory. image: bytes of the image. external: bytes of external memory, the image included.
    latency: predicted.
    """

    choice: Choice
    tensors: Mapping[str, int]
    constants: Mapping[int, int]
    images: Mapping[int, int]
    blocks: Mapping[int, int]
    cuts: Mapping[int, Cut]
    main: int
    image: int
    external: int
    latency: Latency


def place(problem: PlacementProblem, decision: Decision, cuts: Mapping[int, Cut], images: Mapping[int, int]) -> Plan:
    """The plan of a decision.

    Args:
        problem: what was decided about.
        decision: a choice that fits.
        cuts: the result for the layer of each cut step, within the room that it was given.
        images: by step, bytes of constants as they lie in external memory: of a cut layer they are packed anew.
    """
    choice = improved(problem, decision.choice, cuts)
    choice = with_residents(problem, choice, cuts, saving=False)
    packing = packed(problem, choice, cuts)
    assert packing is not None, "blocks stay within the rooms that were left for them"
    start = held(problem, choice)
    constants: dict[int, int] = {}
    end = aligned(problem.resident, problem.alignment)
    for step in sorted(choice.resident):
        constants[step] = end
        end += aligned(problem.steps[step].constants, problem.alignment)
    offsets: dict[Hashable, int] = {key: start + offset for key, offset in packing.offsets.items()}
    constants |= {n: offsets[CONSTANTS, n] for n, at in enumerate(choice.fetched) if at is not None}
    image_offsets, image = _stacked(problem, images)
    outside = _outside(problem, choice)
    return Plan(
        choice=choice,
        tensors={
            tensor.name: image + outside.offsets[tensor.name] if tensor.name in choice.spilled else offsets[tensor.name]
            for tensor in problem.tensors
        },
        constants=constants,
        images=image_offsets,
        blocks={item.first: offsets[BLOCKS, item.first] for item in cut_blocks(problem, choice, cuts)},
        cuts=cuts,
        main=start + packing.peak,
        image=image,
        external=image + outside.peak,
        latency=predict(problem, choice, cuts),
    )


def _stacked(problem: PlacementProblem, sizes: Mapping[int, int]) -> tuple[dict[int, int], int]:
    """Where constants lie in the image, in the order of steps, and the bytes of the image."""
    offsets: dict[int, int] = {}
    end = aligned(problem.resident, problem.alignment)
    for step in sorted(sizes):
        offsets[step] = end
        end += aligned(sizes[step], problem.alignment)
    return offsets, end


def _outside(problem: PlacementProblem, choice: Choice) -> Packed:
    items = [Item(t.name, t.first, t.last, t.bytes) for t in problem.tensors if t.name in choice.spilled]
    return pack(items, problem.alignment, spilled_bytes(problem, choice))
