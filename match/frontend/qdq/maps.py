"""Maps of ONNX, which have channels first (N, C, H, W), as the graph's, which have channels last (N, H, W, C).

Sequences (N, C, W) are maps of one row.
"""

from __future__ import annotations

from collections.abc import Sequence

from match.graph.make import reshaped
from match.graph.maps import TO_LAST
from match.graph.value import Value
from match.ir.layer import Padding


def as_map(x: Value) -> Value:
    """A map of ONNX, or a sequence as one."""
    return x if len(x.shape) == len(TO_LAST) else reshaped(x, (*x.shape[:2], 1, *x.shape[2:]))


def like(map_: Value, x: Value) -> Value:
    """A map of ONNX as a sequence where another tensor is one."""
    return map_ if len(x.shape) == len(TO_LAST) else reshaped(map_, (*map_.shape[:2], map_.shape[3]))


def sides(numbers: Sequence[int] | None, other: int) -> tuple[int, int]:
    """The number for rows and the number for columns.

    A map has two `numbers`, a sequence has one, for its columns. `other` is used for each that is missing.
    """
    rows, columns = ([other] * 2 if numbers is None else [other, *numbers])[-2:]
    return rows, columns


def padding_of(pads: Sequence[int] | None) -> Padding:
    """Pads before and after the axes of a map, or of a sequence."""
    before, after = (None, None) if pads is None else (pads[: len(pads) // 2], pads[len(pads) // 2 :])
    (top, left), (bottom, right) = sides(before, 0), sides(after, 0)
    return Padding(top, left, bottom, right)
