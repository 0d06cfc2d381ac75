"""The tables of docs/ with what `benchmarks.control_core` counted and predicted last."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.command import read
from benchmarks.control_core.__main__ import FILE
from benchmarks.control_core.results import Network, Results

OPERATORS = (
    "| operator | layers | cycles, TVM's C | kernels | times fewer | instructions, TVM's C | kernels | times fewer |"
)
GAP9 = "| network on GAP9's core | TVM's C | kernels | times fewer |"
DIANA = "| network | `core` | TVM's C | `--rescale`, `core` | `--rescale`, TVM's C |"


def with_core(page: str) -> str:
    """The page, with those of these tables that it has."""
    results = read(FILE, Results)
    tables = {
        OPERATORS: (
            f"| {one.op} | {one.layers} | {_both(one.generated, one.kernels)} | "
            f"{_both(one.generated_instructions, one.kernel_instructions)} |"
            for one in results.operators
        ),
        GAP9: (
            f"| {one.network} | {_both(one.generated, one.kernels)} |"
            for one in results.networks
            if one.target == "gap9"
        ),
        DIANA: _diana(results.networks),
    }
    lines = page.split("\n")
    for header, rows in tables.items():
        if header in lines:
            first = lines.index(header) + 2
            lines[first : lines.index("", first)] = rows
    return "\n".join(lines)


def _both(generated: int, kernels: int) -> str:
    return f"{generated:,} | {kernels:,} | {generated / kernels:.1f}"


def _diana(networks: Iterable[Network]) -> Iterable[str]:
    """Networks as they are and rescaled, side by side."""
    on_diana = [one for one in networks if one.target == "diana"]
    for own, rescaled in zip(on_diana[::2], on_diana[1::2], strict=True):
        numbers = own.kernels, own.generated, rescaled.kernels, rescaled.generated
        yield f"| {own.network} | {' | '.join(f'{number:,}' for number in numbers)} |"
