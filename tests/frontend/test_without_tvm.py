"""TFLite files are read as the graph where TVM is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.without_tvm import output_without_tvm

pytestmark = pytest.mark.unit

NETWORK = Path(__file__).resolve().parents[1] / "tflite" / "networks" / "resnet.tflite"

PROGRAM = """
import sys
from match.frontend import load
from match.graph.text import text
print(text(load(sys.argv[1]).network))
"""


def test_a_file_is_read() -> None:
    written = output_without_tvm(PROGRAM, NETWORK)
    assert written.startswith("v0: int8[1, 32, 32, 3] = input(")
    assert "= convolution(v0, " in written
