"""What stays TVM's C is a function for each operator, and none keeps a tensor in 64 bits beside its output."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

import match
from tests.sampled import sampled

pytestmark = pytest.mark.tvm

FOLDER = Path(__file__).resolve().parents[1] / "tflite" / "networks"
NETWORKS = sorted(FOLDER.glob("*.tflite"))
FUNCTION = re.compile(r"^static int32_t (\w+)\(([^)]*)\) \{$", re.MULTILINE)
KEPT = re.compile(r"int64_t\* (?!input|constants|output)\w+")
CASES = [*itertools.product((path.stem for path in NETWORKS), ("cortex_m4", "gap9")), ("lstm", "diana")]
EACH_RUN = {("vit", "cortex_m4"), ("efficientnet_int16", "gap9"), ("lstm", "diana")}


def kept(path: Path, target: str, modules: tuple[str, ...] | None, place: Path) -> tuple[int, list[str]]:
    """How many functions TVM made of a network, and those that are given memory for numbers of 64 bits."""
    compiled = match.compile(path, target, modules=modules, numerics="exact", output=place)
    functions = FUNCTION.findall((place / "src" / "network.c").read_text())
    named = {name for name, _ in functions}
    assert len(named) == len(functions)
    assert named <= {layer.name for layer in compiled.report.layers if layer.module == "cpu"}
    return len(functions), [name for name, parameters in functions if KEPT.search(parameters)]


@pytest.mark.parametrize(("network", "target"), sampled(CASES, EACH_RUN))
def test_no_operator_keeps_numbers_of_64_bits(network: str, target: str, tmp_path: Path) -> None:
    assert kept(FOLDER / f"{network}.tflite", target, None, tmp_path / "project")[1] == []


def test_such_memory_is_seen(tmp_path: Path) -> None:
    """A depthwise layer keeps its sums so, if TVM has to compute it."""
    count, found = kept(FOLDER / "mobilenet_v1.tflite", "cortex_m4", (), tmp_path / "project")
    assert count > len(found) > 0
