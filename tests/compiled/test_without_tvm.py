"""TFLite files are predicted without TVM, and compiled if modules take all of them, with the same result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import match

pytestmark = pytest.mark.tvm

NETWORKS = Path(__file__).resolve().parents[1] / "tflite" / "networks"

ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tvm":
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
"""

PREDICTED = """
import json
import match
report = match.predict(sys.argv[1], sys.argv[2], cache=False, jobs=1)
print(json.dumps([[layer.name, layer.module, layer.cycles, layer.exact] for layer in report.layers]))
"""

COMPILED = """
import match
match.compile(sys.argv[1], "gap9", cache=False, jobs=1).save(sys.argv[2])
"""


def output_of(program: str, *arguments: str | Path) -> str:
    command = [sys.executable, "-c", ABSENT + program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("network", "target"), [("resnet", "gap9"), ("vit", "gap8"), ("shufflenet", "diana")])
def test_a_network_is_predicted(network: str, target: str) -> None:
    path = NETWORKS / f"{network}.tflite"
    report = match.predict(path, target, cache=False, jobs=1)
    expected = [[layer.name, layer.module, layer.cycles, layer.exact] for layer in report.layers]
    assert json.loads(output_of(PREDICTED, path, target)) == expected


def test_what_modules_take_is_compiled(tmp_path: Path) -> None:
    path = NETWORKS / "autoencoder.tflite"
    output_of(COMPILED, path, tmp_path / "without")
    match.compile(path, "gap9", cache=False, jobs=1).save(tmp_path / "with")
    sources = [file.relative_to(tmp_path / "with") for file in (tmp_path / "with").rglob("*.[ch]")]
    assert len(sources) > 20
    assert all((tmp_path / "with" / one).read_bytes() == (tmp_path / "without" / one).read_bytes() for one in sources)
