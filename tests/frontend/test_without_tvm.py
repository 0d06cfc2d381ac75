"""TFLite files are read as the graph where TVM is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

NETWORK = Path(__file__).resolve().parents[1] / "tflite" / "networks" / "resnet.tflite"

PROGRAM = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tvm":
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
from match.frontend import load
from match.graph.text import text
print(text(load(sys.argv[1]).network))
"""


def test_a_file_is_read() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM, str(NETWORK)], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("v0: int8[1, 32, 32, 3] = input(")
    assert "= convolution(v0, " in run.stdout
