"""What the command line does with the zoo: a table of its networks, and a file of one."""

from __future__ import annotations

from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from match.devtools.zoo import build
from match.devtools.zoo.networks import named, names
from match.files.output import whole_file


def show_networks(console: Console) -> None:
    """Print a table of the networks."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("network")
    for header in ("input", "outputs", "MACs", "weights"):
        table.add_column(header, justify="right")
    for name in names():
        network = named(name)
        shape = "x".join(map(str, network.input.shape))
        table.add_row(name, shape, f"{network.output.shape[0]}", f"{network.macs:,}", f"{network.weights:,}")
    console.print(table)


def write_network(name: str, path: Path, classes: int | None, *, quantized: bool = True) -> None:
    """Write a network as an ONNX file, whole or not at all; not `quantized`, it is float.

    Raises:
        OptionError: there is no such network, or no such number of classes.
        OutputError: the file cannot be written.
    """
    data = build(name, classes=classes, quantized=quantized).SerializeToString()
    with whole_file(path) as unfinished:
        unfinished.write_bytes(data)
