"""Changed model files give a network or a sentence, and nothing else."""

from __future__ import annotations

import pytest

from tests.mutated_models.processes import checked
from tests.seeds import seeded

pytestmark = pytest.mark.tvm

KINDS = ("tflite", "variables", "onnx", "integer")
EACH_RUN, SWEPT = 12, 100
"""Files that a test reads one after the other, in each run and in the sweep."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_or_a_sentence(kind: str) -> None:
    assert [result for result in checked(kind, range(EACH_RUN)) if result.wrong] == []


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
@seeded(0, 10)
def test_swept(kind: str, seed: int) -> None:
    first = EACH_RUN + seed * SWEPT
    assert [result for result in checked(kind, range(first, first + SWEPT)) if result.wrong] == []
