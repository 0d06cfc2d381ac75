"""More memory never costs cycles."""

from __future__ import annotations

import math
from itertools import pairwise, product
from pathlib import Path

import onnx
import pytest

import match
from match.devtools import zoo
from match.errors import CapacityError

pytestmark = pytest.mark.cc

L1 = (32_768, 65_536, 118_784)
FRACTIONS = (0.5, 0.7, 0.85, 1.2)
"""Sizes that are tried, as shares of the main memory that a network takes as a whole."""

ZOO = (
    "autoencoder",
    "ds_cnn",
    "resnet8",
    "mobilenet_v1-0.25-96",
    "mobilenet_v1-0.25-128",
    "mobilenet_v2-0.35-96",
    "mobilenet_v2-0.25-128",
)
FILES = ("kws_ref_model", "pretrainedResnet_quant", "vww_96_int8")
QUICK = ("resnet8", "autoencoder")

KNOWN = {"mobilenet_v1-0.25-128": [((32_768, 584_704), (65_536, 584_704))]}
"""Where more L1 costs cycles, 0.2 %: other chains than those with the most constants would have to be left out."""


def model_of(name: str, request: pytest.FixtureRequest) -> Path | onnx.ModelProto:
    if name in ZOO:
        return zoo.build(name)
    folder: Path = request.getfixturevalue("models_dir")
    return folder / f"{name}.tflite"


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.sweep) for name in (*ZOO, *FILES)]
)
def test_more_memory_never_costs_cycles(name: str, request: pytest.FixtureRequest) -> None:
    """A network that main memory holds in part, with an L1 that has room beside it."""
    model = model_of(name, request)
    whole = match.compile(model, "gap9", l2=1 << 26).report.totals.l2_peak_bytes
    sizes = [int(whole * fraction) // 1024 * 1024 for fraction in FRACTIONS]
    found: dict[tuple[int, int], float] = {}
    for l1, l2 in product(L1, sizes):
        if l1 < 0.8 * l2:
            try:
                found[l1, l2] = match.compile(model, "gap9", l1=l1, l2=l2).report.totals.cycles
            except CapacityError:
                found[l1, l2] = math.inf
    assert any(math.isfinite(cycles) for cycles in found.values())
    grown = [((a, l2), (b, l2)) for a, b in pairwise(L1) for l2 in sizes]
    grown += [((l1, a), (l1, b)) for a, b in pairwise(sizes) for l1 in L1]
    costly = [(less, more) for less, more in grown if less in found and more in found and found[more] > found[less]]
    assert costly == KNOWN.get(name, [])
    assert all(found[more] < 1.005 * found[less] for less, more in costly)
