"""Every network on every chip at every size of L1: deployed, inside its memories, and the integers of the reference.

What falls to the control core has a reason: a module refuses it, or it is cheaper there.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import match
from match.dispatch.plan import CPU, LayerDecision
from tests.e2e import tflite_network
from tests.frontend import integer_reference
from tests.sampled import sampled

pytestmark = pytest.mark.cc

TFLITE = ("pretrainedResnet_quant", "vww_96_int8", "kws_ref_model", "ad01_int8")
INTEGER_ONNX = ("keyword_spotting", "visual_wake_words", "anomaly_detection")
CHIPS = (
    ("gap9", ("cluster",)),
    ("gap9", ("cluster", "ne16")),
    ("gap9", ("ne16",)),
    ("gap8", ("cluster",)),
    ("diana", ("digital",)),
)
SIZES = (None, 64, 32, 24, 16, 12, 8)
"""In kB; None: the chip's own."""

SAMPLED = {
    ("kws_ref_model", "gap9", ("cluster", "ne16"), 8),
    ("anomaly_detection", "gap9", ("cluster",), 8),
    ("keyword_spotting", "gap8", ("cluster",), 12),
    ("keyword_spotting", "diana", ("digital",), None),
}
WITHOUT_MODULE = {
    # Small ones are cheaper on the core than sent to the cluster; vww_96_int8 averages 22 channels for two outputs.
    "cluster": {"avg_pool2d", "dense"},
    "ne16": {"add", "avg_pool2d", "conv2d", "dense", "lookup", "max_pool2d"},  # it convolves, 3x3 and 1x1
}
LARGEST_ON_CORE = 1000
"""Multiply-accumulates of a layer that a cluster leaves to the core."""

CELLS = sampled(((name, *chip, size) for name in (*TFLITE, *INTEGER_ONNX) for chip in CHIPS for size in SIZES), SAMPLED)


@cache
def referenced(path: Path, count: int) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[Any]]:
    """Random inputs by name, and the outputs that TFLite Micro, or the definition of integer ONNX, has for them."""
    rng = np.random.default_rng(5)
    if path.suffix == ".tflite":
        network = tflite_network.read(path)
        tensor = network.tensors[network.input]
        samples = rng.integers(-128, 128, (count, *tensor.shape)).astype(np.int8)
        return {tensor.name: samples}, tflite_network.run_micro(path, samples)
    proto = onnx.load(path)
    (given,) = proto.graph.input
    shape = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
    samples = rng.integers(0, 256, (count, *shape)).astype(np.uint8)
    runs = (integer_reference.run(proto, {given.name: sample}) for sample in samples)
    return {given.name: samples}, np.stack([next(iter(outputs.values())) for outputs in runs])


def reason(layer: LayerDecision) -> str:
    """Why no module has a layer, from what it was offered."""
    refusals = [candidate.refusal for candidate in layer.candidates if candidate.module != CPU]
    return "; ".join(refusal or "costs less on the control core" for refusal in refusals)


@pytest.mark.parametrize(("name", "chip", "modules", "size"), CELLS)
def test_networks_fit_and_compute_the_same(
    name: str, chip: str, modules: tuple[str, ...], size: int | None, models_dir: Path
) -> None:
    path = models_dir / f"{name}.{'tflite' if name in TFLITE else 'onnx'}"
    inputs, expected = referenced(path, 50 if size is None else 3)
    compiled = match.compile(path, chip, modules=modules, l1=size * 1024 if size else None, numerics="exact")
    (outputs,) = compiled.run(inputs, sanitize=True).values()
    assert np.count_nonzero(outputs != expected) == 0
    left = [layer for layer in compiled.layers if layer.module == CPU and len(layer.candidates) > 1]
    assert all(reason(layer) for layer in left)
    for module in modules:
        if module in WITHOUT_MODULE and len(modules) == 1:
            assert {layer.op for layer in left} <= WITHOUT_MODULE[module], [reason(layer) for layer in left]
    if "cluster" in modules:
        assert all(layer.macs <= LARGEST_ON_CORE for layer in left), [(layer.name, reason(layer)) for layer in left]
