"""``python -m benchmarks.counted``: whole networks on one core's RTL and, where it is installed, on GVSoC."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from benchmarks import command
from benchmarks.counted.count import HARDWARE, PLATFORMS, count, platforms
from benchmarks.counted.results import Layer, Results, by_kind, by_network, encoded, joined
from benchmarks.counted.table import summary
from benchmarks.counted.text import texts
from match.errors import InputError, MatchError, OptionError
from match.files.output import check_file, whole_file

FILE = Path(__file__).with_name("counted.json")
"""What was counted last: tests hold predictions against it, and the documentation has its sums."""

NETWORKS = (
    *("resnet8", "ds_cnn", "autoencoder", "mobilenet_v1-0.25-96", "squeezenet-0.5-64"),
    *("mobilenet_v3_small-0.5-64", "shufflenet_v2-0.5-64", "unet-0.125-64", "tiny_yolo-0.25-96", "regnet-0.5-64"),
)


def read(path: Path) -> Results:
    """The results of an earlier run; empty ones where there is no file.

    Raises:
        InputError: the file is none of this benchmark's.
    """
    if not path.exists():
        return Results(layers=(), texts=())
    try:
        return msgspec.json.decode(path.read_bytes(), type=Results)
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(f"{path} is no result of this benchmark: {error}; name another file by --last.") from error


def main(
    network: Annotated[str, typer.Option(metavar="A,B", help="Names of the zoo, or files.")] = ",".join(NETWORKS),
    on: Annotated[str, typer.Option(metavar="A,B", help="rtl, gvsoc. [default: those that are installed]")] = "",
    numerics: Annotated[str, typer.Option(metavar="NAME", help="As of `match compile`.")] = HARDWARE,
    module: Annotated[str, typer.Option(metavar="NAME", help="One module alone, layer by layer.")] = "",
    apart: Annotated[bool, typer.Option("--apart", help="Layer by layer, on all modules.")] = False,
    text: Annotated[bool, typer.Option("--text", help="Bytes of the kernels' instructions, too.")] = False,
    last: Annotated[Path, typer.Option(metavar="X.json", help="Results to compare with.")] = FILE,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="X.json", help="Write here, joined to the last ones.")
    ] = None,
) -> None:
    """Count whole networks layer by layer, beside what is predicted, and say what moved since the last run."""
    chosen = [name.strip() for name in on.split(",")] if on else platforms()
    for platform in chosen:
        if platform not in PLATFORMS:
            raise OptionError(f"there is no platform {platform!r}; choose one of: {', '.join(PLATFORMS)}.")
    check_file(output)
    before = read(last)
    known = before.layers
    layers: list[Layer] = []
    for platform in chosen:
        for name in filter(None, network.split(",")):
            sys.stderr.write(f"{name} on {platform}\n")
            try:
                layers += count(name.strip(), platform, numerics, module, apart=apart)
            except OptionError:
                raise
            except MatchError as error:  # the others are worth their while
                sys.stderr.write(f"{error}\n")
    console = Console(width=None if Console().is_terminal else 140)
    console.print(summary(("platform", "unit", "kind"), layers, known, by_kind))
    console.print(summary(("platform", "network"), layers, known, by_network))
    if output is not None:
        results = Results(layers=joined(known, layers), texts=texts() if text else before.texts)
        with whole_file(output) as unfinished:
            unfinished.write_bytes(encoded(results))


if __name__ == "__main__":
    command.run(main, "counted", sys.argv[1:])
