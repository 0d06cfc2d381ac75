"""The networks: what the compiler finds in a model, as workloads without TVM objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from benchmarks.models import models_folder
from match import zoo
from match.dispatch.request import Workload
from match.errors import OptionError
from match.frontend import Model, load

MLPERF_TINY: Mapping[str, str] = {
    "mobilenet": "vww_96_int8.tflite",
    "resnet": "pretrainedResnet_quant.tflite",
    "ds-cnn": "kws_ref_model.tflite",
    "auto-encoder": "ad01_int8.tflite",
}
"""File names of the MLPerf Tiny reference models."""

ZOO = ("mobilenet_v1-1.0-128", "mobilenet_v2-0.25-128")
"""Networks of `match.zoo` that are measured where none is asked for; all of them can be."""

MODEL_FILES = (".tflite", ".onnx")
"""Suffixes of files that front ends read."""


@dataclass(frozen=True, eq=False)
class Network:
    """A name, and the layers that modules can be asked for, in the order of execution and named by operator and place.

    What else the network computes is left out: it costs the same with every engine.
    """

    name: str
    workloads: tuple[Workload, ...]


def read(name: str, activations: Literal["uint8"] | None) -> Network:
    """The layers of a network, see `model_of`.

    `activations` is the type that the target wants 8-bit activations in, None for the model's own.
    """
    return of_model(Path(name).stem if Path(name).suffix in MODEL_FILES else name, model_of(name), activations)


def model_of(name: str) -> Model:
    """A network of `MLPERF_TINY` or of `match.zoo`, or the one in a .tflite or .onnx file, named with its suffix.

    Raises:
        OptionError: if there is no such network, or no folder of models.
        ModelError: if the file cannot be read.
    """
    if name in MLPERF_TINY:
        return load(models_folder() / MLPERF_TINY[name])
    if Path(name).suffix in MODEL_FILES:
        return load(name)
    if name in zoo.names():
        return load(zoo.build(name))
    known = ", ".join((*MLPERF_TINY, *zoo.names()))
    raise OptionError(f"network {name!r} is unknown; give a model file or one of: {known}.")


def of_model(name: str, model: Model, activations: Literal["uint8"] | None) -> Network:
    """The layers of a network that a front end read."""
    from match.partitioning.pattern import Match, find_layers
    from match.partitioning.pattern.rows import rows
    from match.passes.pipeline import integer_network

    graph = integer_network(model, activations)
    workloads = tuple(
        Workload(replace(row.layer, name=f"{row.layer.op}_{index}"), row.constants, row.accumulator, "")
        for index, row in enumerate(rows(graph, find_layers(graph)))
        if isinstance(row, Match)
    )
    return Network(name, workloads)
