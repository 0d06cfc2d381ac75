"""The constants of a group in parts."""

from __future__ import annotations

import pytest
from match.mapping.group_parts import MOST_FETCHES, MOST_PARTS, constant_parts

from match.codegen.shared_text import MOST_BLOCKS
from match.ir.group import MOST_INPUTS, grouped
from match.ir.layer import Axis, Component, Dim, Layer, Op, Operand, Role
from match.mapping.memory import Memory

pytestmark = pytest.mark.unit

MEMORY = Memory("L1", 1 << 20, alignment=8)


def group(operators: int, outside: int = 1) -> Layer:
    """Operators in a row, the first of which reads `outside` tensors."""
    layer = Layer("add", Op.ADD, 8, 1, 1, 1, 1, 1)
    links = [tuple(~number for number in range(outside)), *((number,) for number in range(operators - 1))]
    return grouped([layer] * operators, tuple(links))


def constants(*sizes: tuple[int, int]) -> Operand:
    """Components of (operator, bytes)."""
    components = (
        Component(f"part_{number}", (Axis(Dim.FX, size, window=size),), operator=operator)
        for number, (operator, size) in enumerate(sizes)
    )
    return Operand("weights", Role.CONSTANT, tuple(components))


def test_a_part_ends_with_an_operator() -> None:
    """Components are aligned; small ones wait for more, the last part is what is left."""
    operand = constants((0, 4095), (0, 3), (1, 100), (2, 9000), (4, 8), (5, 1))
    found = constant_parts(group(6), operand, MEMORY)
    assert [tuple(part) for part in found] == [(0, 2, 0, 4104), (1, 2, 4104, 9104), (4, 2, 13208, 16)]


def test_operators_without_constants_wait_for_none() -> None:
    found = constant_parts(group(4), constants((2, 5000), (3, 5000)), MEMORY)
    assert [part.operator for part in found] == [2, 3]


@pytest.mark.parametrize(("outside", "most"), [(1, MOST_PARTS), (9, 5), (12, 2)])
def test_code_serves_so_many_transfers(outside: int, most: int) -> None:
    """Parts are larger then."""
    found = constant_parts(group(40, outside), constants(*((number, 6000) for number in range(40))), MEMORY)
    assert len(found) == most
    assert sum(part.components for part in found) == 40
    assert found[-1].start + found[-1].bytes == 40 * 6000


def test_blocks_of_a_group_are_not_more_than_code_serves() -> None:
    """Beside what is fetched these are the output and the scratch."""
    assert max(MOST_FETCHES, MOST_INPUTS + 1) + 2 <= MOST_BLOCKS
