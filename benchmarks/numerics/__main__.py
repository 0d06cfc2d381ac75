"""``python -m benchmarks.numerics``: what a chip's requantization does to whole networks, as a table in Markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import onnx
import typer
from onnx import numpy_helper

from benchmarks.numerics.compare import Comparison, compare
from benchmarks.numerics.powers_of_two import build
from match.cli import execute

_FILES = (
    "pretrainedResnet_quant.tflite",
    "vww_96_int8.tflite",
    "kws_ref_model.tflite",
    "ad01_int8.tflite",
    "keyword_spotting.onnx",
    "visual_wake_words.onnx",
    "anomaly_detection.onnx",
)
_MADE = ("resnet8", "ds_cnn", "autoencoder")


def main(
    target: Annotated[str, typer.Argument(help="An installed target.")] = "diana",
    models: Annotated[Path, typer.Option(envvar="MATCH_MODELS", help="Folder of the model files.")] = Path(
        "../shared/models"
    ),
    inputs: Annotated[int, typer.Option(min=1, help="Random inputs for each network.")] = 50,
) -> None:
    """Set the outputs of a chip's arithmetic beside those of each network's own."""
    print("| network | layers | on modules | inexact | outputs | differ | by steps | same class |")  # noqa: T201
    print("|---|--:|--:|--:|--:|--:|--:|--:|")  # noqa: T201
    for row in _rows(target, models, inputs):
        share = f"{row.differing} ({100 * row.differing / row.outputs:.2g} %)" if row.differing else "0"
        cells = (row.network, row.layers, row.on_modules, row.inexact, row.outputs, share, row.largest_step)
        print(f"| {' | '.join(map(str, cells))} | {row.agreeing} of {row.inputs} |", flush=True)  # noqa: T201


def _rows(target: str, models: Path, inputs: int) -> Iterator[Comparison]:
    for file in _FILES:
        yield compare(file, models / file, target, inputs, 1.0)
    for name in _MADE:
        proto = build(name)
        yield compare(f"{name}, powers of two", proto, target, inputs, _output_scale(proto))


def _output_scale(proto: onnx.ModelProto) -> float:
    """What a step of the output is worth: the scale of the operator that dequantizes it."""
    last = next(node for node in proto.graph.node if node.output[0] == proto.graph.output[0].name)
    (scale,) = (tensor for tensor in proto.graph.initializer if tensor.name == last.input[1])
    return float(numpy_helper.to_array(scale))


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    command.command()(main)
    return command


if __name__ == "__main__":
    execute(app(), "python -m benchmarks.numerics", sys.argv[1:])
