"""Groups: operators that a module executes one after the other in one offload, with whole tensors between them.

A group is a `Layer` with a `Group`. Its operators form any graph without cycles whose only result is the
output of the last operator. The innermost memory holds everything at once: the tensors from outside, the constants of
all operators, the tensors between operators, and the output. So a group has one tile, which is all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from match.ir.chain import stage_spans
from match.ir.layer import Dim, Group, Layer

Links = tuple[tuple[int, ...], ...]
"""Where the inputs of each operator of a group come from, see `Group.links`."""

MOST_INPUTS = 12
"""Tensors from outside that a group may read: generated code serves a limited number of blocks."""

Spans = Mapping[Dim, tuple[int, int]]


def grouped(stages: Sequence[Layer], links: Links, cuts: Sequence[int] = ()) -> Layer:
    """The group of operators, each after the operators that it reads from; it is named as the last one.

    `cuts` are the output channels of each operator's kernel calls, 0 or nothing where one computes all.

    Raises:
        ValueError: if an operator reads one that is not in front of it.
    """
    for number, own in enumerate(links):
        if any(link >= number for link in own):
            raise ValueError(f"{stages[number].name} reads an operator that is not in front of it")
    first, last = stages[0], stages[-1]
    return Layer(
        name=last.name,
        op=last.op,
        k=last.k,
        c=1,
        oy=last.oy,
        ox=last.ox,
        iy=first.iy,
        ix=first.ix,
        input_dtype=first.input_dtype,
        weight_dtype=next((stage.weight_dtype for stage in stages if stage.weight_dtype), ""),
        output_dtype=last.output_dtype,
        clip=last.clip,
        input_range=first.input_range,
        attributes=Group(tuple(stages), links, tuple(cuts) or (0,) * len(stages)),
    )


class Call(NamedTuple):
    """A kernel call of a group: the number of its operator, and its output channels from `first` on."""

    operator: int
    first: int
    channels: int


def calls(layer: Layer) -> tuple[Call, ...]:
    """The kernel calls of a group, in order. An operator that is cut has several, one after the other."""
    return tuple(
        Call(number, first, min(cut or stage.k, stage.k - first))
        for number, (stage, cut) in enumerate(zip(layer.operators, layer.get(Group).cuts, strict=True))
        for first in range(0, stage.k, cut or stage.k)
    )


def first_readers(links: Links) -> tuple[tuple[int, int], ...]:
    """For each tensor from outside, the first operator that reads it, and as which of its inputs."""
    found: dict[int, tuple[int, int]] = {}
    for number, own in enumerate(links):
        for argument, link in enumerate(own):
            if link < 0:
                found.setdefault(~link, (number, argument))
    return tuple(found[tensor] for tensor in sorted(found))


def operator_spans(layer: Layer, spans: Spans) -> tuple[tuple[int, Spans], ...]:
    """For each kernel call of a tile the number of its operator, and what it computes in iterations of its loops."""
    if isinstance(layer.attributes, Group):
        parts = ((call.operator, {Dim.K: (call.first, call.channels)}) for call in calls(layer))
        return tuple((number, {**layer.operators[number].spans, **part}) for number, part in parts)
    return tuple(enumerate(stage_spans(layer, spans))) if layer.fused else ((0, spans),)
