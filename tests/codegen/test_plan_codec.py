from __future__ import annotations

from dataclasses import replace

import pytest

from match.dispatch.plan_codec import decode, encode
from match.errors import ScheduleError, TargetError
from match.ir.layer import Dim, Op, Padding
from match.mapping.schedule import Loop
from tests.codegen.harness import plan
from tests.codegen.layers import make
from tests.codegen.mock_target import EXTERNAL_API

pytestmark = pytest.mark.cc

PLANS = [
    plan(
        make(Op.CONV2D, 3, 8, 9, 8, window=(3, 3), padding=Padding(1, 0, 2, 1), negative_step=True), [Loop(Dim.K, 3, 8)]
    ),
    plan(make(Op.ADD, 4, 4, 5, 6)),
    plan(make(Op.MAX_POOL2D, 4, 4, 5, 6, window=(2, 2))),
    replace(plan(make(Op.ADD, 4, 4, 5, 6)), external=EXTERNAL_API, constants_at="network"),
]


@pytest.mark.parametrize("item", PLANS, ids=lambda item: item.layer.op)
def test_plans_come_back_equal(item: object) -> None:
    again = decode(encode(item))  # pyright: ignore[reportArgumentType]
    assert again == item
    assert type(again.layer.padding) is Padding
    assert type(again.layer.op) is Op
    assert encode(again) == encode(item)  # pyright: ignore[reportArgumentType]


def test_every_byte_survives() -> None:
    item = replace(PLANS[1], constants=bytes(range(256)))
    assert decode(encode(item)).constants == bytes(range(256))


@pytest.mark.parametrize("text", ["", "{}", "null", '{"symbol": 1}', encode(PLANS[1])[:-1]])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(TargetError, match="plan cannot be read"):
        decode(text)


def test_a_schedule_that_does_not_fit_is_refused() -> None:
    text = encode(PLANS[0]).replace('"size":1048576', '"size":16')
    with pytest.raises((ScheduleError, TargetError), match="which has 16"):
        decode(text)
