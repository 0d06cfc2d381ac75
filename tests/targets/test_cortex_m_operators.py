"""Constants of Cortex-M kernels have the bytes that their operands say, and kernels the names that match_arm.h has."""

from __future__ import annotations

import re

import numpy as np
import pytest

from match.ir.attributes import ChannelGroups
from match.ir.constants import Filters, LayerConstants
from match.ir.layer import Dim, Layer, Op, Role
from match.ir.requantization import Requantization, Requantizer
from match.target.tile_constants import INT32, INT64
from match.targets.cortex_m.operators import FORMS, LONG_SIGNED, WORDS, Kernels
from tests.kernels.toolchain import PACKAGE

pytestmark = pytest.mark.unit

HEADER = (PACKAGE / "kernels" / "cortex_m" / "match_arm.h").read_text(encoding="utf-8")
PROTOTYPES = frozenset(re.findall(r"void (\w+)\(const match_tile_t", HEADER))


def layer_of(op: Op, rng: np.random.Generator) -> Layer:
    """A layer of odd sizes."""
    k, c, fy, fx = (int(size) for size in rng.integers(1, 20, 4))
    if op is Op.DENSE:
        return Layer("", op, k=k, c=c, oy=1, ox=1, iy=1, ix=1)
    each = int(rng.integers(1, 6)) if op is Op.GROUPED_CONV2D else 1
    depth = 1 if op in (Op.DEPTHWISE_CONV2D, Op.AVG_POOL2D) else c
    groups = ChannelGroups(each)
    return Layer("", op, k=k, c=depth, oy=1, ox=1, iy=fy, ix=fx, fy=fy, fx=fx, attributes=groups)


def constants_of(layer: Layer, rng: np.random.Generator) -> LayerConstants:
    """Random ones, of a line with addends."""
    count = layer.output_channels
    addend = rng.integers(-1000, 1000, count)
    multiplier = rng.integers(1, 2**31 - 1, count)
    bias = addend * multiplier + (rng.integers(-1000, 1000, count) << 32)
    line = Requantization(multiplier, bias, np.full(count, 40), (0, 255), addend=addend)
    weights = rng.integers(-128, 128, (count, layer.fy, layer.fx, layer.c), np.int8)
    return LayerConstants(None if layer.op is Op.AVG_POOL2D else Filters(weights), line)


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("form", [WORDS, LONG_SIGNED], ids=lambda form: form.name)
@pytest.mark.parametrize("op", [op for op, forms in FORMS.items() if WORDS in forms])
def test_packed_constants_have_the_bytes_of_their_operand(op: Op, form: Requantizer, vectors: bool) -> None:
    rng = np.random.default_rng(1)
    kernels = Kernels(vectors)
    for _ in range(30):
        layer = layer_of(op, rng)
        (operand,) = (one for one in kernels.operands(layer, form) if one.role is Role.CONSTANT)
        constants = constants_of(layer, rng)
        packed = kernels.pack(layer, form, constants, layer.spans)
        sizes = [part.element_bytes * int(np.prod([axis.room for axis in part.axes])) for part in operand.components]
        assert [len(part) for part in packed] == sizes
        half = -(-layer.k // 16) * 8  # of whole groups of channels
        spans = (0, min(half, layer.k)), (half, layer.k - half)
        parts = [kernels.pack(layer, form, constants, {**layer.spans, Dim.K: span}) for span in spans if span[1] > 0]
        assert tuple(map(b"".join, zip(*parts, strict=True))) == packed


@pytest.mark.parametrize("vectors", [False, True])
def test_kernels_have_prototypes(vectors: bool) -> None:
    rng = np.random.default_rng(2)
    for op, forms in {**FORMS, Op.MAX_POOL2D: (None,), Op.LOOKUP: (None,)}.items():
        for form in forms:
            assert Kernels(vectors).kernel(layer_of(op, rng), form) in PROTOTYPES
    rows = Layer("", Op.DENSE, k=3, c=4, oy=1, ox=2, iy=1, ix=2)
    assert Kernels(vectors).kernel(rows, WORDS).endswith("_dense_rows")


def test_additions_take_standard_forms() -> None:
    assert FORMS[Op.ADD] == (INT32, INT64)
