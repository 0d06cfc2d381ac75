"""What the benchmark writes, as types and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from rich import box
from rich.table import Table


class LayerCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Layers that are counted together, mostly one: where they run, their MACs, instructions of both ways."""

    layers: tuple[str, ...]
    module: str
    macs: int
    instructions: int
    tvm_instructions: int

    @property
    def ratio(self) -> float:
        """How many times fewer instructions than TVM's C."""
        return self.tvm_instructions / self.instructions


class NetworkCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One inference; totals are over all layers, `command` is how the programs were called."""

    network: str
    layers: tuple[LayerCount, ...]
    instructions: int
    tvm_instructions: int
    command: str


class Results(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All networks on one platform of a target; `flags` is all that code is compiled with."""

    target: str
    platform: str
    compiler: str
    flags: str
    networks: tuple[NetworkCount, ...]
    schema_version: int = 1


def table(networks: Sequence[NetworkCount]) -> Table:
    """A row for each layer and one for each network."""
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in ("network", "layer", "module"):
        grid.add_column(header, no_wrap=True)
    for header in ("MACs", "TVM's C", "kernels", "times fewer", "MACs/instr."):
        grid.add_column(header, justify="right", no_wrap=True)
    for network in networks:
        for row in _rows(network):
            grid.add_row(*row)
        grid.add_section()
    return grid


def _rows(network: NetworkCount) -> Iterator[tuple[str, ...]]:
    for layer in network.layers:
        yield (network.network, _name(layer.layers), layer.module, *_figures(layer))
    total = LayerCount(
        ("all",),
        "",
        sum(layer.macs for layer in network.layers),
        network.instructions,
        network.tvm_instructions,
    )
    yield (network.network, "all", "", *_figures(total))


def _name(layers: Sequence[str]) -> str:
    """The layers by name; of what TVM fuses only the end."""
    return ", ".join(name if len(name) <= 24 else f"...{name[-21:]}" for name in layers)


def _figures(layer: LayerCount) -> tuple[str, str, str, str, str]:
    return (
        f"{layer.macs:,}" if layer.macs else "",
        f"{layer.tvm_instructions:,}",
        f"{layer.instructions:,}",
        f"{layer.ratio:.2f}",
        f"{layer.macs / layer.instructions:.3f}" if layer.macs else "",
    )
