"""The published cells, as types over cells.toml."""

from __future__ import annotations

from pathlib import Path

import msgspec

CELLS = Path(__file__).with_name("cells.toml")


class Convolution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One convolution: channels in, filters (channels out), rows and columns of a square map, and of the filter."""

    channels: int
    filters: int
    size: int
    filter: int


class Network(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a network comes from: exactly one of a model file, a function of match.zoo, a single convolution."""

    file: str | None = None
    zoo: str | None = None
    arguments: dict[str, int | float] = {}
    convolution: Convolution | None = None


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `tool` measured on `modules` of a target (none: its control core), in exactly one of three units.

    `l1`: bytes of scratchpad in place of the target's own. `rescale`: the network's scales were powers of two, so that
    requantization is a shift. `source`: where it was published. `remark`: what else there is to know before it is
    compared.
    """

    tool: str
    target: str
    modules: tuple[str, ...]
    network: str
    source: str
    milliseconds: float | None = None
    cycles: float | None = None
    macs_per_cycle: float | None = None
    l1: int | None = None
    rescale: bool = False
    remark: str = ""


class Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in cells.toml; the cells name the networks."""

    networks: dict[str, Network]
    cells: tuple[Cell, ...]


def published() -> Published:
    """Read cells.toml."""
    return msgspec.toml.decode(CELLS.read_bytes(), type=Published)
