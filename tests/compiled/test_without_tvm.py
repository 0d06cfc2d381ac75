"""TFLite files are read, rewritten, chosen for and predicted where TVM is not installed, with the same result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import match

pytestmark = pytest.mark.tvm

NETWORKS = Path(__file__).resolve().parents[1] / "tflite" / "networks"

PROGRAM = """
import json
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tvm":
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
import match
report = match.predict(sys.argv[1], sys.argv[2], cache=False, jobs=1)
print(json.dumps([[layer.name, layer.module, layer.cycles, layer.exact] for layer in report.layers]))
"""


@pytest.mark.parametrize(("network", "target"), [("resnet", "gap9"), ("vit", "gap8"), ("shufflenet", "diana")])
def test_a_network_is_predicted(network: str, target: str) -> None:
    path = NETWORKS / f"{network}.tflite"
    run = subprocess.run([sys.executable, "-c", PROGRAM, path, target], capture_output=True, text=True, check=True)
    report = match.predict(path, target, cache=False, jobs=1)
    assert json.loads(run.stdout) == [[layer.name, layer.module, layer.cycles, layer.exact] for layer in report.layers]
