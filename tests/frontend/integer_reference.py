"""Integer ONNX networks computed from the definition: integers of 64 bits, divisions as fractions, floor at the end."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

Array = npt.NDArray[Any]


def run(proto: onnx.ModelProto, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs by name; inputs are integers of any type."""
    values: dict[str, Array] = {name: array.astype(np.int64) for name, array in inputs.items()}
    for tensor in proto.graph.initializer:
        array = numpy_helper.to_array(tensor)
        # Bytes are weights, and weights are signed.
        values[tensor.name] = (array.view(np.int8) if array.dtype == np.uint8 else array).astype(np.float64)
    for node in proto.graph.node:
        attributes = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        if node.op_type == "Constant":
            values[node.output[0]] = numpy_helper.to_array(attributes["value"]).astype(np.float64)
            continue
        values[node.output[0]] = compute(node.op_type, [values[name] for name in node.input], attributes)
    return {output.name: values[output.name].astype(np.int64) for output in proto.graph.output}


def windows(x: Array, size: tuple[int, ...], strides: list[int], pads: list[int], fill: float) -> Array:
    """Shape (N, C, OY, OX, FY, FX)."""
    widths = ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3]))
    x = np.pad(x.astype(np.float64), widths, constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(x, size, axis=(2, 3))
    return view[:, :, :: strides[0], :: strides[1]]


def conv(x: Array, weights: Array, attributes: Mapping[str, Any]) -> Array:
    strides, pads = attributes.get("strides", [1, 1]), attributes.get("pads", [0] * 4)
    seen = windows(x, weights.shape[2:], strides, pads, 0)
    groups = attributes.get("group", 1)
    outputs, depth = weights.shape[0] // groups, weights.shape[1]
    result = np.zeros((x.shape[0], weights.shape[0], *seen.shape[2:4]))
    for group, output in itertools.product(range(groups), range(outputs)):
        channel = group * outputs + output
        part = seen[:, group * depth : (group + 1) * depth]
        result[:, channel] = np.einsum("nchwyx,cyx->nhw", part, weights[channel])
    return result


def requant_shift(x: Array, mul: Any, add: Any, div: float, signed: bool, levels: int) -> Array:
    low, high = (-(levels // 2), levels // 2 - 1) if signed else (0, levels - 1)
    return np.clip(np.floor((x * mul + add) / div + 0.5), low, high)


def compute(op: str, x: list[Array], attributes: Mapping[str, Any]) -> Array:
    match op:
        case "Conv":
            result = conv(x[0], x[1], attributes)
            return result if len(x) < 3 else result + x[2].reshape(1, -1, 1, 1)
        case "MatMul":
            return x[0] @ x[1]
        case "Gemm":
            return x[0] @ (x[1].T if attributes.get("transB") else x[1]) + (x[2] if len(x) > 2 else 0)
        case "Mul":
            return x[0] * x[1]
        case "Div":
            return x[0] / x[1]
        case "Floor":
            return np.floor(x[0])
        case "Clip":
            low, high = (x[1], x[2]) if len(x) > 2 else (attributes["min"], attributes["max"])
            return np.clip(np.floor(x[0]), low, high)
        case "Relu":
            return np.maximum(x[0], 0)
        case "Cast" | "Identity":
            return x[0]
        case "MaxPool":
            pads = attributes.get("pads", [0] * 4)
            seen = windows(x[0], tuple(attributes["kernel_shape"]), attributes["strides"], pads, -np.inf)
            return seen.max(axis=(4, 5))
        case "AveragePool":
            seen = windows(x[0], tuple(attributes["kernel_shape"]), attributes["strides"], [0] * 4, 0)
            return seen.mean(axis=(4, 5))
        case "GlobalAveragePool":
            return x[0].mean(axis=(2, 3), keepdims=True)
        case "Flatten":
            return x[0].reshape(len(x[0]), -1)
        case "Reshape":
            return x[0].reshape(x[1].astype(int))
        case "Pad":
            pads = attributes["pads"]
            return np.pad(x[0], [(pads[axis], pads[axis + 4]) for axis in range(4)])
        case "RequantShift":
            div, signed, levels = (
                float(numpy_helper.to_array(attributes[name]).reshape(-1)[0])
                for name in ("div", "signed", "n_levels_out")
            )
            return requant_shift(x[0], x[1], x[2], div, bool(signed), int(levels))
        case "Add" if "in1_mul" in attributes:
            sides = [
                requant_shift(
                    value,
                    attributes[f"{side}_mul"],
                    attributes[f"{side}_add"],
                    2.0 ** attributes[f"{side}_shift"],
                    False,
                    attributes[f"{side}_n_levels"],
                )
                for side, value in zip(("in1", "in2"), x, strict=True)
            ]
            return requant_shift(
                sides[0] + sides[1],
                attributes["out_mul"],
                attributes["out_add"],
                2.0 ** attributes["out_shift"],
                bool(attributes["out_signed"]),
                attributes["out_n_levels"],
            )
        case "Add":
            return x[0] + x[1]
    raise NotImplementedError(op)
