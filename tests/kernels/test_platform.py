"""The GAP9 host platform keeps its contract and reports what breaks it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.harness import Copy, Harness
from tests.kernels.toolchain import PROJECT, SANITIZE, STRICT, compile_c, gap9_sources

pytestmark = pytest.mark.cc

OK, PLATFORM, MEMORY, TRANSFER, COMPUTE = 0, -1, -2, -3, -4
FRESH = 0xA5  # what a new block is filled with
Scenario = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """Runs one scenario of platform_scenarios.c."""
    sources = [*gap9_sources(), PROJECT / "tests" / "kernels" / "platform_scenarios.c"]
    program: Path = compile_c(sources, tmp_path_factory.mktemp("platform") / "scenarios", *STRICT, *SANITIZE)

    def run(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, name], capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("late_copy_in", [1, OK, 9, OK]),
        ("late_copy_out", [5, OK, 6, OK]),
        ("missing_wait", [TRANSFER]),
        ("lost_transfer", [TRANSFER]),
        ("second_wait", [TRANSFER]),
        ("copy_outside_l1", [TRANSFER]),
        ("whole_l1", [1, 1, 1, 1, 1, OK]),
        ("whole_l2", [1, 1, OK]),
        ("leaked_block", [MEMORY]),
        ("late_kernel", [OK, 0, COMPUTE, OK, *[8] * 8, COMPUTE, OK]),
        ("kernel_of_the_control_core", [0, 1, 0]),
        ("kernel_without_wait", [COMPUTE]),
        ("ne16_without_wait", [COMPUTE]),
        ("ne16_takes_two", [OK, OK, COMPUTE, OK, OK, COMPUTE, 7, 8, OK]),
        (
            "job_queue",
            [0, -2, 70, 0x001, 1, -2, 71, 0x101, -1, 0x100, 0, 2, 0x001, 1, 0, OK],
        ),
        ("barrier", [*[n for cores in range(1, 9) for n in (OK, 200 % cores)], PLATFORM, PLATFORM, 0, OK]),
        ("closed", [PLATFORM, 1, PLATFORM]),
    ],
)
def test_scenario(scenario: Scenario, name: str, printed: list[int]) -> None:
    result = scenario(name)
    assert (result.returncode, result.stderr) == (0, "")
    assert [int(line) for line in result.stdout.split()] == printed


@pytest.mark.parametrize("name", ["byte_behind", "byte_before", "after_free"])
def test_access_outside_a_block_is_caught(scenario: Scenario, name: str) -> None:
    result = scenario(name)
    assert result.returncode != 0
    assert "AddressSanitizer: use-after-poison" in result.stderr


@settings(max_examples=50)
@given(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9)),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.booleans(),
)
def test_copies_have_any_shape(
    harness: Harness, shape: tuple[int, int, int], outside: tuple[int, int], inside: tuple[int, int], into: bool
) -> None:
    """Rows and planes that lie apart by the numbers in `outside` and `inside`, in either direction."""
    planes, rows, row_bytes = shape

    def layout(gaps: tuple[int, int]) -> tuple[tuple[int, int], int]:
        row_stride = row_bytes + gaps[0]
        plane_stride = rows * row_stride + gaps[1]
        extent = (planes - 1) * plane_stride + (rows - 1) * row_stride + row_bytes
        return (plane_stride, row_stride), extent if planes and rows else 0

    external_strides, external_extent = layout(outside)
    local_strides, local_extent = layout(inside)
    rng = np.random.default_rng(0)
    external = rng.integers(0, 256, external_extent, np.uint8)
    local = rng.integers(0, 256, local_extent, np.uint8)
    copied = harness.copy(Copy(into, shape, external_strides, local_strides), external, local)
    source, expected = (external, local.copy()) if into else (local, external.copy())
    source_strides, target_strides = (external_strides, local_strides)[:: 1 if into else -1]
    for plane, row in np.ndindex(planes, rows):
        begin = plane * target_strides[0] + row * target_strides[1]
        origin = plane * source_strides[0] + row * source_strides[1]
        expected[begin : begin + row_bytes] = source[origin : origin + row_bytes]
    np.testing.assert_array_equal(copied, expected)
