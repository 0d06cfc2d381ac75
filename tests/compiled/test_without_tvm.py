"""Files are predicted without TVM, and compiled if modules take all of them, with the same result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

import match
from match import zoo
from tests.frontend.test_integer_onnx import Network, nemo, quantlab
from tests.without_tvm import output_without_tvm

pytestmark = pytest.mark.tvm

NETWORKS = Path(__file__).resolve().parents[1] / "tflite" / "networks"

PREDICTED = """
import json
import sys
import match
report = match.predict(sys.argv[1], sys.argv[2], cache=False, jobs=1)
print(json.dumps([[layer.name, layer.module, layer.cycles, layer.exact] for layer in report.layers]))
"""

COMPILED = """
import sys
import match
match.compile(sys.argv[1], sys.argv[3], cache=False, jobs=1).save(sys.argv[2])
"""


@pytest.mark.parametrize(("network", "target"), [("resnet", "gap9"), ("vit", "gap8"), ("shufflenet", "diana")])
def test_a_network_is_predicted(network: str, target: str) -> None:
    path = NETWORKS / f"{network}.tflite"
    report = match.predict(path, target, cache=False, jobs=1)
    expected = [[layer.name, layer.module, layer.cycles, layer.exact] for layer in report.layers]
    assert json.loads(output_without_tvm(PREDICTED, path, target)) == expected


@pytest.mark.parametrize(("network", "target"), [("resnet8", "gap9"), ("ds_cnn", "diana")])
def test_an_onnx_network_is_predicted(network: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / f"{network}.onnx"
    onnx.save(zoo.build(network), path)
    report = match.predict(path, target, cache=False, jobs=1)
    expected = [[layer.name, layer.module, layer.cycles, layer.exact] for layer in report.layers]
    assert json.loads(output_without_tvm(PREDICTED, path, target)) == expected


@pytest.mark.parametrize("network", [nemo, quantlab])
def test_a_network_of_integers_is_predicted(network: Callable[[], Network], tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    onnx.save(network().model(), path)
    report = match.predict(path, "gap9", cache=False, jobs=1)
    expected = [[layer.name, layer.module, layer.cycles, layer.exact] for layer in report.layers]
    assert any(layer.module != "cpu" for layer in report.layers)
    assert json.loads(output_without_tvm(PREDICTED, path, "gap9")) == expected


@pytest.mark.parametrize(
    ("network", "target"), [("autoencoder", "gap9"), ("keyword_spotting", "diana"), ("resnet", "gap8")]
)
def test_what_modules_take_is_compiled(network: str, target: str, tmp_path: Path) -> None:
    """Softmax, too, by the control core's kernels."""
    path = NETWORKS / f"{network}.tflite"
    output_without_tvm(COMPILED, path, tmp_path / "without", target)
    match.compile(path, target, cache=False, jobs=1).save(tmp_path / "with")
    sources = [file.relative_to(tmp_path / "with") for file in (tmp_path / "with").rglob("*.[ch]")]
    assert len(sources) > 20
    assert all((tmp_path / "with" / one).read_bytes() == (tmp_path / "without" / one).read_bytes() for one in sources)
