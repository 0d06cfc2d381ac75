"""The absolute value of a difference of two activations, as ONNX writes it, against onnxruntime."""

from __future__ import annotations

import pytest

from match.ir.layer import Op
from tests.passes.one_operator import distances, integers, references
from tests.passes.two_operands import pairs, quantized_pair

pytestmark = pytest.mark.tvm

CASES = {
    "one scale and zero point": ((0.031337, 0.031337, 0.029173), (120, 120, 0)),
    "two of each": ((0.0134391, 0.0397813, 0.0452217), (76, 169, 0)),
    "outputs that begin in the middle": ((0.031337, 0.027182, 0.051413), (120, 99, 128)),
    "two outputs": ((0.031337, 0.027182, 0.051413), (120, 99, 254)),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("case", CASES)
def test_all_pairs(case: str, dtype: str) -> None:
    scales, zeros = CASES[case]
    model = quantized_pair(["Sub", "Abs"], dtype, scales, zeros)
    module = integers(model)
    assert references(module, Op.ABSOLUTE_DIFFERENCE) == [True]
    assert not distances(model, module, pairs(scales, zeros)).any()


def test_halves_that_no_tables_have() -> None:
    """Every other difference is a half of an output's step, which goes to an even one: a table of pairs."""
    scales, zeros = (0.5, 0.5, 1.0), (120, 100, 0)
    model = quantized_pair(["Sub", "Abs"], "uint8", scales, zeros)
    module = integers(model)
    assert references(module, Op.ABSOLUTE_DIFFERENCE) == []
    assert not distances(model, module, pairs(scales, zeros)).any()
