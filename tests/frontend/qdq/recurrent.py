"""Recurrent parts of quantized networks, which onnxruntime computes in floating point."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.frontend.qdq.part import Part, added_to
from tests.passes.trained_models import TrainedModel

PARTS: dict[str, Part] = {}
part = partial(added_to, PARTS)

UNITS = 5


def layer(model: TrainedModel, kind: str, gates: int, ways: int = 1, **attributes: int | str) -> None:
    features, rows = model.shape[2], gates * UNITS
    shapes = (ways, rows, features), (ways, rows, UNITS), (ways, 2 * rows)
    numbers = [model.constant(model.rng.normal(0, 0.5, shape).astype(np.float32)) for shape in shapes]
    model.add(kind, *numbers, hidden_size=UNITS, **attributes)


@part(4, 3, 6, scale=0.01)
def lstm(model: TrainedModel) -> None:
    layer(model, "LSTM", 4)


@part(4, 3, 6, scale=0.01)
def lstm_of_both_directions(model: TrainedModel) -> None:
    layer(model, "LSTM", 4, 2, direction="bidirectional")


@part(4, 3, 6, scale=0.01)
def gru(model: TrainedModel) -> None:
    layer(model, "GRU", 3, linear_before_reset=1)


@part(4, 3, 6, scale=0.01)
def gru_backwards_that_resets_first(model: TrainedModel) -> None:
    layer(model, "GRU", 3, direction="reverse")
