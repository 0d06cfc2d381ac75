"""GAP9: what its modules take and refuse, and that operands, packing and kernels agree with each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import match
from match.cost_models.pulp_cluster import PulpClusterCost
from match.ir.constants import Addends, Filters, LayerConstants, Table
from match.ir.exception_lists import with_lists_of
from match.ir.layer import Dim, Layer, Op, Padding, Role
from match.ir.requantization import Requantization, Requantizer
from match.mapping.memory import component_bytes
from match.prediction.blocks import tile_of
from match.requantize import fit
from match.target.cost import Block
from match.target.hardware import HwModule, MatchTarget
from match.targets.gap8.target import Gap8
from match.targets.gap9.target import Gap9
from match.targets.pulp.chip import one_core
from match.targets.pulp.kernels import INT32, INT64, SPLIT, SPLIT_EXCEPT, SPLIT_SIGNED

pytestmark = pytest.mark.cc

PACKAGE = Path(match.__file__).parent
CONV = Layer("conv", Op.CONV2D, k=40, c=20, oy=8, ox=8, iy=8, ix=8, fy=3, fx=3, padding=Padding(1, 1, 1, 1))
DEPTHWISE = replace(CONV, op=Op.DEPTHWISE_CONV2D, c=1)
POINTWISE = replace(CONV, fy=1, fx=1, padding=Padding())
DENSE = Layer("dense", Op.DENSE, k=10, c=70, oy=1, ox=1, iy=1, ix=1)
ADD = replace(POINTWISE, op=Op.ADD, c=1, weight_dtype="")
LOOKUP = replace(ADD, op=Op.LOOKUP, input_dtype="int8")
MAX_POOL = replace(CONV, op=Op.MAX_POOL2D, c=1, weight_dtype="")
AVG_POOL = replace(MAX_POOL, op=Op.AVG_POOL2D, iy=10, ix=10, padding=Padding())

EVERY = (CONV, DEPTHWISE, POINTWISE, DENSE, ADD, LOOKUP, MAX_POOL, AVG_POOL)
WITHOUT_FORM = (Op.MAX_POOL2D, Op.LOOKUP)


def module(name: str) -> HwModule:
    return next(module for module in Gap9().modules if module.name == name)


def refusal(name: str, layer: Layer) -> str | None:
    """Why a module refuses a layer; None if it takes it."""
    verdicts = [pattern.check(layer) for pattern in module(name).patterns() if pattern.op is layer.op]
    if not verdicts:
        return "no pattern"
    return None if verdicts[0].ok else verdicts[0].reason


def variant(layer: Layer, **changes: Any) -> Layer:
    return replace(layer, **changes)


@pytest.mark.parametrize("layer", EVERY, ids=lambda layer: f"{layer.op}{layer.fy}x{layer.fx}")
def test_cluster_takes_every_operator(layer: Layer) -> None:
    assert refusal("cluster", layer) is None


@pytest.mark.parametrize("layer", [CONV, DEPTHWISE, POINTWISE, DENSE], ids=lambda layer: f"{layer.op}{layer.fy}")
def test_ne16_takes_convolutions(layer: Layer) -> None:
    assert refusal("ne16", layer) is None
    if layer.op is not Op.DENSE:
        assert refusal("ne16", variant(layer, stride=(2, 2), oy=4, ox=4)) is None


@pytest.mark.parametrize(
    ("changes", "kernel"),
    [
        ({}, "3x3"),
        ({"c": 3, "oy": 32, "ox": 32, "iy": 32, "ix": 32}, "laid_out"),  # of the array's 16 channels
        ({"fy": 5, "padding": Padding(2, 1, 2, 1)}, "laid_out"),
        ({"fx": 1, "padding": Padding(1, 0, 1, 0)}, "laid_out"),
        ({"stride": (2, 1), "oy": 4}, "laid_out"),
        ({"stride": (3, 3), "oy": 3, "ox": 3}, "laid_out"),
        ({"dilation": (2, 1), "padding": Padding(2, 1, 2, 1)}, "laid_out"),
        ({"fy": 1, "fx": 1, "padding": Padding(), "stride": (1, 2), "ox": 4}, "1x1"),
    ],
    ids=str,
)
def test_windows_are_laid_out_for_filters_that_ne16_lacks(changes: dict[str, Any], kernel: str) -> None:
    layer, unit = variant(CONV, **changes), module("ne16")
    assert refusal("ne16", layer) is None
    forms = unit.forms(layer)
    for form in forms[:1] if layer.window == (3, 3) and layer.stride == (1, 1) else forms:
        assert unit.kernel(layer, form).startswith(f"match_ne16_conv2d_{kernel}")


@pytest.mark.parametrize("layer", [ADD, LOOKUP, MAX_POOL, AVG_POOL], ids=lambda layer: layer.op)
def test_ne16_has_no_other_operator(layer: Layer) -> None:
    assert refusal("ne16", layer) == "no pattern"


@pytest.mark.parametrize(
    ("name", "layer", "reason"),
    [
        ("cluster", variant(CONV, input_dtype="int8"), "int8"),
        ("cluster", variant(DENSE, c=65794), "65794 products"),
        ("cluster", variant(CONV, padding=Padding(3, 0, 0, 0)), "padding alone"),
        ("cluster", variant(CONV, padding=Padding(1, 1, 4, 1), oy=11), "padding alone"),
        ("cluster", variant(MAX_POOL, dilation=(2, 2)), "dilation"),
        ("ne16", variant(CONV, input_dtype="int8"), "int8"),
        ("ne16", variant(DEPTHWISE, fy=1, fx=1), "1x1"),
        ("ne16", variant(DEPTHWISE, stride=(2, 1), oy=4), "2x1"),
        ("ne16", variant(DEPTHWISE, stride=(3, 3), oy=3, ox=3), "3x3"),
        ("ne16", variant(DEPTHWISE, dilation=(2, 2)), "dilation"),
        ("ne16", variant(CONV, dilation=(1, 2)), "columns lie 2 apart"),
        ("ne16", variant(CONV, padding=Padding(3, 0, 0, 0)), "padding alone"),
    ],
)
def test_constraints_refuse_with_the_reason(name: str, layer: Layer, reason: str) -> None:
    assert reason in (refusal(name, layer) or "accepted")


def test_largest_sum_of_products_is_accepted() -> None:
    assert refusal("cluster", variant(DENSE, c=65793)) is None
    assert 65793 * 255 * 128 < 2**31 <= 65794 * 255 * 128


def test_every_constraint_says_what_it_is_about() -> None:
    for unit in Gap9().modules:
        for pattern in unit.patterns():
            for constraint in pattern.constraints:
                assert (constraint.__doc__ or "").strip().endswith(".")


def constants(layer: Layer) -> LayerConstants:
    shape = (layer.k, layer.fy, layer.fx, layer.c)
    filters = Filters(np.zeros(shape, np.int8)) if layer.weight_dtype else None
    if layer.op is Op.MAX_POOL2D:
        return LayerConstants()
    if layer.op is Op.LOOKUP:
        return LayerConstants(Table(np.zeros(256, np.uint8)))
    channels = 1 if layer.op is Op.ADD else layer.k
    ones = np.ones(channels, np.int64)
    exceptions = np.arange(3)[None, :].repeat(channels, 0)
    requantization = Requantization(ones, ones, ones, (0, 255), ones, 2 * ones, exceptions, ones, ones)
    return LayerConstants(Addends(1, 1) if layer.op is Op.ADD else filters, requantization)


def of_layer(layer: Layer, form: Requantizer) -> Requantizer:
    line = constants(layer).requantization
    assert line is not None
    return with_lists_of(form, line)


def cases() -> list[tuple[HwModule, Layer, Requantizer | None]]:
    found: list[tuple[HwModule, Layer, Requantizer | None]] = []
    for unit in Gap9().modules:
        taken = {pattern.op for pattern in unit.patterns()}
        for layer in EVERY:
            if layer.op in taken:
                forms: tuple[Requantizer | None, ...] = (None,) if layer.op in WITHOUT_FORM else unit.forms(layer)
                found += [(unit, layer, form and of_layer(layer, form)) for form in forms]
    return found


@pytest.mark.parametrize(("unit", "layer", "form"), cases())
def test_packed_bytes_are_what_the_operand_declares(unit: HwModule, layer: Layer, form: Requantizer | None) -> None:
    operands = unit.operands(layer, form)
    names = ["input"] + ["addend"] * (layer.op is Op.ADD) + ["weights"] * (layer.op is not Op.MAX_POOL2D) + ["output"]
    assert [operand.name for operand in operands] == names
    constant = [operand for operand in operands if operand.role is Role.CONSTANT]
    full = layer.extents
    for k in (layer.k, min(layer.k, 16), 1):
        spans = {**{dim: (0, full[dim]) for dim in Dim}, Dim.K: (layer.k - k if k < 16 else 0, k)}
        packed = unit.pack(layer, form, constants(layer), spans)
        components = constant[0].components if constant else ()
        sizes = [component_bytes(c, {**full, Dim.K: k}) for c in components]
        if form is not None and form.exceptions:
            assert len(packed[-1]) == 4 * (1 + 1 + 3) <= sizes.pop()
            packed = packed[:-1]
        assert [len(part) for part in packed] == sizes


@pytest.mark.parametrize(("unit", "layer", "form"), cases())
def test_kernels_exist(unit: HwModule, layer: Layer, form: Requantizer | None) -> None:
    header = PACKAGE / "kernels" / ("ne16" if unit.name == "ne16" else "pulp") / unit.api.headers[-1]
    assert f"void {unit.kernel(layer, form)}(const match_tile_t *tile);" in header.read_text()


def test_forms_of_additions() -> None:
    cluster = module("cluster")
    addition = replace(CONV, op=Op.ADD, c=1, fy=1, fx=1, padding=Padding(), weight_dtype="")
    kernels = [cluster.kernel(addition, form) for form in cluster.forms(addition)]
    assert kernels == ["match_pulp_add_int32", "match_pulp_add_split", "match_pulp_add"]


def test_kernels_of_words_clip_from_0_alone() -> None:
    """Where outputs begin elsewhere, a layer is left to the kernels of 64 bits."""
    ones = np.ones(3, np.int64)
    line = Requantization(ones << 20, 0 * ones, 30 * ones, (3, 200))
    fitting = [form for form in module("cluster").requantizers if fit(line, -1000 * ones, 250_000 * ones, form)]
    assert {module("cluster").kernel(CONV, form) for form in fitting} == {"match_pulp_conv2d"}
    from_0 = replace(line, clip=(0, 200))
    assert all(fit(from_0, -1000 * ones, 250_000 * ones, form) for form in module("cluster").requantizers)


def test_one_core_under_simulation_waits_for_no_transfer() -> None:
    """Its DMA takes no time, a layer is offloaded to nobody, and it does the work of eight."""
    chip = module("cluster").cost(CONV, INT32)
    alone = one_core(chip)
    tile = tile_of(CONV, CONV.spans)
    assert alone.transfer(CONV, Block("input", (8, 8, 20), 1280, 1)) == 0
    assert alone.issue(CONV) < chip.issue(CONV)
    assert alone.overhead(CONV) < chip.overhead(CONV)
    assert alone.compute(CONV, tile) > 6 * chip.compute(CONV, tile)


def test_all_channels_of_two_inputs_have_the_same_exceptions() -> None:
    """An output of a multiplication is compared with all of them, one of a convolution with its channel's."""
    cluster, form = module("cluster"), replace(SPLIT_EXCEPT, exceptions=16, listed=8)
    model, product = cluster.cost(POINTWISE, form), cluster.cost(replace(ADD, op=Op.MULTIPLY), form)
    assert isinstance(model, PulpClusterCost)
    assert isinstance(product, PulpClusterCost)
    assert (model.listed, product.listed) == (8 / POINTWISE.k, 8)


def test_pointwise_kernel_is_for_unstrided_maps() -> None:
    cluster = module("cluster")
    kernels = [cluster.kernel(POINTWISE, form) for form in (INT32, SPLIT, SPLIT_SIGNED, SPLIT_EXCEPT, INT64)]
    assert kernels == [f"match_pulp_pointwise{end}" for end in ("_int32", "_split", "_split", "_split", "")]
    assert cluster.kernel(variant(POINTWISE, stride=(2, 2)), INT64) == "match_pulp_conv2d"
    assert cluster.kernel(variant(POINTWISE, padding=Padding(1, 0, 0, 0)), INT64) == "match_pulp_conv2d"


def test_ne16_takes_as_many_kernels_as_its_driver() -> None:
    header = (PACKAGE / "targets/gap9/include/match_gap9_chip.h").read_text()
    (api,) = (unit.scratchpad_api for unit in Gap9().modules if unit.name == "ne16")
    assert api
    assert f"MATCH_GAP9_NE16_UNDER_WAY = {api.compute.under_way} " in header


@pytest.mark.parametrize(
    ("target", "folders", "others"),
    [
        (Gap9(), ("kernels/ne16", "targets/gap9"), {"targets/pulp/host/pulp_no_accelerator.c"}),
        (Gap8(), ("targets/gap8",), set[str]()),
    ],
    ids=["gap9", "gap8"],
)
def test_api_functions_and_host_files_exist(target: MatchTarget, folders: tuple[str, ...], others: set[str]) -> None:
    """`others` are C files of the family that this chip has no use for."""
    include = [PACKAGE / folder for folder in target.host.include if "targets" in folder.parts]
    declared = "".join(header.read_text() for folder in include for header in folder.glob("*.h"))
    functions = [target.api.open, target.api.close, target.api.allocate, target.api.free]
    for unit in target.modules:
        api = unit.scratchpad_api
        if api is None:
            continue
        functions += [api.platform.offload, api.memory.allocate, api.memory.free, api.memory.copy_in]
        functions += [api.memory.copy_out, api.sync.wait_transfer, api.sync.wait_compute, api.compute.start]
    for function in functions:
        assert f"{function}(" in declared
    platforms = target.platforms
    assert [platform.name for platform in platforms] == ["host", "qemu", "rtl", "gap_sdk"]
    assert target.external is not None
    outside = target.external.api
    parts = target.external.platforms.values()
    for part in parts:
        header = (PACKAGE / part.include[0] / outside.headers[0]).read_text()
        for function in (outside.allocate, outside.free, outside.load, outside.copy_in, outside.copy_out, outside.wait):
            assert f"{function}(" in header
    sources = [path for platform in platforms for path in platform.sources] + [
        path for part in parts for path in part.sources
    ]
    sources += [platform.io for platform in platforms if platform.io]
    headers = [path for platform in platforms for path in platform.include]
    for path in (*sources, *headers, *(path for part in parts for path in part.include)):
        assert (PACKAGE / path).exists()
    on_disk = {
        path.relative_to(PACKAGE).as_posix()
        for folder in ("kernels/chip", "kernels/host", "kernels/pulp", "targets/pulp", *folders)
        for path in (PACKAGE / folder).rglob("*.[cS]")
    }
    others = others | {
        "kernels/chip/match_chip_memory.c",
        "kernels/chip/match_core_memory.c",
        "kernels/chip/match_one_core.c",
        "kernels/host/match_host_chip.c",
        "kernels/host/match_host_core.c",
    }  # for chips with one module or with one core
    assert on_disk - others == {path.as_posix() for path in sources if "pulp_open" not in path.parts}
