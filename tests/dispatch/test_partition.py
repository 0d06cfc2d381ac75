"""Partitioned networks compute what they did before, and their functions carry the plans."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import match
from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.plan_codec import decode
from match.errors import CapacityError, ModelError
from match.graph.text import text
from match.ir.layer import Op
from match.partitioning.partitioner import Partitioned, cut
from match.relay import relay, tvm
from tests.dispatch.fakes import FakeModule, FakeTarget
from tests.layers_of import graph_of
from tests.passes.running import Compiled

pytestmark = pytest.mark.cc

RNG = np.random.default_rng(8)
MOST_OPS = tuple(op for op in Op if op not in (Op.GROUPED_CONV2D, Op.OWN))


def c64(value: Any) -> Any:
    return relay.const(np.asarray(value, np.int64), dtype="int64")


def req(acc: Any, channels: int) -> Any:
    total = relay.add(relay.multiply(relay.cast(acc, "int64"), c64([70000] * channels)), c64([5 << 22] * channels))
    return relay.cast(relay.clip(relay.right_shift(total, c64([28] * channels)), 0, 255), "uint8")


def conv(x: Any, c: int, k: int, groups: int = 1) -> Any:
    weights = RNG.integers(-128, 128, (3, 3, c // groups, k)).astype(np.int8)
    padded = relay.nn.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), relay.const(7, "uint8"))
    acc = relay.nn.conv2d(
        padded,
        relay.const(weights),
        groups=groups,
        channels=k,
        kernel_size=(3, 3),
        data_layout="NHWC",
        kernel_layout="HWIO",
        out_dtype="int32",
    )
    return req(acc, k)


def add(a: Any, b: Any) -> Any:
    products = [relay.multiply(relay.cast(x, "int64"), c64(m)) for x, m in ((a, 600000), (b, 500000))]
    total = relay.add(relay.add(*products), c64(-(3 << 20)))
    return relay.cast(relay.clip(relay.right_shift(total, c64(20)), 0, 255), "uint8")


def network() -> Any:
    """Two branches, an addition of a value to itself, a layer no module has, operators that stay."""
    x = relay.var("x", shape=(1, 6, 6, 4), dtype="uint8")
    trunk = conv(x, 4, 8)
    body = add(conv(trunk, 8, 8), trunk)
    body = conv(add(body, body), 8, 8, groups=2)
    body = relay.nn.max_pool2d(body, (2, 2), (2, 2), layout="NHWC")
    flat = relay.reshape(body, (1, -1))
    weights = RNG.integers(-128, 128, (5, 72)).astype(np.int8)
    logits = req(relay.nn.dense(flat, relay.const(weights), out_dtype="int32"), 5)
    scores = relay.nn.softmax(relay.cast(logits, "float32"))
    main = relay.Function([x], relay.Tuple([scores, trunk]))
    return relay.transform.InferType()(tvm.IRModule.from_expr(main))


def inlined(module: Any) -> Any:
    """The module with the bodies of its functions back in "main"."""
    plain = tvm.IRModule()
    for variable, function in module.functions.items():
        if variable.name_hint != "main":
            bare = relay.Function(function.params, function.body)
            plain[variable] = bare.with_attr("Inline", tvm.tir.IntImm("int32", 1))
    plain = relay.transform.InferType()(plain)
    plain["main"] = module["main"]
    return relay.transform.Inline()(relay.transform.InferType()(plain))


def run(module: Any, value: npt.NDArray[np.uint8]) -> list[npt.NDArray[Any]]:
    return Compiled(module)({"x": value})


def partitioned(module: Any, *modules: FakeModule) -> Partitioned:
    options = Options.parse()
    return cut(graph_of(module), FakeTarget(*modules), options, "My net", Stopwatch())


@pytest.fixture(scope="module")
def result() -> tuple[Any, Partitioned]:
    module = network()
    return module, partitioned(module, FakeModule("unit", mac=1, ops=MOST_OPS))


def test_outputs_stay_the_same(result: tuple[Any, Partitioned]) -> None:
    module, cut_module = result
    value = RNG.integers(0, 256, (1, 6, 6, 4)).astype(np.uint8)
    for before, after in zip(run(module, value), run(inlined(cut_module.module), value), strict=True):
        assert np.array_equal(before, after)


def test_every_operator_has_a_row_in_order(result: tuple[Any, Partitioned]) -> None:
    rows = [(decision.name, decision.module) for decision in result[1].decisions]
    assert rows == [
        ("conv2d_0", "unit"),
        ("conv2d_1", "unit"),
        ("add_2", "unit"),
        ("add_3", "unit"),
        ("grouped_conv2d_4", "cpu"),
        ("max_pool2d_5", "unit"),
        ("reshape_6", "cpu"),
        ("dense_7", "unit"),
        ("cast_8", "cpu"),
        ("nn.softmax_9", "cpu"),
    ]
    grouped = result[1].decisions[4]
    assert grouped.macs == 36 * 9 * 8 * 4
    assert [candidate.refusal for candidate in grouped.candidates] == ["unit has no grouped_conv2d", None]
    assert all(decision.candidates[-1].module == "cpu" for decision in result[1].decisions)


def test_operators_of_one_loop_are_one_row() -> None:
    x = relay.var("x", shape=(1, 6), dtype="int8")
    wide = relay.add(relay.cast(x, "int32"), relay.const(np.full((1, 6), 128, np.int32)))
    unsigned = relay.cast(wide, "uint8")
    shared = relay.cast(unsigned, "float32")
    body = relay.Tuple([relay.nn.softmax(shared), relay.reshape(relay.sqrt(shared), (6,))])
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
    names = [decision.name for decision in partitioned(module).decisions]
    assert names == ["cast+add+cast+cast_0", "nn.softmax_1", "sqrt_2", "reshape_3"]


def test_functions_carry_their_plans(result: tuple[Any, Partitioned]) -> None:
    module = result[1].module
    plans = {decision.plan.symbol: decision.plan for decision in result[1].decisions if decision.plan}
    functions = {var.name_hint: function for var, function in module.functions.items() if var.name_hint != "main"}
    assert functions.keys() == plans.keys()
    assert "my_net_02_add" in functions
    for symbol, function in functions.items():
        assert function.attrs["Compiler"] == "match"
        assert function.attrs["global_symbol"] == symbol
        assert decode(str(function.attrs["match.plan"])) == plans[symbol]
    assert len(functions["my_net_02_add"].params) == 2


def test_main_calls_functions_and_what_stays(result: tuple[Any, Partitioned]) -> None:
    calls: list[str] = []

    def visit(expr: Any) -> None:
        if isinstance(expr, relay.Call):
            calls.append(expr.op.name_hint if isinstance(expr.op, relay.GlobalVar) else expr.op.name)

    relay.analysis.post_order_visit(result[1].module["main"].body, visit)
    assert [call for call in calls if call.startswith("my_net_")] == [
        f"my_net_{index:02d}_{op}"
        for index, op in enumerate(["conv2d", "conv2d", "add", "add", "", "max_pool2d", "", "dense"])
        if op
    ]
    assert calls[-3:] == ["my_net_07_dense", "cast", "nn.softmax"]
    assert calls.count("nn.conv2d") == calls.count("nn.pad") == 1


def test_nothing_is_cut_without_modules() -> None:
    module = network()
    decided = partitioned(module)
    assert text(graph_of(decided.module)) == text(graph_of(module))
    assert {decision.module for decision in decided.decisions} == {"cpu"}


def test_deep_networks_do_not_exhaust_the_stack() -> None:
    x = relay.var("x", shape=(1, 2, 2, 1), dtype="uint8")
    body = x
    for _ in range(120):
        body = add(body, x)
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
    decided = partitioned(module, FakeModule("unit", mac=1, ops=(Op.MAX_POOL2D,)))
    assert len(decided.decisions) == 120
    assert text(graph_of(decided.module)) == text(graph_of(module))


def test_what_is_no_network_is_not_cut() -> None:
    with pytest.raises(match.ModelError, match=r"^what is cut is a Relay module .* not str.$"):
        match.partition("model.tflite", "gap9")  # pyright: ignore[reportArgumentType]


def test_public_partition_takes_integer_relay_and_params() -> None:
    x, w = relay.var("x", shape=(1, 40), dtype="uint8"), relay.var("w", shape=(20, 40), dtype="int8")
    body = req(relay.nn.dense(x, w, out_dtype="int32"), 20)
    module = tvm.IRModule.from_expr(relay.Function([x, w], body))
    params = {"w": RNG.integers(-128, 128, (20, 40)).astype(np.int8)}
    cut_module = match.partition(module, "gap9", params, modules=["cluster"])
    symbols = sorted(variable.name_hint for variable in cut_module.get_global_vars())
    assert symbols == ["main", "model_00_dense"]
    with pytest.raises(
        CapacityError, match=r"no layer of model fits an L1 of 16 bytes on gap9: cluster refused dense_0"
    ):
        match.partition(module, "gap9", params, modules=["cluster"], l1=16)
    own = match.get_target("gap9", l1=16, modules=["cluster"])
    assert [variable.name_hint for variable in match.partition(module, own, params).get_global_vars()] == ["main"]


def test_the_l1_that_an_error_names_holds_all_layers_and_a_word_less_does_not() -> None:
    """A convolution of 3x3 needs more than the dense layer in front of it."""
    x, weights = relay.var("x", shape=(25, 8), dtype="uint8"), RNG.integers(-128, 128, (8, 8)).astype(np.int8)
    dense = relay.reshape(req(relay.nn.dense(x, relay.const(weights), out_dtype="int32"), 8), (1, 5, 5, 8))
    function = relay.Function([x], conv(dense, 8, 6))

    def unmapped(l1: int) -> list[str]:
        layers = match.compile(function, "gap9", modules=["cluster"], l1=l1).layers
        return [layer.name for layer in layers if any(offer.unmapped for offer in layer.candidates)]

    with pytest.raises(CapacityError, match=r"dense_0 because .* enough for all layers") as raised:
        unmapped(16)
    found = re.search(r"give (\d+) \(--l1\)", str(raised.value))
    assert found is not None
    enough = int(found.group(1))
    assert unmapped(enough) == []
    assert unmapped(enough - 4) == ["conv2d_2"]


def test_float_networks_are_refused() -> None:
    x = relay.var("x", shape=(1, 4), dtype="float32")
    with pytest.raises(ModelError, match="float"):
        match.partition(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))))
