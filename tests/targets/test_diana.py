"""DIANA: what its module takes and refuses, and that operands, packing, kernels and C agree with each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import match
from match.ir.attributes import Broadcast
from match.ir.constants import Filters, LayerConstants
from match.ir.layer import Dim, Layer, Op, Padding, Role
from match.ir.requantization import Requantization
from match.mapping.memory import component_bytes
from match.targets.diana.digital import SHIFT, SHIFT_SUM, Digital
from match.targets.diana.memory import L1
from match.targets.diana.target import Diana

pytestmark = pytest.mark.cc

PACKAGE = Path(match.__file__).parent
CONV = Layer(
    "conv",
    Op.CONV2D,
    k=40,
    c=20,
    oy=8,
    ox=8,
    iy=8,
    ix=8,
    fy=3,
    fx=3,
    padding=Padding(1, 1, 1, 1),
    input_dtype="int8",
    output_dtype="int8",
    clip=(-128, 127),
)
DEPTHWISE = replace(CONV, op=Op.DEPTHWISE_CONV2D, c=1)
DENSE = replace(CONV, op=Op.DENSE, k=10, c=70, oy=1, ox=1, iy=1, ix=1, fy=1, fx=1, padding=Padding())
ADD = replace(CONV, op=Op.ADD, c=1, fy=1, fx=1, padding=Padding(), weight_dtype="")
EVERY = (CONV, DEPTHWISE, DENSE, ADD)


def variant(layer: Layer, **changes: Any) -> Layer:
    return replace(layer, **changes)


def refusal(layer: Layer) -> str | None:
    """Why the module refuses a layer; None if it takes it."""
    verdicts = [pattern.check(layer) for pattern in Digital().patterns() if pattern.op is layer.op]
    if not verdicts:
        return "no pattern"
    return None if verdicts[0].ok else verdicts[0].reason


@pytest.mark.parametrize("layer", EVERY, ids=lambda layer: layer.op)
def test_operators(layer: Layer) -> None:
    assert refusal(layer) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"fy": 7, "fx": 5, "padding": Padding(3, 2, 3, 2)},
        {"fy": 1, "fx": 1, "padding": Padding()},
        {"stride": (2, 2), "oy": 4, "ox": 4},
        {"padding": Padding(0, 0, 2, 2)},
        {"input_dtype": "uint8", "input_range": (0, 127), "output_dtype": "uint8", "clip": (0, 127)},
    ],
    ids=str,
)
def test_geometries(changes: dict[str, Any]) -> None:
    assert refusal(variant(CONV, **changes)) is None
    assert refusal(variant(DEPTHWISE, **changes)) is None


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (variant(CONV, input_dtype="uint8"), "its input is uint8 with values up to 255 and the accelerator's are int8"),
        (variant(DENSE, input_dtype="uint8", input_range=(0, 128)), "its input is uint8 with values up to 128"),
        (variant(ADD, output_dtype="uint8", clip=(0, 255)), "its output is uint8 with values up to 255"),
        (variant(ADD, attributes=Broadcast("pixel")), "one of its inputs has a single pixel or channel"),
        (variant(ADD, attributes=Broadcast("outer")), "one of its inputs has a single pixel or channel"),
        (variant(DENSE, c=131072), "131072 products"),
        (variant(CONV, fy=2), "2x3"),
        (variant(CONV, fx=9), "3x9"),
        (variant(CONV, stride=(2, 1), oy=4), "2x1"),
        (variant(CONV, stride=(3, 3), oy=3, ox=3), "3x3"),
        (variant(DEPTHWISE, dilation=(2, 2)), "dilation"),
        (variant(CONV, pad_value=-128), "its padding holds -128 and the accelerator pads with 0"),
        (variant(CONV, padding=Padding(3, 0, 0, 0)), "padding alone"),
        (variant(CONV, op=Op.MAX_POOL2D), "no pattern"),
        (variant(ADD, op=Op.LOOKUP), "no pattern"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_constraints_refuse_with_the_reason(layer: Layer, reason: str) -> None:
    assert reason in (refusal(layer) or "accepted")


def test_largest_sum_of_products_is_accepted() -> None:
    assert refusal(variant(DENSE, c=131071)) is None
    assert 131071 * 128 * 128 < 2**31 <= 131072 * 128 * 128


def test_every_constraint_says_what_it_is_about() -> None:
    for pattern in Digital().patterns():
        for constraint in pattern.constraints:
            assert (constraint.__doc__ or "").strip().endswith(".")


def test_sums_have_no_bias() -> None:
    unit = Digital()
    assert unit.forms(CONV) == unit.forms(DEPTHWISE) == unit.forms(DENSE) == (SHIFT,)
    assert unit.forms(ADD) == (SHIFT_SUM,)


@pytest.mark.parametrize("layer", [CONV, DEPTHWISE, DENSE, variant(DENSE, k=33, c=64)], ids=lambda layer: layer.op)
def test_packed_bytes_are_what_the_operand_declares(layer: Layer) -> None:
    unit = Digital()
    (constant,) = (operand for operand in unit.operands(layer, SHIFT) if operand.role is Role.CONSTANT)
    ones = np.ones(layer.k, np.int64)
    weights = np.zeros((layer.k, layer.fy, layer.fx, layer.c), np.int8)
    constants = LayerConstants(Filters(weights), Requantization(ones, ones, ones, layer.clip))
    full = layer.extents
    for k in (layer.k, min(layer.k, 16), 1):
        spans = {**{dim: (0, full[dim]) for dim in Dim}, Dim.K: (layer.k - k if k < 16 else 0, k)}
        packed = unit.pack(layer, SHIFT, constants, spans)
        assert [len(part) for part in packed] == [component_bytes(c, {**full, Dim.K: k}) for c in constant.components]


def test_additions_have_no_constants() -> None:
    assert [operand.name for operand in Digital().operands(ADD, SHIFT_SUM)] == ["input", "addend", "output"]


@pytest.mark.parametrize("layer", EVERY, ids=lambda layer: layer.op)
def test_kernels_exist(layer: Layer) -> None:
    header = (PACKAGE / "kernels" / "diana" / "match_diana.h").read_text()
    assert f"void {Digital().kernel(layer, SHIFT)}(const match_tile_t *tile);" in header


def test_memories() -> None:
    """256 kB of activations and 64 kB of weights in front of 512 kB; the host's are as large."""
    assert (L1.size, L1.rooms, Diana().main_memory.size) == (2**18, (("L1", 2**18), ("weights", 2**16)), 2**19)
    assert match.get_target("diana", l1=4096).host.defines == {
        "DIANA_L1_BYTES": "4096",
        "DIANA_WEIGHT_BYTES": "65536",
        "DIANA_L2_BYTES": "524288",
    }


def test_api_functions_and_host_files_exist() -> None:
    target = Diana()
    header = (PACKAGE / "targets/diana/include/match_diana_chip.h").read_text()
    api = Digital().scratchpad_api
    assert api
    functions = [target.api.open, target.api.close, target.api.allocate, target.api.free]
    functions += [api.platform.offload, api.memory.allocate, api.memory.free, api.memory.copy_in]
    functions += [api.memory.copy_out, api.sync.wait_transfer, api.sync.wait_compute, api.compute.start]
    for _, allocator in api.memory.private:
        functions += [allocator.allocate, allocator.free]
    for function in functions:
        assert f"{function}(" in header
    for path in (*target.host.sources, *target.host.include):
        assert (PACKAGE / path).exists()
    on_disk = {
        path.relative_to(PACKAGE).as_posix()
        for folder in ("kernels/diana", "targets/diana")
        for path in (PACKAGE / folder).rglob("*.c")
    }
    assert on_disk <= {path.as_posix() for path in target.host.sources}
