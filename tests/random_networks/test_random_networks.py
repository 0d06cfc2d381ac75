"""Random whole networks: their C against their integer form, and against TFLite Micro or onnxruntime."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from tests.random_networks.check import CORES, Outcome, check, on_core
from tests.sampled import sampled
from tests.seeds import seeded

pytestmark = pytest.mark.cc

KINDS = ("tflite", "onnx")
EACH_RUN = range(2)


@pytest.mark.parametrize("kind", KINDS)
def test_most_networks_are_compared(tmp_path: Path, kind: str) -> None:
    """None fails, and few are refused."""
    results = [check(kind, seed, tmp_path) for seed in EACH_RUN]
    assert [result for result in results if result.outcome is Outcome.FAILED] == []
    counts = Counter(result.outcome for result in results)
    assert counts[Outcome.REFUSED] < len(results) / 2


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
@seeded(0, 150)
def test_swept(tmp_path: Path, kind: str, seed: int) -> None:
    """A network that is refused is none that fails; the sentences are printed by `python -m tests.random_networks`."""
    result = check(kind, len(EACH_RUN) + seed, tmp_path)
    assert result.outcome is not Outcome.FAILED, f"{result.said}\n{result.asked}\n{' '.join(result.network.operators)}"


CASES = list(itertools.product(range(100), CORES))


@pytest.mark.usefixtures("qemu_arm")
@pytest.mark.parametrize(("seed", "core"), sampled(CASES, {(0, "cortex_m7"), (3, "cortex_m55")}))
def test_cores_compute_what_tflite_micro_does(tmp_path: Path, seed: int, core: str) -> None:
    """With exact numerics, on a PC and under QEMU."""
    result = check("tflite", seed, tmp_path, on_core(core))
    assert result.outcome is not Outcome.FAILED, f"{result.said}\n{' '.join(result.network.operators)}"
