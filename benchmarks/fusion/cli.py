"""The command of the benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from benchmarks.fusion.picture import draw
from benchmarks.fusion.published import CLOCK_HZ, L1_SIZES, PUBLISHED
from benchmarks.fusion.results import CHOICES, Results, chosen_by, measure
from match.errors import OptionError
from match.files.output import check_file, check_folder, whole_file

FILES = tuple(Path(__file__).with_name(f"predicted{waits}.json") for waits in ("", "_blocking"))
"""Predicted last with 36,700 bytes of L1, for a table of docs/: transfers beside kernels, and waited for."""

NETWORKS = ",".join(PUBLISHED)
SIZES = ",".join(map(str, L1_SIZES))

Networks = Annotated[str, typer.Option("--network", metavar="A,B", help="Some of the networks.")]
Sizes = Annotated[str, typer.Option("--l1", metavar="A,B", help="Sizes of L1 in bytes.")]
Blocking = Annotated[bool, typer.Option("--blocking", help="Wait for each transfer, as the paper's deployment does.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write all rows as JSON.")]
Pictures = Annotated[Path | None, typer.Option("--pictures", metavar="DIR", help="Write a picture for each network.")]


def table(
    network: Networks = NETWORKS,
    l1: Sizes = SIZES,
    blocking: Blocking = False,
    output: Output = None,
    pictures: Pictures = None,
) -> None:
    """Predict networks on GAP8 layer by layer, fused for least latency, and fused for least bytes.

    Published figures are those of the same networks on GAP8, arXiv 2406.12478.
    """
    names = network.split(",")
    unknown = [name for name in names if name not in PUBLISHED]
    if unknown:
        raise OptionError(f"there is no network {unknown[0]!r}; choose some of {', '.join(PUBLISHED)}.")
    if not all(size.isdecimal() and int(size) for size in l1.split(",")):
        raise OptionError(f"the sizes of L1 are numbers of bytes, separated by commas, not {l1!r}; give 36700,65536.")
    sizes = [int(size) for size in l1.split(",")]
    check_file(output)
    check_folder(pictures)
    results = Results(tuple(row for name in names for size in sizes for row in measure(name, size, blocking=blocking)))
    typer.echo(
        "network | L1 | choice | Mcycles | ms | published | kB of activations | published | kB in all | L2 kB | groups"
    )
    for (name, size, _), rows in chosen_by(results).items():
        figures = PUBLISHED[name]
        for place, choice in enumerate(CHOICES):
            row = rows[choice]
            cells = (
                *(name, str(size), choice, f"{row.cycles / 1e6:.3f}", f"{1e3 * row.cycles / CLOCK_HZ:.2f}"),
                f"{figures.cycles[place] / 1e6:.3f}",
                *(f"{row.activation_bytes / 1e3:.1f}", f"{figures.activation_bytes[place] / 1e3:.1f}"),
                *(f"{row.moved_bytes / 1e3:.1f}", f"{row.l2_peak_bytes / 1e3:.1f}", str(len(row.groups))),
            )
            typer.echo(" | ".join(cells))
        bounds = rows["unfused"]
        typer.echo(
            f"{name}: each tensor once {bounds.once_bytes / 1e3:.1f} kB, in pairs {bounds.pairs_bytes / 1e3:.1f}, "
            f"in chains {bounds.chains_bytes / 1e3:.1f}"
        )
    if output is not None:
        _write(output, msgspec.json.format(msgspec.json.encode(results), indent=2))
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
        for (name, size, _), rows in chosen_by(results).items():
            _write(pictures / f"{name}-{size}.svg", draw([rows[choice] for choice in CHOICES]).encode())


def _write(path: Path, content: bytes) -> None:
    with whole_file(path) as unfinished:
        unfinished.write_bytes(content)
