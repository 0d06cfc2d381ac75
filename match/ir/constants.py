"""The constants of a layer, as the network has them: what a module's `pack` makes bytes of.

Beside a requantization, which every layer may have, they are one record, by what the kernel reads. Tables are indexed
by bytes as unsigned numbers. Structures are those of match_tile.h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from match.ir.float_average import FloatAverage
from match.ir.float_border import FloatQuantization
from match.ir.requantization import Requantization

LOOKUP_SUM_FRACTION = 20
"""Bits after the point of what a sum of lookups and an absolute difference add up (match_pulp.h)."""

LOOKUP_LINE_FRACTION = 15
"""Bits after the point of the lines that a tensor's values choose (match_pulp.h).

Lines as steep as a whole range of outputs in one step, times 255 steps, still fit 32 bits.
"""


@dataclass(frozen=True, eq=False)
class Normalization:
    """What rows of n elements are normalized with (match_normalize_t).

    spread: epsilon as ``epsilon * (n / scale)**2`` with 8 bits after the point, at least 1.
    gains: int16, shape (n,).
    centre: the value of the input that distances are from, as it is stored; None for a row's mean.
    """

    spread: int
    gains: npt.NDArray[np.int16]
    centre: int | None = None


@dataclass(frozen=True, eq=False)
class Filters:
    """int8, shape (K, FY, FX, C) or, of channelwise operators, (K, FY, FX, 1)."""

    values: npt.NDArray[np.int8]


class Addends(NamedTuple):
    """What multiplies both inputs of an addition.

    The requantization of their sum has one channel, whose multiplier is 1 in the network's own constants.
    """

    input: int
    addend: int


class ZeroPoints(NamedTuple):
    """What is subtracted from both inputs of a product, whose requantization has one channel."""

    input: int
    addend: int


@dataclass(frozen=True, eq=False)
class Entries:
    """An array that each kernel call reads whole."""

    entries: npt.NDArray[Any]


class Table(Entries):
    """An output for each byte: uint8 or float32, shape (256,)."""


class InputTables(Entries):
    """An output for each byte of each input: uint8, shape (2, 256)."""


class Steps(Entries):
    """Both inputs of a squared difference in steps of one size, by their bytes: int16, shape (2, 256)."""


class Summands(Entries):
    """What each byte of each input adds to a sum, int32, shape (2, 256), in steps of ``2**-LOOKUP_SUM_FRACTION``."""


class Lines(Entries):
    """Slopes and biases that each byte of the second input chooses for the first one.

    int32, shape (2, 256), in steps of ``2**-LOOKUP_LINE_FRACTION``.
    """


class GatheredColumns(Entries):
    """For each output column the input's, or -1 for padding: int32, shape (columns,)."""


@dataclass(frozen=True, eq=False)
class Structure(Entries):
    """A C structure by its name, as int32 words; those of a module's own operator are its bytes."""

    name: str


@dataclass(frozen=True, eq=False)
class ChannelEntries:
    """An array with a row for each output channel."""

    entries: npt.NDArray[Any]


class ChannelTables(ChannelEntries):
    """An output for each byte: uint8, shape (K, 256)."""


class ChannelLines(ChannelEntries):
    """match_dequantize_t as int32 words, shape (K, 3)."""


@dataclass(frozen=True, eq=False)
class Cells:
    """What recurrent layers have: a structure for all units, and the bytes of one of each, int8, shape (K, bytes)."""

    layer: Structure
    units: npt.NDArray[np.int8]


class Positions(NamedTuple):
    """The inputs that each output row and each output column of a resize lies between.

    int32, shapes (rows, 3) and (columns, 3): the input below and the one above, and this one's weight in 1/1024.
    """

    rows: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]


Data = (
    Filters
    | Addends
    | ZeroPoints
    | Entries
    | ChannelEntries
    | Cells
    | Positions
    | Normalization
    | FloatQuantization
    | FloatAverage
)

_Kind = TypeVar("_Kind")


@dataclass(frozen=True, eq=False)
class LayerConstants:
    """Constants of a layer.

    requantization: from the int32 accumulator to the output.
    data: the other constants of the operator.
    """

    data: Data | None = None
    requantization: Requantization | None = None

    def get(self, kind: type[_Kind]) -> _Kind | None:
        """The operator's constants, if they are of a kind."""
        return self.data if isinstance(self.data, kind) else None
