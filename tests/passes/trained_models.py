"""Networks as quantization-aware training exports them: float weights that operators quantize, and normalizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]


class TrainedModel:
    """A chain of operators with random weights; `current` names the last tensor.

    bits: of weights, which a Clip behind their QuantizeLinear limits if there are fewer than 8.
    per_channel: whether each output channel's weights have a scale of their own.
    """

    def __init__(self, shape: Sequence[int], *, bits: int = 8, per_channel: bool = True, opset: int = 17) -> None:
        self.shape, self.channels, self.bits, self.per_channel, self.opset = (
            list(shape),
            shape[1],
            bits,
            per_channel,
            opset,
        )
        self.rng = np.random.default_rng(4)
        self.current = "x"
        self._nodes: list[Any] = []
        self._initializers: list[Any] = []

    def constant(self, values: npt.ArrayLike) -> str:
        """A constant of the values' own type."""
        name = f"c{len(self._initializers)}"
        self._initializers.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Append an operator on the last tensor and others."""
        self.current = self.apply(kind, self.current, *inputs, **attributes)
        return self.current

    def apply(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Append an operator on these tensors."""
        name = f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], name=f"{kind}_{name}", **attributes))
        return name

    def split(self, *sizes: int) -> tuple[str, ...]:
        """Append a split of the channels; the last tensor is its first part."""
        parts = tuple(f"t{len(self._nodes)}_{number}" for number in range(len(sizes)))
        inputs = self.current, self.constant(np.array(sizes))
        self._nodes.append(helper.make_node("Split", inputs, parts, name=f"Split_{parts[0]}", axis=1))
        self.current, self.channels = parts[0], sizes[0]
        return parts

    def quantize(self, scale: float | Array, dtype: str = "uint8", zero_point: int | Array = 0) -> str:
        """Bring the last tensor to 8 bits and back, with parameters of one axis, as PyTorch exports them.

        They may be one for each channel.
        """
        scales = np.reshape(scale, -1).astype(np.float32)
        zero_points = np.broadcast_to(zero_point, scales.shape).astype(dtype)
        parameters = self.constant(scales), self.constant(zero_points)
        self.add("QuantizeLinear", *parameters)
        return self.add("DequantizeLinear", *parameters)

    def weights(self, shape: Sequence[int], axis: int = 0) -> str:
        """Float weights, quantized and dequantized by operators."""
        values = self.rng.normal(0, 1, shape).astype(np.float32)
        most = 2 ** (self.bits - 1) - 1
        others = tuple(dim for dim in range(len(shape)) if dim != axis)
        largest = np.abs(values).max(axis=others) if self.per_channel else np.abs(values).max()
        scale = (largest / most).astype(np.float32)
        parameters = self.constant(scale), self.constant(np.zeros(scale.shape, np.int8))
        attributes = {"axis": axis} if self.per_channel else {}
        quantized = self.apply("QuantizeLinear", self.constant(values), *parameters, **attributes)
        if self.bits < 8:
            quantized = self.apply("Clip", quantized, *(self.constant(np.int8(end)) for end in (-most, most)))
        return self.apply("DequantizeLinear", quantized, *parameters, **attributes)

    def conv(self, filters: int, kernel: Sequence[int] = (3, 3), group: int = 1, **attributes: Any) -> str:
        """A convolution without a bias."""
        weights = self.weights((filters, self.channels // group, *kernel))
        self.channels = filters
        return self.add("Conv", weights, kernel_shape=list(kernel), group=group, **attributes)

    def normalize(self, scale: float = 0.05) -> str:
        """Batch normalization; one channel in four turns its sign, and the last one is switched off."""
        gamma = self.rng.uniform(0.5, 1.5, self.channels) * scale
        gamma[::4] *= -1
        gamma[-1] = 0
        mean, beta = self.rng.normal(0, 1, (2, self.channels)) * [[1], [scale]]
        variance = self.rng.uniform(0.5, 2, self.channels)
        parameters = [self.constant(numbers.astype(np.float32)) for numbers in (gamma, beta, mean, variance)]
        return self.add("BatchNormalization", *parameters)

    def build(self, dtype: str = "float32") -> Any:
        """The model, whose output has a type."""
        graph = helper.make_graph(
            self._nodes,
            "trained",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(self.current, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)],
            self._initializers,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        return onnx.shape_inference.infer_shapes(model)
