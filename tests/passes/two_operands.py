"""Networks of operators on two quantized inputs, whose output is quantized, and all pairs of levels to feed them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PAIRS = (1, 1, 256, 256)
"""The shape of all pairs of two 8-bit values."""

Shapes = tuple[tuple[int, ...], tuple[int, ...]]
Scales = tuple[float, float, float]
Zeros = tuple[int, int, int]


def quantized_pair(
    steps: Sequence[str], dtype: str, scales: Scales, zeros: Zeros, shapes: Shapes = (PAIRS, PAIRS)
) -> onnx.ModelProto:
    """The first operator of `steps` on the two inputs, the others on its output.

    `scales` and `zeros`, above the lowest value, are of inputs a and b and of the output.
    """
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
    made = ["real_a", "real_b"]
    for number, kind in enumerate(steps):
        nodes.append(helper.make_node(kind, made, [f"made_{number}"]))
        made = [f"made_{number}"]
    nodes.append(helper.make_node("QuantizeLinear", [*made, "s_o", "z_o"], ["y"]))
    graph = helper.make_graph(
        nodes,
        "pair",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, extents)
            for name, extents in zip("ab", shapes, strict=True)
        ],
        [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def pairs(scales: Scales, zeros: Zeros) -> dict[str, np.ndarray]:
    """Numbers that are quantized to each pair of levels."""
    a, b = np.indices((256, 256)).reshape(2, *PAIRS)
    numbers = ((levels - zero) * scale for levels, scale, zero in zip((a, b), scales, zeros, strict=False))
    return {name: each.astype(np.float32) for name, each in zip("ab", numbers, strict=True)}
