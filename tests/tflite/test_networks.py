"""Networks from TensorFlow's converter (convert.py) against TFLite Micro, byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.passes.tflite_models import Micro, schema
from tests.tflite.assisted import Assisted
from tests.tflite.case import Input
from tests.tflite.compare import Arrays, compare, difference, in_c

pytestmark = pytest.mark.cc

FOLDER = Path(__file__).parent / "networks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.tflite"))

# Networks that TFLite Micro refuses, and the first operator that it has no int8 kernel for.
REFUSED = {"convnext": "GELU", "mixer": "GELU", "more_activations": "GELU", "yolo": "TILE"}
ASSISTED = ("convnext", "mixer", "yolo")

# These take a second or two each; the others are in the slow tier.
QUICK = ("autoencoder", "eegnet", "keyword_spotting", "resnet_int16", "squeezenet", "super_resolution")


def read(name: str) -> tuple[bytes, Arrays, tuple[str, ...]]:
    """A network's file, samples of its inputs and the names of its outputs."""
    data = (FOLDER / f"{name}.tflite").read_bytes()
    graph = schema.ModelT.InitFromPackedBuf(data, 0).subgraphs[0]
    rng = np.random.default_rng(1)
    inputs = [graph.tensors[index] for index in graph.inputs]
    limits = np.iinfo("int16" if name.endswith("_int16") else "int8")
    given = [Input(own.name.decode(), tuple(own.shape), str(limits.dtype), limits.min, limits.max) for own in inputs]
    samples = {one.name: one.samples(rng, 8) for one in given}
    return data, samples, tuple(graph.tensors[index].name.decode() for index in graph.outputs)


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.sweep) for name in NAMES if name not in REFUSED],
)
def test_generated_c(tmp_path: Path, name: str) -> None:
    data, samples, labels = read(name)
    compare(data, tmp_path / f"{name}.tflite", samples, labels, in_c)


@pytest.mark.parametrize("name", REFUSED)
def test_tflite_micro_refuses(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """These networks need another reference for as long as TFLite Micro has no kernel."""
    data, _, labels = read(name)
    with pytest.raises(RuntimeError):
        Micro(data, len(labels))
    assert REFUSED[name] in capfd.readouterr().err


@pytest.mark.sweep
@pytest.mark.parametrize("name", ASSISTED)
def test_with_operators_in_numpy(tmp_path: Path, name: str) -> None:
    """TFLite's own kernels are no reference for these: in products they round once, TFLite Micro's twice."""
    data, samples, labels = read(name)
    compare(data, tmp_path / f"{name}.tflite", samples, labels, in_c, Assisted(data))


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.npz")))
def test_against_tflite_reference_kernels(name: str) -> None:
    """What TFLite's reference kernels made of the inputs in the .npz file beside the network."""
    _, samples, labels = read(name)
    arrays = np.load(FOLDER / f"{name}.npz")
    given = {tensor: arrays[f"input{number}"] for number, tensor in enumerate(samples)}
    found = in_c(FOLDER / f"{name}.tflite", given)
    wrong = [
        f"{label}: {difference(arrays[f'output{number}'], found[number])}"
        for number, label in enumerate(labels)
        if arrays[f"output{number}"].tobytes() != found[number].tobytes()
    ]
    assert not wrong, "\n".join(wrong)
