"""Windows without what lies over the border, pooled part by part, in Relay of any layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from match.quantized.windows_inside import AlikeWindows
from match.relay import relay

Pool = Callable[[relay.Expr, tuple[int, int], tuple[int, int]], relay.Expr]
"""Pools a map without padding. Its arguments: the map, rows and columns of a window, rows and columns of a stride."""


def pooled_inside(x: relay.Expr, axes: Mapping[int, tuple[int, Sequence[AlikeWindows]]], pool: Pool) -> relay.Expr:
    """Pool each part of a map, and join the results: along columns, then along rows.

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
