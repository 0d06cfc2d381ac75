"""Chains: operators that a module executes tile by tile, one after the other, with nothing between them in main memory.

A chain is a `Layer` with a `Chain`. Its loops are those of the last operator: rows and columns of outputs, output
channels K. A tile of outputs says what each operator before has to compute for it: the rows and columns under its
windows, and its channels. The input is read through the windows of all stages, which together are one window with the
product of the strides. What a tile of outputs has of an intermediate tensor is computed for it, and lies in scratch.

Channels of a tensor follow K where all operators after it keep channels apart. In front of the last operator that
mixes channels they follow C, the loop over what that operator sums up, and are all computed further in front. C may be
cut where that operator is the last of the chain: it then adds up partial sums, and the operators before compute a part
of their channels at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from match.ir.layer import Chain, Dim, Layer, Padding, input_axes

Spans = Mapping[Dim, tuple[int, int]]
"""Start and extent along each loop dimension."""


def chained(stages: Sequence[Layer]) -> Layer:
    """The chain of operators that each read what the one before writes; it is named as the last one.

    Raises:
        ValueError: if sizes or types of an intermediate tensor differ.
    """
    for before, after in pairwise(stages):
        written = before.oy, before.ox, before.k, before.output_dtype
        read = after.iy, after.ix, after.input_channels, after.input_dtype
        if written != read:
            raise ValueError(f"{after.name} reads {read}, and {before.name} before it writes {written}")
    first, last = stages[0], stages[-1]
    (stride_y, window_y, top), (stride_x, window_x, left) = _windows(stages, 0), _windows(stages, 1)
    summed = [stage.c for stage, dims in zip(stages, channel_dims(stages), strict=False) if dims is Dim.C]
    return Layer(
        name=last.name,
        op=last.op,
        k=last.k,
        c=summed[-1] if summed else 1,
        oy=last.oy,
        ox=last.ox,
        iy=first.iy,
        ix=first.ix,
        fy=window_y,
        fx=window_x,
        stride=(stride_y, stride_x),
        padding=Padding(
            top,
            left,
            max(0, (last.oy - 1) * stride_y + window_y - top - first.iy),
            max(0, (last.ox - 1) * stride_x + window_x - left - first.ix),
        ),
        pad_value=first.pad_value,
        input_dtype=first.input_dtype,
        weight_dtype=next((stage.weight_dtype for stage in stages if stage.weight_dtype), ""),
        output_dtype=last.output_dtype,
        clip=last.clip,
        input_range=first.input_range,
        attributes=Chain(tuple(stages)),
    )


def _windows(stages: Sequence[Layer], axis: int) -> tuple[int, int, int]:
    """Stride, window and padding in front of the windows of all stages together, along rows (0) or columns (1)."""
    stride, window, before = 1, 1, 0
    for stage in reversed(stages):
        step = stage.stride[axis]
        window = (window - 1) * step + stage.window[axis]
        before = before * step + stage.padding[axis]
        stride *= step
    return stride, window, before


def channel_dims(stages: Sequence[Layer]) -> tuple[Dim | None, ...]:
    """The loop that the channels of each tensor follow, from input to output; None: each tile has all of them."""
    dims: list[Dim | None] = [Dim.K]
    for stage in reversed(stages):
        after = dims[-1]
        mixed = Dim.C if after is Dim.K else None
        dims.append(after if stage.channelwise else mixed)
    return tuple(reversed(dims))


def sums_parts(stages: Sequence[Layer]) -> bool:
    """Whether the operator that sums over C is the last: it alone can go on from partial sums."""
    return not stages[-1].channelwise


def stage_spans(layer: Layer, spans: Spans) -> tuple[dict[Dim, tuple[int, int]], ...]:
    """What each stage computes, in iterations of its own loops, for a tile of a chain's outputs."""
    dims = channel_dims(layer.operators)
    rows, columns = spans[Dim.OY], spans[Dim.OX]
    found: list[dict[Dim, tuple[int, int]]] = []
    for number in reversed(range(len(layer.operators))):
        stage = layer.operators[number]
        own = stage.spans | {Dim.OY: rows, Dim.OX: columns} | _channels(stage, dims[number : number + 2], spans)
        found.append(own)
        above, beside = input_axes(stage)
        rows, columns = above.span(*rows), beside.span(*columns)
    return tuple(reversed(found))


def _channels(stage: Layer, dims: Sequence[Dim | None], spans: Spans) -> dict[Dim, tuple[int, int]]:
    before, after = dims
    found = {Dim.K: spans[after]} if after else {}
    return found if stage.channelwise or not before else found | {Dim.C: spans[before]}
