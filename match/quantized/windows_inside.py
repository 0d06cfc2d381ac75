"""Pooling that leaves padding out, as pooling without: parts of the map whose windows are alike, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from match.graph.make import concatenated, cut
from match.graph.value import Value

Pool = Callable[[Value, tuple[int, int], tuple[int, int]], Value]
"""Pools a map without padding. Its arguments: the map, rows and columns of a window, rows and columns of a stride."""


@dataclass(frozen=True)
class AlikeWindows:
    """Outputs that follow one another along an axis, whose windows of `size` inputs lie between `begin` and `end`."""

    begin: int
    end: int
    size: int
    stride: int


def alike_windows(extent: int, window: int, stride: int, before: int, outputs: int) -> Sequence[AlikeWindows] | None:
    """The outputs along an axis with `before` elements of padding; None if a window has nothing of the input."""
    parts: list[AlikeWindows] = []
    for output in range(outputs):
        start = output * stride - before
        begin, end = max(start, 0), min(start + window, extent)
        if begin >= end:
            return None
        last = parts[-1] if parts else None
        if last and last.size == end - begin and begin == last.end - last.size + stride:
            parts[-1] = AlikeWindows(last.begin, end, last.size, stride)
        else:
            parts.append(AlikeWindows(begin, end, end - begin, stride))
    if parts and extent - parts[-1].end < stride:  # no further window fits there, so that it may stay
        parts[-1] = replace(parts[-1], end=extent)
    return parts


def pooled_inside(x: Value, axes: Mapping[int, Sequence[AlikeWindows]], pool: Pool) -> Value:
    """Pool each part of a map, and join the results: along columns, then along rows.

    `axes` has the parts by the number of the axis.
    """
    (row_axis, row_parts), (column_axis, column_parts) = axes.items()
    pooled_rows: list[Value] = []
    for row in row_parts:
        across = cut(x, row_axis, row.begin, row.end)
        pooled = [
            pool(cut(across, column_axis, part.begin, part.end), (row.size, part.size), (row.stride, part.stride))
            for part in column_parts
        ]
        pooled_rows.append(concatenated(pooled, column_axis))
    return concatenated(pooled_rows, row_axis)
