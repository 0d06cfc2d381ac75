"""SOFTMAX and LOG_SOFTMAX of real numbers inside quantized networks: near TFLite Micro's, and not called exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from match.frontend.tflite import from_tflite
from match.ir.layer import Op
from match.partitioning.pattern import Core, Match
from match.passes.pipeline import integer_network
from tests.partitioning.listed import rows_of
from tests.passes.one_operator import references
from tests.passes.running import executable
from tests.passes.tflite_models import Micro
from tests.tflite.case import File, Network

pytestmark = pytest.mark.tvm

SHAPE = (1, 6, 11)


def network(name: str, steps: tuple[float, int] | None, **options: Any) -> File:
    """An operator of real numbers behind DEQUANTIZE, whose outputs are quantized in `steps`, if there are some."""
    written = Network()
    x = written.input(SHAPE, (0.11, 3))
    real = written.apply("DEQUANTIZE", [x], written.tensor(SHAPE, None, "float32"))
    kind = "SoftmaxOptions" if name == "SOFTMAX" else "LogSoftmaxOptions"
    result = written.apply(name, [real], written.tensor(SHAPE, None, "float32"), kind, **options)
    if steps is not None:
        written.apply("QUANTIZE", [result], written.tensor(SHAPE, steps))
    numbers = [number for number, _ in written.inputs]
    data = written.model.build(numbers, list(written.outputs))
    return File(data, tuple(given for _, given in written.inputs), (name,))


def outputs(file: File) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any]]:
    """The network in integer form, its outputs for some samples, and those of TFLite Micro."""
    module = integer_network(from_tflite(file.data, Path("real.tflite")), "uint8")
    run, reference = executable(module), Micro(file.data, 1)
    (samples,) = file.samples(6).values()
    (name,) = [given.name for given in file.inputs]
    found = np.stack([run({name: sample})[0] for sample in samples])
    return module, found, np.stack([reference(sample)[0] for sample in samples])


@pytest.mark.parametrize("levels", [256, 255.9, 130.4])
def test_quantized_probabilities_are_within_one_step(levels: float) -> None:
    """Also in the steps of the kernel of 8 bits, whose integers are others than those of real numbers."""
    file = network("SOFTMAX", (1 / levels, -128), beta=1.0)
    module, found, expected = outputs(file)
    assert references(module, Op.SOFTMAX) == [False]
    assert len(np.unique(expected)) > 20
    assert np.abs(found.astype(int) - expected.astype(int)).max() <= 1


@pytest.mark.parametrize(("name", "options"), [("SOFTMAX", {"beta": 0.7}), ("LOG_SOFTMAX", {})])
def test_real_numbers_are_near(name: str, options: dict[str, float]) -> None:
    module, found, expected = outputs(network(name, None, **options))
    listed = rows_of(module)
    layers = [one.reference for one in listed if isinstance(one, Match)]
    assert not all([*layers, *(value.exact for one in listed if isinstance(one, Core) for value in one.covered)])
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


def test_quantized_logarithms_are_within_one_step() -> None:
    _, found, expected = outputs(network("LOG_SOFTMAX", (0.04, 126)))
    assert len(np.unique(expected)) > 40
    assert np.abs(found.astype(int) - expected.astype(int)).max() <= 1
