"""The product that functions of a pixel are made of: its last bit seldom reaches an output of 8 bits."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

import match

pytestmark = pytest.mark.cc

KERNELS = Path(match.__file__).parent / "kernels" / "pulp"


def test_products_are_rounded_half_up(tmp_path: Path) -> None:
    source, library = tmp_path / "product.c", tmp_path / "product.so"
    source.write_text(
        '#include "match_pulp_fixed_point.h"\n'
        "int32_t product(int32_t a, int32_t b);\n"
        "int32_t product(int32_t a, int32_t b) { return match_fixed_product(a, b); }\n"
    )
    folders = f"-I{KERNELS}", f"-I{KERNELS.parent / 'include'}"
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *folders, str(source)]
    subprocess.run([*command, "-o", str(library)], check=True)
    product = ctypes.CDLL(str(library)).product
    pairs = np.random.default_rng(0).integers(-(2**31) + 1, 2**31, (500, 2)).tolist()
    halves = [(2**30, 1), (2**30, -1), (3 * 2**15, 2**15), (-3 * 2**15, 2**15), (2**31 - 1, 2**31 - 1)]
    for a, b in [*pairs, *halves]:
        assert product(a, b) == (a * b + 2**30) // 2**31
