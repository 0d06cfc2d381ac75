"""Runs TFLite files through MATCH and TFLite Micro and compares all bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import match
from match.frontend import load
from match.graph.evaluate import evaluate
from match.graph.value import Graph
from match.passes.pipeline import integer_network
from tests.passes.running import executable
from tests.passes.tflite_models import Micro

Arrays = Mapping[str, npt.NDArray[Any]]
Run = Callable[[Path, Arrays], list[npt.NDArray[Any]]]
"""Outputs of the network in a file for the samples along the first axis of each input, in the order of the file."""

TARGET = "gap9"


def in_c(path: Path, samples: Arrays) -> list[npt.NDArray[Any]]:
    """The generated C on this machine, in which every layer claims to be exact."""
    compiled = match.compile(path, target=TARGET, numerics="exact")
    assert [layer.name for layer in compiled.report.layers if not layer.exact] == []
    outputs = compiled.run(samples)
    return [outputs[tensor.name] for tensor in compiled.report.model.outputs]


def in_numpy(path: Path, samples: Arrays) -> list[npt.NDArray[Any]]:
    """The graph of the file's operators, as their classes compute it."""
    graph = load(path).network
    assert isinstance(graph, Graph)
    count = len(next(iter(samples.values())))
    given = [[samples[x.source][sample] for x in graph.inputs] for sample in range(count)]
    return [np.stack(values) for values in zip(*(evaluate(graph, one) for one in given), strict=True)]


def in_relay(path: Path, samples: Arrays) -> list[npt.NDArray[Any]]:
    """The network in integer form, compiled by TVM alone for this machine."""
    run = executable(integer_network(load(path), match.get_target(TARGET).activations))
    count = len(next(iter(samples.values())))
    outputs = [run({name: values[index] for name, values in samples.items()}) for index in range(count)]
    return [np.stack(values) for values in zip(*outputs, strict=True)]


def compare(
    data: bytes,
    path: Path,
    samples: Arrays,
    labels: tuple[str, ...],
    run: Run,
    reference: Callable[..., list[npt.NDArray[Any]]] | None = None,
) -> None:
    """Fails if a byte of any output differs from TFLite Micro's; names each output that does by its label.

    `reference` gives the outputs for one sample where TFLite Micro needs help.
    """
    path.write_bytes(data)
    reference = Micro(data, len(labels)) if reference is None else reference
    count = len(next(iter(samples.values())))
    expected = [
        np.stack(values)
        for values in zip(*(reference(*(values[i] for values in samples.values())) for i in range(count)), strict=True)
    ]
    wrong = [
        f"{label}: {difference(one, other)}"
        for label, one, other in zip(labels, expected, run(path, samples), strict=True)
        if one.dtype != other.dtype or one.tobytes() != other.tobytes()
    ]
    assert not wrong, "\n".join(["not TFLite Micro's outputs:", *wrong])


def difference(expected: npt.NDArray[Any], found: npt.NDArray[Any]) -> str:
    """How many elements of an output differ, and by how much."""
    if expected.dtype != found.dtype or expected.size != found.size:
        return f"{found.dtype}{list(found.shape)} instead of {expected.dtype}{list(expected.shape)}"
    wide = np.float64 if expected.dtype == np.float32 else np.int64
    distance = np.abs(expected.reshape(-1).astype(wide) - found.reshape(-1).astype(wide))
    worst = int(distance.argmax())
    values = f"{found.reshape(-1)[worst]} instead of {expected.reshape(-1)[worst]}"
    return f"{np.count_nonzero(distance)} of {distance.size} differ, at most {values}"
