"""Tables of docs/ with where the cycles of the zoo's architectures are, as `benchmarks.operators` predicted last."""

from __future__ import annotations

import msgspec

from benchmarks.operators.__main__ import FILE
from benchmarks.operators.results import CPU, EXTERNAL, Results, Row

HEADER = "| network | Mcycles | control core | what is left there |"
_LEAST = 0.0005
"""The share of cycles that is told."""


def rows() -> tuple[Row, ...]:
    """All that was predicted, in order."""
    return msgspec.json.decode(FILE.read_bytes(), type=Results).rows


def with_architectures(page: str, activations: str) -> str:
    """The page with the rows of one kind of activations."""
    lines = page.split("\n")
    first = lines.index(HEADER) + 2
    lines[first : lines.index("", first)] = [_line(row) for row in rows() if row.activations == activations]
    return "\n".join(lines)


def _line(row: Row) -> str:
    if row.refused is not None:
        raise ValueError(f"{row.network}, {row.activations}: {row.refused}")
    network = f"{row.network}, `--quantize-recurrent`" if row.quantize_recurrent else row.network
    left = [rest.op for rest in row.rest if rest.share >= _LEAST]
    waits = row.shares.get(EXTERNAL, 0.0)
    if waits >= _LEAST:
        left.append(f"({_percent(waits)} wait for external memory)")
    cells = (network, f"{row.cycles / 1e6:.2f}", _percent(row.shares.get(CPU, 0.0)), ", ".join(left))
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")
