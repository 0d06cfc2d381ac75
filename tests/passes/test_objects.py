"""The Python objects of a network's expressions: TVM's order, one each."""

from __future__ import annotations

import numpy as np
import pytest

from match.relay import relay, tvm
from match.relay.objects import expressions, main_function
from match.relay.rewrite import constant
from tests.seeds import seeded

pytestmark = pytest.mark.tvm


def network(seed: int) -> tvm.IRModule:
    """Operators of random earlier ones, some of them in tuples, two outputs."""
    rng = np.random.default_rng(seed)
    values = [relay.var(name, shape=(2, 4)) for name in ("a", "b")]
    parameters = list(values)
    for _ in range(20):
        first, second = (values[int(n)] for n in rng.integers(0, len(values), 2))
        made = [
            relay.add(first, second),
            relay.nn.relu(first),
            relay.multiply(first, relay.const(np.float32(rng.normal()))),
            relay.split(relay.concatenate([first, second], 0), 2, 0)[int(rng.integers(2))],
        ]
        values.append(made[int(rng.integers(len(made)))])
    body = relay.Tuple([values[-1], values[int(rng.integers(2, len(values)))]])
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(parameters, body)))


@seeded(5, 100)
def test_order_is_tvms(seed: int) -> None:
    module = network(seed)
    order: list[relay.Expr] = []
    relay.analysis.post_order_visit(module["main"].body, order.append)
    assert expressions(main_function(module)) == [expr for expr in order if not isinstance(expr, tvm.ir.Op)]


@seeded(5, 100)
def test_an_expression_is_one_object(seed: int) -> None:
    module = network(seed)
    main = main_function(module)
    assert main_function(module) is main
    assert expressions(main) is expressions(main)
    objects = {id(expr) for expr in expressions(main)}
    assert len({expr.handle.value for expr in expressions(main)}) == len(objects)
    read = [x for expr in expressions(main) if isinstance(expr, relay.Call) for x in expr.args]
    assert {id(x) for x in [*read, main.body]} <= objects


def test_another_main_is_seen() -> None:
    module = network(0)
    main_function(module)
    module["main"] = relay.Function([], relay.const(1.0))
    assert [constant(expr) for expr in expressions(main_function(module))] == [1.0]


def test_a_kept_array_cannot_be_changed() -> None:
    array = constant(relay.const(np.zeros(3, np.int32)))
    assert array is not None
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
