"""What the benchmark writes, as types and as a table."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich import box
from rich.table import Table

CPU = "cpu"
EXTERNAL = "external memory"
_SHOWN = 4


class Rest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Operators of one kind on the control core: how many, their share of all cycles, and why no module has them.

    `refusals` are the modules' reasons, each once; empty where no module knows the operator.
    """

    op: str
    count: int
    share: float
    refusals: tuple[str, ...]


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A network; cycles and shares are predicted.

    activations: of the zoo's network; empty for a file, which has its own. quantize_recurrent: as of `match compile`.
    shares: of all cycles, by unit, and of transfers from external memory that no layer hides.
    rest: what is on the control core, the largest share first.
    inexact: operators that are not known to compute the reference's numbers, of `operators` in all.
    differing: of how many outputs those of the C are not the reference's, null where that was not asked for.
    refused: why the network does not compile; then the rest is empty.
    """

    network: str
    activations: str = ""
    quantize_recurrent: bool = False
    cycles: int = 0
    shares: dict[str, float] = {}
    rest: tuple[Rest, ...] = ()
    operators: int = 0
    inexact: int = 0
    outputs: int = 0
    differing: int | None = None
    seconds: float = 0.0
    refused: str | None = None


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All networks, in the order in which they were asked for."""

    rows: tuple[Row, ...]


def grid(rows: Sequence[Row]) -> Table:
    """A row for each network."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("network", no_wrap=True)
    table.add_column("activations")
    for header in ("Mcycles", "control core", "modules", "inexact", "outputs off", "seconds"):
        table.add_column(header, justify="right")
    table.add_column("on the control core", overflow="fold")
    for row in rows:
        if row.refused is not None:
            table.add_row(row.network, row.activations, "", "", "", "", "", f"{row.seconds:.1f}", row.refused)
            continue
        modules = ", ".join(f"{unit} {share:.0%}" for unit, share in row.shares.items() if unit != CPU)
        off = "" if row.differing is None else f"{row.differing} of {row.outputs}"
        largest = "; ".join(
            f"{rest.op} {rest.share:.1%}" + (f" ({rest.refusals[0]})" if rest.refusals else "")
            for rest in row.rest[:_SHOWN]
        )
        table.add_row(
            row.network,
            row.activations,
            f"{row.cycles / 1e6:.3f}",
            f"{row.shares.get(CPU, 0.0):.1%}",
            modules,
            f"{row.inexact} of {row.operators}",
            off,
            f"{row.seconds:.1f}",
            largest,
        )
    return table
