"""References of networks with state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from match.frontend import load
from match.validation.references import reference
from tests.tflite.case import Network
from tests.tflite.cases.recurrent import lstm

pytestmark = pytest.mark.cc


def test_state_is_zero_before_each_sample(tmp_path: Path) -> None:
    """Outputs of a sample are the same, whatever came before."""
    network = Network()
    lstm(network, "UNIDIRECTIONAL_SEQUENCE_LSTM", size=3, units=4, steps=2)
    path = tmp_path / "lstm.tflite"
    path.write_bytes(network.model.build([number for number, _ in network.inputs], list(network.outputs)))
    _, run = reference(load(path))
    first, other = (np.random.default_rng(seed).integers(-128, 128, (1, 2, 3)).astype(np.int8) for seed in (1, 2))
    (expected,), (between,), (again,) = run([first]), run([other]), run([first])
    assert np.array_equal(again, expected)
    assert not np.array_equal(between, expected)
