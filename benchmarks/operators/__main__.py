"""``python -m benchmarks.operators``: every architecture, quantized by onnxruntime and by `match quantize`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.command import Output, run, write
from benchmarks.operators.results import Results, Row, grid
from benchmarks.operators.shares import measure, measure_file
from match.files.output import check_file

RECURRENT = ("gru_keywords-1.0-98", "crnn-1.0-128")
"""Networks that are compiled with --quantize-recurrent in any case."""

NETWORKS = (
    "mobilenet_v1-0.25-96",
    "mobilenet_v2-0.35-96",
    "resnet8",
    "squeezenet-0.5-64",
    "ghostnet-0.5-64",
    "shufflenet_v2-0.5-64",
    "efficientnet_b0-0.35-64",
    "mobilenet_v3_small-0.5-64",
    "densenet-1.0-32",
    "unet-0.125-64",
    "tiny_yolo-0.25-96",
    "regnet-0.5-64",
    "deeplab-0.25-96",
    "ssd-0.25-96",
    "super_resolution-0.5-64",
    "unet_transposed-0.125-64",
    "tcn-1.0-256",
    "ecg-0.25-1024",
    *RECURRENT,
    "vit-0.34-64",
    "mlp_mixer-0.25-64",
    "convnext-0.125-64",
)

FILE = Path(__file__).with_name("predicted.json")
"""What was predicted last, with `TYPES`: the documentation has it."""

TYPES = "uint8,float"
"""The types of activations."""


def main(
    network: Annotated[str, typer.Option(metavar="A,B", help="Names of the zoo, or files.")] = ",".join(NETWORKS),
    activations: Annotated[
        str, typer.Option(metavar="A,B", help="Types of activations; float: `match quantize`s.")
    ] = TYPES,
    target: Annotated[str, typer.Option(metavar="NAME", help="The chip; see `match targets`.")] = "gap9",
    numerics: Annotated[str, typer.Option(metavar="NAME", help="As of `match compile`.")] = "hardware",
    compare: Annotated[bool, typer.Option("--compare", help="Run each beside its reference, on one input.")] = False,
    quantize_recurrent: Annotated[
        bool, typer.Option("--quantize-recurrent", help="As of `match compile`; for networks with LSTM or GRU.")
    ] = False,
    output: Output = None,
) -> None:
    """Compile architectures of the zoo, or files, and print where their predicted cycles are."""
    check_file(output)
    rows: list[Row] = []
    for name in network.split(","):
        file = name.endswith((".onnx", ".tflite"))
        for kind in [""] if file else activations.split(","):
            sys.stderr.write(f"{name} {kind}".rstrip() + "\n")
            if file:
                rows.append(measure_file(Path(name), target, numerics, compare=compare))
            else:
                recurrent = quantize_recurrent or name in RECURRENT
                row = measure(name, kind, target, numerics, compare=compare, quantize_recurrent=recurrent)
                rows.append(row)
            write(Results(rows=tuple(rows)), output)  # what is there already outlives an interruption
    Console(width=None if Console().is_terminal else 200).print(grid(rows))


if __name__ == "__main__":
    run(main, "operators", sys.argv[1:])
