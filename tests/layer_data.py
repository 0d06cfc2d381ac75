"""A layer's constants, of the kind that a test expects."""

from __future__ import annotations

from typing import TypeVar

from match.ir.constants import LayerConstants

_Kind = TypeVar("_Kind")


def data_of(constants: LayerConstants, kind: type[_Kind]) -> _Kind:
    data = constants.data
    assert isinstance(data, kind)
    return data
