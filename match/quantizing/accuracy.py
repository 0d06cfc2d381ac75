"""Outputs of one way to compute a network beside those of the float model, and the classes that they give."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from match.compilation.stopwatch import Progress, unheard
from match.errors import InputError
from match.quantizing.samples import Samples
from match.quantizing.schema import Run, RunSummary
from match.validation.confidence import wilson

Array = npt.NDArray[Any]
Outputs = Sequence[Array]
"""Each output tensor with an axis of samples in front."""


def check_labels(name: str, real: Outputs, labels: Array | None, what: str) -> None:
    """Raise InputError if a model does not give each sample scores of the classes that its labels have.

    Args:
        name: of the model.
        real: what it computes.
        labels: the classes; none: nothing is asked.
        what: the samples are called.
    """
    if labels is None:
        return
    if len(real) != 1:
        raise InputError(f"labels need a network with one output; {name} has {len(real)}.")
    largest, scores = int(labels.max(initial=0)), _scores(real)
    if largest >= scores:
        raise InputError(
            f"labels of {what} have {largest}, and {name} gives {scores} scores; give whole numbers from 0 to "
            f"{scores - 1}."
        )


def computed(
    run: Callable[[Mapping[str, Array]], Sequence[Array]], samples: Samples, progress: Progress = unheard
) -> list[Array]:
    """The outputs for all samples; `run` computes one, and `progress` is told how many are done."""
    results: list[Sequence[Array]] = []
    for index in range(samples.count):
        progress(f"{index} of {samples.count}")
        results.append(run({name: array[index] for name, array in samples.inputs.items()}))
    return [np.stack(tensors) for tensors in zip(*results, strict=True)]


def summary(run: Run, outputs: Outputs, real: Outputs, labels: Array | None) -> RunSummary:
    """What outputs are worth beside the float model's."""
    given = classes(outputs)
    agreeing = int(np.sum(given == classes(real))) if len(outputs) == 1 and given is not None else None
    if labels is None or given is None:
        return RunSummary(run, sqnr(real, outputs), agreeing)
    right = int(np.sum(given == labels))
    counts = np.zeros((_scores(outputs), _scores(outputs)), np.int64)
    np.add.at(counts, (labels, given), 1)
    confusion = tuple(tuple(map(int, row)) for row in counts)
    return RunSummary(run, sqnr(real, outputs), agreeing, right, wilson(right, len(labels)), confusion)


def classes(outputs: Outputs) -> Array | None:
    """The largest score of each sample; None with several outputs, or one number."""
    if len(outputs) != 1 or _scores(outputs) < 2:
        return None
    return outputs[0].reshape(len(outputs[0]), -1).argmax(axis=1)


def _scores(outputs: Outputs) -> int:
    return math.prod(outputs[0].shape[1:])


def sqnr(real: Outputs, outputs: Outputs) -> float | None:
    """The power of real tensors over that of their differences from others, in dB; None where nothing differs."""
    signal = sum(float(np.sum(np.square(tensor, dtype=np.float64))) for tensor in real)
    noise = sum(
        float(np.sum(np.square(tensor.astype(np.float64) - other.reshape(tensor.shape))))
        for tensor, other in zip(real, outputs, strict=True)
    )
    return decibels(signal, noise)


def decibels(signal: float, noise: float) -> float | None:
    """The ratio of two powers in dB, at most -200 where there is no signal; None without noise."""
    if not noise:
        return None
    return 10 * math.log10(signal / noise) if signal else -200.0
