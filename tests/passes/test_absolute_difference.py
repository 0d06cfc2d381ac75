"""The absolute value of a difference of two activations, as ONNX writes it, against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.ir.layer import Op
from tests.passes.one_operator import distances, integers, references

pytestmark = pytest.mark.tvm

PAIRS = (1, 1, 256, 256)
"""All pairs of two 8-bit values."""


def model_of(dtype: str, scales: tuple[float, float, float], zeros: tuple[int, int, int]) -> onnx.ModelProto:
    """Quantize nodes around Sub and Abs; `scales` and `zeros`, above the lowest value, are of a, b and the output."""
    low = int(np.iinfo(dtype).min)
    constants = {
        **{f"s_{name}": np.float32(scale) for name, scale in zip("abo", scales, strict=True)},
        **{f"z_{name}": np.dtype(dtype).type(low + zero) for name, zero in zip("abo", zeros, strict=True)},
    }
    nodes = [
        node
        for name in "ab"
        for node in (
            helper.make_node("QuantizeLinear", [name, f"s_{name}", f"z_{name}"], [f"levels_{name}"]),
            helper.make_node("DequantizeLinear", [f"levels_{name}", f"s_{name}", f"z_{name}"], [f"real_{name}"]),
        )
    ]
    nodes += [
        helper.make_node("Sub", ["real_a", "real_b"], ["difference"]),
        helper.make_node("Abs", ["difference"], ["distance"]),
        helper.make_node("QuantizeLinear", ["distance", "s_o", "z_o"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "distance",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, PAIRS) for name in "ab"],
        [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def pairs(scales: tuple[float, float, float], zeros: tuple[int, int, int]) -> dict[str, np.ndarray]:
    """Numbers that are quantized to each pair of levels."""
    a, b = np.indices((256, 256)).reshape(2, *PAIRS)
    numbers = ((levels - zero) * scale for levels, scale, zero in zip((a, b), scales, zeros, strict=False))
    return {name: each.astype(np.float32) for name, each in zip("ab", numbers, strict=True)}


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
    model = model_of(dtype, scales, zeros)
    module = integers(model)
    assert references(module, Op.ABSOLUTE_DIFFERENCE) == [True]
    assert not distances(model, module, pairs(scales, zeros)).any()


def test_halves_that_no_tables_have() -> None:
    """Every other difference is a half of an output's step, which goes to an even one: a table of pairs."""
    scales, zeros = (0.5, 0.5, 1.0), (120, 100, 0)
    model = model_of("uint8", scales, zeros)
    module = integers(model)
    assert references(module, Op.ABSOLUTE_DIFFERENCE) == []
    assert not distances(model, module, pairs(scales, zeros)).any()
