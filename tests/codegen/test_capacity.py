"""Inputs or outputs that main memory alone cannot hold are refused before anything is searched."""

from __future__ import annotations

from typing import Any

import pytest

import match
from match.codegen.capacity import check_border
from match.errors import CapacityError
from match.frontend import load
from match.relay import relay
from match.target.registry import get_target
from tests.cli.conftest import DIGITS

pytestmark = pytest.mark.cc


def quantized(shape: tuple[int, ...], *, grows: int = 1, real: bool = False) -> relay.Function:
    """A network whose output is `grows` times its input; `real`: its input is quantized inside."""
    scale, zero = relay.const(0.1), relay.const(0)
    x = relay.var("x", shape=shape, dtype="float32" if real else "int8")
    value = relay.qnn.op.quantize(x, scale, zero, out_dtype="int8") if real else x
    return relay.Function([x], relay.concatenate([value] * grows, axis=3))


@pytest.mark.parametrize("target", ["gap9", "diana"])
@pytest.mark.parametrize(
    ("network", "words"),
    [
        (quantized((1, 64, 64, 600)), "its inputs alone take 2457600 of it"),
        (quantized((1, 64, 64, 100), grows=6), "its outputs alone take 2457600 of it"),
        (
            quantized((1, 64, 64, 150), real=True),
            "smaller inputs, inputs of integers (--input-type) or a larger L2 (--l2)",
        ),
    ],
)
def test_refused_at_once(target: str, network: relay.Function, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(*_: Any) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr("match.compiled.stations.cut", unwanted)
    with pytest.raises(CapacityError) as raised:
        match.compile(network, target)
    assert words in str(raised.value)


def test_inputs_and_outputs_may_lie_in_the_same_place() -> None:
    """A float input of 1,024 bytes, and ten scores of 40."""
    model = load(DIGITS)
    check_border(model, get_target("gap9", l2=1024))
    with pytest.raises(CapacityError, match="its inputs alone take 1024 of it;"):
        check_border(model, get_target("gap9", l2=1023))
