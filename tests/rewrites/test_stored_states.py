"""States that are kept as they are read: the same outputs over time, in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from match.graph.evaluate import evaluate
from match.graph.text import arrays, parse, text
from match.graph.value import Graph
from match.rewrites.stored_states import with_stored_states

pytestmark = pytest.mark.unit

UP = "outputs=int64([{}])".format(", ".join(map(str, range(256)))) + ", dtype='uint8'"
DOWN = "outputs=int64([{}])".format(", ".join(map(str, range(-128, 128)))) + ", dtype='int8'"
HALF = "outputs=int64([{}])".format(", ".join(str(number // 2) for number in range(-128, 128))) + ", dtype='int8'"
LESS = "outputs=int64([{}])".format(", ".join(str(number // 2) for number in range(256))) + ", dtype='uint8'"
FUNCTION = "FloatQuantization(scale=float32({}), zero_point=3, dtype='int8', half_to_even=True)"


def outputs(graph: Graph, steps: int = 4) -> list[np.ndarray]:
    """The first output in some steps of a stream of random inputs."""
    rng, held = np.random.default_rng(7), list(graph.states)
    (x,) = graph.given
    found: list[np.ndarray] = []
    for _ in range(steps):
        given = rng.normal(0, 1, x.shape) if x.dtype == "float32" else rng.integers(-128, 128, x.shape)
        output, *held = evaluate(graph, [given.astype(x.dtype), *held])
        found.append(output)
    return found


def stored(source: str) -> Graph:
    """The graph after the rewrite, whose outputs are those of before."""
    before = parse(source)
    after = with_stored_states(before)
    for one, other in zip(outputs(after), outputs(before), strict=True):
        assert np.array_equal(one, other)
    assert text(parse(text(after), arrays(after))) == text(after)
    return after


def lookups(read: str, made: str) -> str:
    return f"""\
v0: int8[1, 4] = state('held', int8([[1, -2, 3, -4]]))
v1: int8[1, 4] = input('x')
v2: uint8[1, 4] = lookup(v0, {read})
v3: uint8[1, 4] = lookup(v1, {UP})
v4: uint8[1, 4] = elementwise(v2, v3, function='maximum', dtype='uint8')
v5: int8[1, 4] = lookup(v4, {made})
v0 = v5
return v4
"""


def test_what_undoes_one_another_goes() -> None:
    after = stored(lookups(UP, DOWN))
    assert [(state.dtype, state.tolist()) for state in after.states] == [("uint8", [[129, 126, 131, 124]])]
    assert text(after).count("lookup(") == 1


def test_two_functions_become_one() -> None:
    after = stored(lookups(LESS, DOWN))
    assert after.states[0].dtype == "uint8"
    assert text(after).count("lookup(") == 2


@pytest.mark.parametrize(("scale", "left"), [(0.5, 0), (0.25, 1)])
def test_real_numbers_are_kept_as_integers(scale: float, left: int) -> None:
    after = stored(f"""\
v0: float32[1, 4] = state('held', float32([[0.0, 0.5, 1.0, 99.0]]))
v1: float32[1, 4] = input('x')
v2: int8[1, 4] = quantize(v0, function={FUNCTION.format(0.5)})
v3: int8[1, 4] = quantize(v1, function={FUNCTION.format(0.5)})
v4: int8[1, 4] = elementwise(v2, v3, function='maximum', dtype='int8')
v5: float32[1, 4] = dequantize(v4, scale=float32({scale}), zero_point=3)
v0 = v5
return v5
""")
    assert [state.tolist() for state in after.states] == [[[3, 4, 5, 127]]]
    assert text(after).count("lookup(") == left


def test_axes_that_are_turned_both_ways() -> None:
    after = stored("""\
v0: int8[2, 3] = state('held', int8([[1, 2, 3], [4, 5, 6]]))
v1: int8[3, 2] = input('x')
v2: int8[3, 2] = move(v0, split=(2, 3), columns=(None, None), axes=(1, 0), shape=(3, 2))
v3: int8[3, 2] = elementwise(v1, v2, function='maximum', dtype='int8')
v4: int8[2, 3] = move(v3, split=(3, 2), columns=(None, None), axes=(1, 0), shape=(2, 3))
v0 = v4
return v3
""")
    assert [state.tolist() for state in after.states] == [[[1, 4], [2, 5], [3, 6]]]
    assert "move(" not in text(after)


def test_a_function_of_itself_stays() -> None:
    """What reads the state is what it becomes."""
    source = f"""\
v0: int8[1, 4] = state('held', int8([[100, -2, 3, -4]]))
v1: int8[1, 4] = input('x')
v2: int8[1, 4] = lookup(v0, {HALF})
v3: int8[1, 4] = elementwise(v1, v2, function='maximum', dtype='int8')
v0 = v2
return v3
"""
    assert text(stored(source)) == text(parse(source))


def test_what_is_read_as_it_is_stays() -> None:
    source = lookups(UP, DOWN).replace("return v4", "v6: int8[1, 4] = lookup(v0, " + HALF + ")\nv0 = v5\nreturn v6")
    source = source.replace("v0 = v5\nv6", "v6")
    assert text(stored(source)) == text(parse(source))
