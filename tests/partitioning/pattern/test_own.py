"""Operators of modules' own: what their patterns find, and what is said of those that fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from match.errors import TargetError
from match.ir.attributes import Own
from match.ir.constants import Structure
from match.ir.layer import Op
from match.partitioning.pattern import Match
from match.relay import relay, tvm
from match.target.own import OwnOperator, Reading
from tests.layer_data import data_of
from tests.layers_of import find

pytestmark = pytest.mark.tvm

Read = Callable[[Mapping[Any, Any]], Reading | None]


def larger(read: Read | None = None, name: str = "larger") -> OwnOperator:
    """The larger one of two tensors."""
    dataflow = relay.dataflow_pattern
    a, b = dataflow.wildcard(), dataflow.wildcard()

    def inputs(parts: Mapping[Any, Any]) -> Reading:
        return Reading((parts[a], parts[b]), b"abc")

    return OwnOperator(name, dataflow.is_op("maximum")(a, b), read or inputs, relay.maximum, 2)


def network(dtype: str = "uint8") -> tvm.IRModule:
    """Two occurrences, one of which reads the other."""
    x, y, z = (relay.var(name, shape=(1, 3, 4, 5), dtype=dtype) for name in "xyz")
    module = tvm.IRModule.from_expr(relay.Function([x, y, z], relay.maximum(relay.maximum(x, y), z)))
    return relay.transform.InferType()(module)


def test_every_occurrence_is_a_layer() -> None:
    module = network()
    first, second = find(module, [larger()])
    assert isinstance(first, Match)
    assert isinstance(second, Match)
    assert [x.source for x in first.inputs] == ["x", "y"]
    assert second.inputs[0] is first.root
    layer = second.layer
    assert (layer.op, layer.what, layer.k, layer.ox, layer.oy) == (Op.OWN, "larger", 5, 4, 3)
    own = layer.get(Own)
    assert (own.inputs, own.constant_bytes, own.core) == (2, 3, "maximum")
    assert np.array_equal(data_of(second.constants, Structure).entries, np.frombuffer(b"abc", np.uint8))


def test_the_first_listed_operator_of_two_is_taken() -> None:
    found = find(network(), [larger(name="one"), larger(name="two")])
    assert [one.layer.what for one in found if isinstance(one, Match)] == ["one", "one"]


@pytest.mark.parametrize("shared", [False, True])
def test_what_is_read_inside_stays(shared: bool) -> None:
    """Another operator needs the value between both."""
    dataflow = relay.dataflow_pattern
    x = dataflow.wildcard()

    def read(parts: Mapping[Any, Any]) -> Reading:
        return Reading((parts[x],))

    pattern = dataflow.is_op("negative")(dataflow.is_op("abs")(x))
    own = OwnOperator("both", pattern, read, lambda x: relay.negative(relay.abs(x)), 1)
    given = relay.var("x", shape=(1, 3, 4, 5), dtype="int8")
    inside = relay.abs(given)
    body = relay.Tuple([relay.negative(inside), relay.sign(inside)]) if shared else relay.negative(inside)
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([given], body)))
    assert [one.layer.what for one in find(module, [own]) if isinstance(one, Match)] == ([] if shared else ["both"])


def test_what_is_not_read_is_no_layer() -> None:
    assert find(network(), [larger(lambda _: None)]) == ()


@pytest.mark.parametrize(
    ("dtype", "read", "sentence"),
    [
        ("uint8", lambda _: 1 // 0, r"the operator larger of a module: its read\(\): ZeroDivisionError: .*"),
        (
            "uint8",
            lambda _: Reading(()),
            r".* reads 2 tensors of 8 bits and its output's shape, not uint8 \[1, 3, 4, 5\]; .*",
        ),
        ("int32", None, ".* reads 2 tensors of 8 bits and its output's shape, not int32 .*"),
    ],
)
def test_an_operator_that_fails_is_a_sentence(dtype: str, read: Read | None, sentence: str) -> None:
    with pytest.raises(TargetError, match=sentence):
        find(network(dtype), [larger(read)])
