"""Blocks of a memory that are stacked: where they lie, when their bytes come back, how many there are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.kernels.toolchain import PACKAGE, PROJECT, SANITIZE, STRICT, compile_c

pytestmark = pytest.mark.cc

MOST = 64


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = [PACKAGE / "kernels/chip/match_stack.c", PROJECT / "tests/kernels/stack.c"]
    return compile_c(sources, tmp_path_factory.mktemp("stack") / "stack", *STRICT, *SANITIZE)


def taken(program: Path, size: int, script: str) -> list[int]:
    """Offsets of the blocks that are taken."""
    result = subprocess.run([program, str(size)], input=script, capture_output=True, text=True, check=True)
    return [int(line) for line in result.stdout.split()]


def test_blocks_are_aligned_and_fill_the_memory(program: Path) -> None:
    assert taken(program, 24, "+5 +1 +7 +1 +0") == [0, 8, 16, -1, 24]
    assert taken(program, 20, "+5 +12 +1 +0") == [0, 8, -1, 20]
    assert taken(program, 24, "+21 +1") == [0, -1]
    assert taken(program, 24, "+25 +24") == [-1, 0]


def test_bytes_come_back_with_those_of_all_younger_blocks(program: Path) -> None:
    assert taken(program, 32, "+8 +8 +8 -8 +8 +8") == [0, 8, 16, 24, -1]
    assert taken(program, 32, "+8 +8 +8 -8 -16 +16 +8 +1") == [0, 8, 16, 8, 24, -1]
    assert taken(program, 32, "+8 +8 -0 -8 +32") == [0, 8, 0]


def test_of_blocks_at_one_place_the_youngest_comes_back(program: Path) -> None:
    assert taken(program, 32, "+0 +8 -0 +8") == [0, 0, 0]


def test_there_are_so_many_blocks_and_no_more(program: Path) -> None:
    script = "+8 " * (MOST + 1) + f"-{8 * (MOST - 1)} +8"
    assert taken(program, 4096, script) == [*range(0, 8 * MOST, 8), -1, 8 * (MOST - 1)]
