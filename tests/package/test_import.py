"""`import match` is quick because it loads nothing that is slow."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.cc

HEAVY = ("tvm", "numpy", "onnx", "tflite", "zigzag", "ortools", "onnxruntime", "typer", "rich", "mako", "msgspec")


def test_import_loads_no_dependency() -> None:
    code = f"import sys, match; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_public_names_can_be_used() -> None:
    code = "import match; print(all(getattr(match, name) for name in match.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
