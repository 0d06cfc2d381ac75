"""What NumPy predicts of a network with its modules' requantizations is what its C computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import match
from match.graph.evaluate import evaluate
from match.run.samples import random_arrays
from match.validation.in_numpy import MOST_SAMPLES, in_forms, moved_outputs

pytestmark = pytest.mark.cc


@pytest.mark.parametrize(
    ("name", "target"),
    [("pretrainedResnet_quant", "gap9"), ("ad01_int8", "gap9"), ("kws_ref_model", "gap9"), ("vww_96_int8", "diana")],
)
def test_outputs(name: str, target: str, models_dir: Path) -> None:
    """Byte by byte; what the report says of them is counted again from the C and from the network's integers."""
    compiled = match.compile(models_dir / f"{name}.tflite", target)
    network, moved = in_forms(compiled.partitioned), compiled.report.moved_outputs
    apart: list[Any] = []
    for seed in range(MOST_SAMPLES):
        arrays = random_arrays(compiled.inputs, seed)
        given = list(arrays.values())
        (found,) = compiled.run(arrays).values()
        (own,), (predicted,) = evaluate(network.own, given), evaluate(network.graph, given)
        assert np.array_equal(found, predicted)
        apart.append(np.abs(found.astype(np.int64) - own))
    if moved is None:
        assert not np.any(apart)
    else:
        (output,) = moved.outputs
        assert (output.differing, output.largest) == (np.count_nonzero(apart), np.max(apart))
        assert output.elements == np.size(apart)
    again = moved_outputs(compiled.partitioned, compiled.inputs, compiled.outputs)
    assert again == moved
