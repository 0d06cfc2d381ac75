"""Programs that run in a process of their own, where TVM is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tvm":
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
"""


def output_without_tvm(program: str, *arguments: str | Path) -> str:
    """What a program prints; `arguments` are its ``sys.argv[1:]``."""
    command = [sys.executable, "-c", _ABSENT + program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
