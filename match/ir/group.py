"""Groups: operators that modules execute in one offload, with whole tensors between them.

A group is a `Layer` with a `Group`. Its operators form any graph without cycles whose only result is the
output of the last operator. The innermost memory holds everything at once: the tensors from outside, the constants of
all operators, the tensors between operators, and the output. So a group has one tile, which is all of it.
An operator has one kernel call, or several, each of some output channels or rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from match.ir.attributes import Broadcast
from match.ir.chain import stage_spans
from match.ir.layer import Axis, Dim, Group, Layer, Op, input_axes, whole_axis

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
    """A kernel call of a group: the number of its operator, and the output channels and rows that it computes.

    These are `channels` from `first` on, and `rows` from `row` on.
    """

    operator: int
    first: int
    channels: int
    row: int
    rows: int

    @property
    def spans(self) -> Spans:
        """Starts and extents of what it computes, along the dimensions that calls cut."""
        return {Dim.K: (self.first, self.channels), Dim.OY: (self.row, self.rows)}


def calls(layer: Layer) -> tuple[Call, ...]:
    """The kernel calls of a group, operator by operator, if each computes all rows.

    They are as many as its constants have parts. An operator that is cut in channels has several.
    """
    return tuple(
        Call(number, first, min(cut or stage.k, stage.k - first), 0, stage.oy)
        for number, (stage, cut) in enumerate(zip(layer.operators, layer.get(Group).cuts, strict=True))
        for first in range(0, stage.k, cut or stage.k)
    )


def reads(layer: Layer, reader: Call, writer: Call) -> bool:
    """Whether a kernel call of a group reads what another one writes. Rows of a tensor and of its views lie alike."""
    stage, written = layer.operators[reader.operator], layer.operators[writer.operator]
    links = layer.get(Group).links[reader.operator]
    for argument in (argument for argument, link in enumerate(links) if link == writer.operator):
        axis = rows_axis(stage, argument)
        first, count = axis.span(reader.row, reader.rows)
        begins_before = first * written.oy < (writer.row + writer.rows) * axis.limit
        if begins_before and writer.row * axis.limit < (first + count) * written.oy:
            return True
    return False


def rows_axis(stage: Layer, argument: int) -> Axis:
    """How the rows of an operator's input follow those of its output; all of them, where inputs have other shapes."""
    if argument == 0:
        return input_axes(stage)[0]
    plain = stage.op is not Op.MATRICES and not stage.get(Broadcast).kind and stage.iy == stage.oy
    return Axis(Dim.OY, stage.oy) if plain else whole_axis(Dim.OY, stage.oy)


def first_readers(links: Links) -> tuple[tuple[int, int], ...]:
    """For each tensor from outside, the first operator that reads it, and as which of its inputs."""
    found: dict[int, tuple[int, int]] = {}
    for number, own in enumerate(links):
        for argument, link in enumerate(own):
            if link < 0:
                found.setdefault(~link, (number, argument))
    return tuple(found[tensor] for tensor in sorted(found))


def operator_spans(layer: Layer, spans: Spans, order: Sequence[Call] = ()) -> tuple[tuple[int, Spans], ...]:
    """For each kernel call of a tile the number of its operator, and what it computes in iterations of its loops.

    Those of a group are `order`; nothing: as `calls` has them.
    """
    if isinstance(layer.attributes, Group):
        own = order or calls(layer)
        return tuple((call.operator, {**layer.operators[call.operator].spans, **call.spans}) for call in own)
    return tuple(enumerate(stage_spans(layer, spans))) if layer.fused else ((0, spans),)
