"""``python -m benchmarks.numerics``: what a chip's requantization does to whole networks, as a table in Markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import run
from benchmarks.models import Models, models_folder
from benchmarks.numerics.compare import Comparison, compare_file, compare_made
from benchmarks.numerics.powers_of_two import Made

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
    models: Models = None,
    inputs: Annotated[int, typer.Option(min=1, help="Random inputs for each network.")] = 50,
) -> None:
    """Set the outputs of a chip's arithmetic beside those of each network's own."""
    folder = models_folder(models)
    print("| network | layers | on modules | inexact | outputs | differ | by steps | same class |")  # noqa: T201
    print("|---|--:|--:|--:|--:|--:|--:|--:|")  # noqa: T201
    for row in _rows(target, folder, inputs):
        share = f"{row.differing} ({100 * row.differing / row.outputs:.2g} %)" if row.differing else "0"
        cells = (row.network, row.layers, row.on_modules, row.inexact, row.outputs, share, row.largest_step)
        print(f"| {' | '.join(map(str, cells))} | {row.agreeing} of {row.inputs} |", flush=True)  # noqa: T201


def _rows(target: str, models: Path, inputs: int) -> Iterator[Comparison]:
    for file in _FILES:
        yield compare_file(models / file, target, inputs)
    for name in _MADE:
        yield compare_made(Made.of(name), target, inputs)


if __name__ == "__main__":
    run(main, "numerics", sys.argv[1:])
