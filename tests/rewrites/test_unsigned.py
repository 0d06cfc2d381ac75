"""Networks stored unsigned against themselves: the same outputs, and tables at the border where one is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from match.devtools.check.probes import Probe, graph_of, probes
from match.graph.elements import ChannelLookup, Dequantize, Quantize
from match.graph.make import chosen, reshaped
from match.graph.maximum import Maximum
from match.graph.pairs import AbsoluteDifference, LookupLine, LookupSum, SquaredDifference
from match.graph.resize import Between, Resize
from match.graph.value import Graph, Value, computed
from match.ir.float_border import FloatQuantization
from match.ir.graph import Tensor
from match.ir.layer import Padding
from match.ir.requantization import Requantization
from match.partitioning.pattern import Match
from match.relay import integer_form, relay, tvm
from match.relay.graph_reader import read_graph
from match.relay.objects import main_function
from match.relay.rewrite import dtype, operator_name
from match.rewrites.unsigned import with_unsigned_activations
from match.target.constraints import uint8_input
from match.targets.pulp.operators import OPERATORS
from tests import layers_in_relay
from tests.layers_of import find
from tests.passes.networks import mixed, requantization, weights
from tests.passes.running import assert_same_outputs, executable, written
from tests.passes.test_passes import calls as calls_of
from tests.rewrites.through import rewritten

pytestmark = pytest.mark.tvm

EVERY_VALUE = np.arange(-128, 128, dtype=np.int8).reshape(1, 8, 8, 4)
TABLE = np.random.default_rng(4).integers(-128, 128, 256)


def var(name: str = "x", kind: str = "int8") -> Any:
    return relay.var(name, shape=EVERY_VALUE.shape, dtype=kind)


def typed(x: Any, body: Any) -> Any:
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))


def stored_unsigned(module: tvm.IRModule) -> tvm.IRModule:
    return rewritten(module, with_unsigned_activations)


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
    before = written(Graph((x,), (body,))) if isinstance(body, Value) else typed(x, body)
    graph = Graph((x,), (body,)) if isinstance(body, Value) else read_graph(main_function(before)).graph
    after = written(with_unsigned_activations(graph))
    for expected, output in zip(run(before, value), run(after, value), strict=True):
        assert output.dtype == expected.dtype
        assert np.array_equal(output, expected)
    return calls(after)


def given(kind: str = "int8") -> Value:
    return Value(Tensor(EVERY_VALUE.shape, kind), source="x")


def turned(x: Value) -> Value:
    """A map whose channels are in the opposite order."""
    return chosen(x, [None, None, None, np.arange(x.shape[3])[::-1]])


def pooled(x: Value) -> Value:
    return computed(Maximum(window=(2, 2), strides=(1, 1), padding=Padding(), dilation=(1, 1)), x)


@pytest.mark.parametrize(
    "probe", [one for one in probes("int8") if uint8_input in OPERATORS[one.op].constraints], ids=lambda one: one.what
)
def test_operators_that_modules_want_unsigned_become_so(probe: Probe) -> None:
    found = find(with_unsigned_activations(graph_of([probe])))
    layers = [row.layer for row in found if isinstance(row, Match) and row.layer.op is probe.op]
    assert [layer.input_dtype for layer in layers] == ["uint8"], f"match/rewrites/unsigned.py: {probe.what}"


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


def real_operators(x: Value, body: Value) -> list[tuple[str, str]]:
    """The operators of the graph that read or make real numbers, and types of their results."""
    values = with_unsigned_activations(Graph((x,), (body,))).values
    kinds = Quantize, Dequantize
    return [(value.operator.called, value.dtype) for value in values if isinstance(value.operator, kinds)]


def quantized(x: Value, zero_point: int) -> Value:
    function = FloatQuantization(np.float32(0.037), zero_point, "int8", half_to_even=True)
    return computed(Quantize(function=function), x)


def dequantized(x: Value, zero_point: int) -> Value:
    return computed(Dequantize(scale=np.float32(0.037), zero_point=zero_point), x)


REALS = np.random.default_rng(5).uniform(-6, 6, EVERY_VALUE.shape).astype(np.float32)


def test_quantize_and_dequantize_take_other_zero_points() -> None:
    x = given("float32")
    body = dequantized(pooled(quantized(x, -9)), -9)
    names = [name for name, _ in unsigned(x, body, REALS)]
    assert names.count("take") == 0
    assert real_operators(x, body) == [("quantize", "uint8"), ("dequantize", "float32")]


def test_a_quantize_that_a_dequantize_reads_is_unsigned() -> None:
    x = given("float32")
    body = dequantized(quantized(x, -9), -9)
    assert ("take", "uint8") not in unsigned(x, body, REALS)
    assert real_operators(x, body) == [("quantize", "uint8"), ("dequantize", "float32")]


def test_a_quantized_output_keeps_its_type() -> None:
    x = given("float32")
    body = quantized(x, 3)
    assert [name for name, _ in unsigned(x, body, REALS)].count("take") == 0
    assert real_operators(x, body) == [("quantize", "int8")]


def test_resizes_round_away_from_the_same_value() -> None:
    """Halves between two pixels, above and below 0, which is 128 then."""
    x = given()
    middle = np.stack([np.arange(7), np.arange(1, 8), np.full(7, 512)])
    between = Between(*middle.astype(np.int64))
    body = computed(Resize(rows=between, columns=between, zero=0, dtype="int8"), x)
    values = np.random.default_rng(0).permutation(EVERY_VALUE.reshape(-1)).reshape(EVERY_VALUE.shape)
    assert unsigned(x, body, values) == [("take", "uint8"), ("cast", "uint8"), ("take", "int8")]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_tables_of_channels_convert_themselves(dtype: str) -> None:
    """A signed result is stored 128 higher where others read it; an output has the table that it had, also moved."""
    x = given()
    low = np.iinfo(dtype).min
    outputs = np.random.default_rng(6).integers(low, low + 256, (x.shape[3], 256))
    alone = computed(ChannelLookup(outputs=outputs, dtype=dtype), x)
    assert unsigned(x, alone) == calls(written(Graph((x,), (alone,))))
    assert [name for name, _ in unsigned(x, turned(alone))].count("take") == 1
    assert [name for name, _ in unsigned(x, pooled(alone))].count("take") == (2 if dtype == "int8" else 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_squared_differences_have_the_tables_they_had(dtype: str) -> None:
    """Outputs with a sign become 128 more; the tables are of the inputs in their order, which stays."""
    x = given()
    steps = np.stack([np.arange(256) * 3, np.arange(256)[::-1] * 5]).astype(np.int64)
    clip = (-128, 127) if dtype == "int8" else (0, 255)
    requantization = Requantization(np.array([3]), np.array([1 << 12]), np.array([14]), clip)
    operator = SquaredDifference(steps=steps, requantization=requantization, dtype=dtype)
    body = computed(operator, x, turned(x))
    names = [name for name, _ in unsigned(x, body)]
    assert names.count("take") == (2 if dtype == "int8" else 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_sums_of_lookups_move_with_their_outputs(dtype: str) -> None:
    """Outputs with a sign become 128 more, in one of the tables."""
    x = given()
    tables = np.random.default_rng(8).integers(-(2**27), 2**27, (2, 256))
    clip = (-100, 101) if dtype == "int8" else (3, 250)
    body = pooled(computed(LookupSum(tables=tables, clip=clip, dtype=dtype), x, turned(x)))
    names = [name for name, _ in unsigned(x, body)]
    assert names.count("take") == (2 if dtype == "int8" else 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_lines_begin_elsewhere(dtype: str) -> None:
    """Values of the first tensor and outputs with a sign become 128 more; which line it is does not change."""
    x, rng = given(), np.random.default_rng(10)
    lines = np.stack([rng.integers(-(2**18), 2**18, 256), rng.integers(-(2**23), 2**23, 256)])
    clip = (-100, 101) if dtype == "int8" else (3, 250)
    body = computed(LookupLine(lines=lines, clip=clip, dtype=dtype), x, turned(x))
    names = [name for name, _ in unsigned(x, body)]
    assert names.count("take") == (2 if dtype == "int8" else 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_absolute_differences_begin_where_they_are_clipped(dtype: str) -> None:
    """Outputs with a sign become 128 more, in the clip alone."""
    x = given()
    tables = np.random.default_rng(9).integers(-(2**27), 2**27, (2, 256))
    clip = (-100, 101) if dtype == "int8" else (3, 250)
    body = computed(AbsoluteDifference(tables=tables, clip=clip, dtype=dtype), x, turned(x))
    names = [name for name, _ in unsigned(x, body)]
    assert names.count("take") == (2 if dtype == "int8" else 1)


@pytest.mark.parametrize("pad_value", [0, -7])
def test_sums_that_nothing_requantizes_are_of_unsigned_values(pad_value: int) -> None:
    """A convolution with padding and a dense layer: what their sums grow by is taken off."""
    x, rng = var(), np.random.default_rng(7)
    kernel = rng.integers(-128, 128, (3, 3, 4, 5)).astype(np.int8)
    padding = Padding(1, 0, 2, 1)
    convolved = integer_form.convolution(x, kernel, x_dtype="int8", padding=padding, pad_value=pad_value)
    conv = typed(x, convolved)
    dense = typed(x, integer_form.product(relay.reshape(x, (64, 4)), kernel[0, 0].T.copy()))
    for module, name in ((conv, "nn.conv2d"), (dense, "nn.dense")):
        assert inputs_of(stored_unsigned(module), name) == ["uint8"]
        unsigned(module["main"].params[0], module["main"].body)


def inputs_of(module: Any, name: str) -> list[str]:
    """The types of what the operators of a name read."""
    found: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, relay.Call) and operator_name(node) == name:
            found.append(dtype(node.args[0]))

    relay.analysis.post_order_visit(module["main"].body, visit)
    return found


def test_unsigned_activations():
    before = mixed(0, "int8")
    after = stored_unsigned(before)
    assert_same_outputs(before, after)
    assert [dtype(call.args[0]) for call in calls_of(after, "nn.conv2d", "nn.dense", "nn.max_pool2d")] == ["uint8"] * 4
    assert dtype(after["main"].params[0]) == "int8"


def test_unsigned_activations_around_unknown_operators():
    """Conversions stand where an operator is not understood, and where a value is both seen and passed on."""
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 4, 4, 3), dtype="int8")
    first = layers_in_relay.conv2d(
        x, weights(rng, 1, 1, 3, 6), requantization(rng, 3, 6, (-128, 127)), "int8", x_dtype="int8"
    )
    odd = relay.cast(relay.right_shift(relay.cast(first, "int32"), relay.const(1, "int32")), "int8")
    joined = relay.concatenate([relay.nn.pad(first, ((0, 0), (1, 0), (0, 0), (0, 0)), relay.const(-4, "int8"))], 3)
    second = layers_in_relay.conv2d(
        odd, weights(rng, 3, 3, 6, 4), requantization(rng, 54, 4, (-128, 127)), "int8", x_dtype="int8"
    )
    before = typed(x, relay.Tuple([relay.clip(joined, -50, 60), relay.reshape(second, (1, 16)), x]))
    after = stored_unsigned(before)
    assert_same_outputs(before, after)
    assert {dtype(call.args[0]) for call in calls_of(after, "nn.conv2d")} == {"uint8"}


def test_unsigned_activations_leaves_unsigned_networks_alone():
    before = mixed(3, "uint8")
    assert calls_of(stored_unsigned(before)) == calls_of(before)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_outputs_of_either_type_stay_what_they_are(dtype: str) -> None:
    """Also those that are reshaped on their way out; an input that is only moved is not touched at all."""
    x = given()
    tables = np.random.default_rng(8).integers(-(2**27), 2**27, (2, 256))
    clip = (-100, 101) if dtype == "int8" else (3, 250)
    both = computed(LookupSum(tables=tables, clip=clip, dtype=dtype), x, turned(x))
    assert [name for name, _ in unsigned(x, reshaped(both, (64, 4)))].count("take") == 1
    assert [name for name, _ in unsigned(x, chosen(reshaped(x, (64, 4)), [np.arange(64)[::-1], None]))] == [
        "reshape",
        "reverse",
    ]
