"""Pooling that leaves padding out, as pooling without: parts of the map whose windows are alike, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from match.relay import relay

Pool = Callable[[relay.Expr, tuple[int, int], tuple[int, int]], relay.Expr]
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


def pooled_inside(x: relay.Expr, axes: Mapping[int, tuple[int, Sequence[AlikeWindows]]], pool: Pool) -> relay.Expr:
    """The parts of a map, each pooled and put in its place: of rows, then of columns.

    `axes` has the extents and the parts by the number of the axis.
    """
    (row_axis, (rows, row_parts)), (column_axis, (columns, column_parts)) = axes.items()
    pooled_rows: list[relay.Expr] = []
    for row in row_parts:
        across = _cut(x, row_axis, rows, row)
        pooled = [
            pool(_cut(across, column_axis, columns, column), (row.size, column.size), (row.stride, column.stride))
            for column in column_parts
        ]
        pooled_rows.append(_joined(pooled, column_axis))
    return _joined(pooled_rows, row_axis)


def _cut(x: relay.Expr, axis: int, extent: int, part: AlikeWindows) -> relay.Expr:
    if (part.begin, part.end) == (0, extent):
        return x
    return relay.strided_slice(x, [part.begin], [part.end], axes=[axis])


def _joined(parts: Sequence[relay.Expr], axis: int) -> relay.Expr:
    return parts[0] if len(parts) == 1 else relay.concatenate(list(parts), axis)
