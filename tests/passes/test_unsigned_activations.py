"""Networks stored unsigned against themselves: the same outputs, and tables at the border where one is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from match.devtools.check.probes import Probe, network, probes
from match.graph.resize import Between
from match.ir.layer import Padding
from match.ir.requantization import Requantization
from match.partitioning.pattern import Match, find
from match.passes.unsigned_activations import UnsignedActivations
from match.relay import integer_form, relay, tvm
from match.relay.resize import Resize
from match.relay.rewrite import dtype, operator_name
from match.target.constraints import uint8_input
from match.targets.pulp.constraints import CLUSTER
from tests.passes.running import executable

pytestmark = pytest.mark.tvm

EVERY_VALUE = np.arange(-128, 128, dtype=np.int8).reshape(1, 8, 8, 4)
TABLE = np.random.default_rng(4).integers(-128, 128, 256)


def var(name: str = "x", kind: str = "int8") -> Any:
    return relay.var(name, shape=EVERY_VALUE.shape, dtype=kind)


def typed(x: Any, body: Any) -> Any:
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))


def run(module: Any, value: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    plain = relay.qnn.transform.CanonicalizeOps()(module)
    return executable(plain)({module["main"].params[0].name_hint: value})


def calls(module: Any) -> list[tuple[str, str]]:
    """Operators and types of their results, without what makes the index of a table."""
    found: list[tuple[str, str]] = []

    def visit(node: Any) -> None:
        if isinstance(node, relay.Call) and dtype(node) != "int32":
            found.append((operator_name(node), dtype(node)))

    relay.analysis.post_order_visit(module["main"].body, visit)
    return found


def unsigned(x: Any, body: Any, value: npt.NDArray[Any] = EVERY_VALUE) -> list[tuple[str, str]]:
    """The operators after the pass, which has changed no output."""
    before = typed(x, body)
    after = UnsignedActivations()(before)
    for expected, output in zip(run(before, value), run(after, value), strict=True):
        assert output.dtype == expected.dtype
        assert np.array_equal(output, expected)
    return calls(after)


@pytest.mark.parametrize(
    "probe", [one for one in probes("int8") if uint8_input in CLUSTER[one.op]], ids=lambda one: one.what
)
def test_operators_that_modules_want_unsigned_become_so(probe: Probe) -> None:
    found = find(UnsignedActivations()(network([probe])))
    layers = [row.layer for row in found if isinstance(row, Match) and row.layer.op is probe.op]
    assert [layer.input_dtype for layer in layers] == ["uint8"], f"match/passes/unsigned_activations.py: {probe.what}"


def test_inputs_and_outputs_pass_through_tables() -> None:
    x = var()
    pooled = integer_form.max_pool2d(x, window=(2, 2))
    assert unsigned(x, pooled) == [("take", "uint8"), ("nn.max_pool2d", "uint8"), ("take", "int8")]


def test_operators_that_stay_signed_stand_between_tables() -> None:
    x = var()
    kept = relay.maximum(integer_form.max_pool2d(x, window=(2, 2)), relay.const(-5, "int8"))
    assert unsigned(x, integer_form.max_pool2d(kept, window=(2, 2))) == [
        ("take", "uint8"),
        ("nn.max_pool2d", "uint8"),
        ("take", "int8"),
        ("maximum", "int8"),
        ("take", "uint8"),
        ("nn.max_pool2d", "uint8"),
        ("take", "int8"),
    ]


def test_a_table_converts_on_its_own() -> None:
    x = var()
    assert unsigned(x, integer_form.lookup(x, TABLE, "int8", "int8")) == [("take", "int8")]
    first = integer_form.lookup(x, TABLE, "int8", "int8")
    pooled = integer_form.max_pool2d(first, window=(2, 2))
    last = integer_form.lookup(pooled, TABLE[::-1], "int8", "int8")
    assert unsigned(x, last) == [("take", "uint8"), ("nn.max_pool2d", "uint8"), ("take", "int8")]


def test_a_table_used_inside_and_as_an_output() -> None:
    x = var()
    looked_up = integer_form.lookup(x, TABLE, "int8", "int8")
    body = relay.Tuple([looked_up, integer_form.max_pool2d(looked_up, window=(2, 2))])
    assert sorted(unsigned(x, body)) == sorted(
        [("take", "int8"), ("take", "uint8"), ("nn.max_pool2d", "uint8"), ("take", "int8")]
    )


def test_quantize_and_dequantize_take_other_zero_points() -> None:
    x = var(kind="float32")
    scale, zero_point = relay.const(0.037), relay.const(-9, "int32")
    quantized = relay.qnn.quantize(x, scale, zero_point, out_dtype="int8")
    body = relay.qnn.dequantize(integer_form.max_pool2d(quantized, window=(2, 2)), scale, zero_point)
    value = np.random.default_rng(5).uniform(-6, 6, EVERY_VALUE.shape).astype(np.float32)
    assert unsigned(x, body, value) == [
        ("qnn.quantize", "uint8"),
        ("nn.max_pool2d", "uint8"),
        ("qnn.dequantize", "float32"),
    ]


def test_a_quantize_that_a_dequantize_reads_is_unsigned() -> None:
    """As between two normalizations, which become operators on integers later."""
    x = var(kind="float32")
    scale, zero_point = relay.const(0.037), relay.const(-9, "int32")
    body = relay.qnn.dequantize(relay.qnn.quantize(x, scale, zero_point, out_dtype="int8"), scale, zero_point)
    value = np.random.default_rng(5).uniform(-6, 6, EVERY_VALUE.shape).astype(np.float32)
    assert unsigned(x, body, value) == [("qnn.quantize", "uint8"), ("qnn.dequantize", "float32")]


def test_a_quantized_output_keeps_its_type() -> None:
    x = var(kind="float32")
    quantized = relay.qnn.quantize(x, relay.const(0.05), relay.const(3, "int32"), out_dtype="int8")
    value = np.random.default_rng(6).uniform(-9, 9, EVERY_VALUE.shape).astype(np.float32)
    assert unsigned(x, quantized, value) == [("qnn.quantize", "int8")]


def test_resizes_round_away_from_the_same_value() -> None:
    """Halves between two pixels, above and below 0, which is 128 then."""
    x = var()
    middle = np.stack([np.arange(7), np.arange(1, 8), np.full(7, 512)])
    between = Between(*middle.astype(np.int64))
    body = Resize(x, rows=between, columns=between, zero=0, dtype="int8").build(x)
    values = np.random.default_rng(0).permutation(EVERY_VALUE.reshape(-1)).reshape(EVERY_VALUE.shape)
    assert calls(typed(x, body)) == [("cast", "int8")]
    assert unsigned(x, body, values) == [("take", "uint8"), ("cast", "uint8"), ("take", "int8")]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_tables_of_channels_convert_themselves(dtype: str) -> None:
    """A signed result is stored 128 higher where others read it; an output of the network has the table that it had."""
    x = var()
    low = np.iinfo(dtype).min
    outputs = np.random.default_rng(6).integers(low, low + 256, (int(x.type_annotation.shape[-1]), 256))
    alone = integer_form.channel_lookup(x, outputs, "int8", dtype)
    assert unsigned(x, alone) == calls(typed(x, alone))
    assert [name for name, _ in unsigned(x, relay.reverse(alone, 1))].count("take") == (2 if dtype == "int8" else 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_squared_differences_have_the_tables_they_had(dtype: str) -> None:
    """Outputs with a sign become 128 more; the tables are of the inputs in their order, which stays."""
    x = var()
    steps = np.stack([np.arange(256) * 3, np.arange(256)[::-1] * 5]).astype(np.int64)
    clip = (-128, 127) if dtype == "int8" else (0, 255)
    requantization = Requantization(np.array([3]), np.array([1 << 12]), np.array([14]), clip)
    turned = relay.reverse(x, axis=3)
    body = integer_form.squared_difference(x, turned, ("int8", "int8"), steps, requantization, dtype)
    names = [name for name, _ in unsigned(x, body)]
    assert names.count("take") == (2 if dtype == "int8" else 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_sums_of_lookups_move_with_their_outputs(dtype: str) -> None:
    """Outputs with a sign become 128 more, in one of the tables."""
    x = var()
    tables = np.random.default_rng(8).integers(-(2**27), 2**27, (2, 256))
    clip = (-100, 101) if dtype == "int8" else (3, 250)
    body = integer_form.lookup_sum(x, relay.reverse(x, axis=3), ("int8", "int8"), tables, clip, dtype)
    names = [name for name, _ in unsigned(x, body)]
    assert names.count("take") == (2 if dtype == "int8" else 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_lines_begin_elsewhere(dtype: str) -> None:
    """Values of the first tensor and outputs with a sign become 128 more; which line it is does not change."""
    x, rng = var(), np.random.default_rng(10)
    lines = np.stack([rng.integers(-(2**18), 2**18, 256), rng.integers(-(2**23), 2**23, 256)])
    clip = (-100, 101) if dtype == "int8" else (3, 250)
    body = integer_form.lookup_line(x, relay.reverse(x, axis=3), ("int8", "int8"), lines, clip, dtype)
    names = [name for name, _ in unsigned(x, body)]
    assert names.count("take") == (2 if dtype == "int8" else 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_absolute_differences_begin_where_they_are_clipped(dtype: str) -> None:
    """Outputs with a sign become 128 more, in the clip alone."""
    x = var()
    tables = np.random.default_rng(9).integers(-(2**27), 2**27, (2, 256))
    clip = (-100, 101) if dtype == "int8" else (3, 250)
    body = integer_form.absolute_difference(x, relay.reverse(x, axis=3), ("int8", "int8"), tables, clip, dtype)
    names = [name for name, _ in unsigned(x, body)]
    assert names.count("take") == (2 if dtype == "int8" else 1)


@pytest.mark.parametrize("pad_value", [0, -7])
def test_sums_that_nothing_requantizes_are_of_unsigned_values(pad_value: int) -> None:
    """Of a convolution, with padding, and of a dense layer; what they grow by is taken off."""
    x, rng = var(), np.random.default_rng(7)
    kernel = rng.integers(-128, 128, (3, 3, 4, 5)).astype(np.int8)
    padding = Padding(1, 0, 2, 1)
    convolved = integer_form.convolution(x, kernel, x_dtype="int8", padding=padding, pad_value=pad_value)
    conv = typed(x, convolved)
    dense = typed(x, integer_form.product(relay.reshape(x, (64, 4)), kernel[0, 0].T.copy()))
    for module, name in ((conv, "nn.conv2d"), (dense, "nn.dense")):
        assert inputs_of(UnsignedActivations()(module), name) == ["uint8"]
        unsigned(module["main"].params[0], module["main"].body)


def inputs_of(module: Any, name: str) -> list[str]:
    """The types of what the operators of a name read."""
    found: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, relay.Call) and operator_name(node) == name:
            found.append(dtype(node.args[0]))

    relay.analysis.post_order_visit(module["main"].body, visit)
    return found
