"""Operators between DEQUANTIZE and the network's outputs: TFLite Micro's numbers, or refused as floating point."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tflite.case import written
from tests.tflite.cases import by_operator
from tests.tflite.compare import compare, in_relay
from tests.tflite.real_numbers import with_real_numbers

pytestmark = pytest.mark.tvm

CASES = by_operator()

COMPUTED = (
    *("ABS", "ARG_MAX", "ARG_MIN", "BATCH_TO_SPACE_ND", "CONCATENATION", "DEPTH_TO_SPACE", "EXPAND_DIMS", "GATHER"),
    *("GATHER_ND", "HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "MAXIMUM", "MINIMUM", "MIRROR_PAD", "PACK", "PAD", "PADV2"),
    *("REDUCE_MAX", "REDUCE_MIN", "RELU", "RELU6", "RESHAPE", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "RSQRT"),
    *("SELECT_V2", "SLICE", "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT", "STRIDED_SLICE", "TRANSPOSE", "UNPACK"),
)
"""Those that are compiled, but for TANH and ELU, whose last bit depends on the C library."""


@pytest.mark.parametrize("name", COMPUTED)
def test_real_numbers_are_those_of_tflite_micro(tmp_path: Path, name: str) -> None:
    file = written(CASES[name][:4])
    compare(with_real_numbers(file.data), tmp_path / "real.tflite", file.samples(4), file.outputs, in_relay)
