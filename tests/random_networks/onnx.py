"""Random ONNX networks in QDQ form, of operators that onnxruntime computes.

`OPERATORS` lists what may come next, `REAL` what onnxruntime computes in floating point, as half of the networks have
it, and `OF_OPSET_20` what there is from that opset on. To add an operator, write a function that adds it behind a
tensor, and a line there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.random_networks.drawing import (
    Operator,
    Shape,
    UnfitError,
    alike,
    anything,
    broadcasts,
    drawn,
    few_axes,
    maps,
    rows,
)
from tests.random_networks.onnx_growing import Growing, Style, Tensor

Write = Callable[[Growing, str, Tensor], None]


def random_onnx(seed: int) -> onnx.ModelProto:
    """A model of 4 to 14 operators between quantize nodes."""
    rng = np.random.default_rng([seed, 4])
    growing = Growing(rng, style=_style(rng))
    for _ in range(growing.draw((1, 1, 2))):
        growing.input(_input_shape(growing))
    unread = list(growing.tensors)
    for number in range(int(rng.integers(4, 15))):
        _grow(growing, unread[number] if number < len(unread) else growing.pick(anything))
    read = {name for node in growing.nodes for name in node.input}
    growing.tensors[:] = [one if one.name in read else growing.read(one) for one in growing.tensors]
    return _built(growing)


def _style(rng: np.random.Generator) -> Style:
    types = (("uint8",), ("uint8",), ("int8",), ("uint8", "int8"))[int(rng.integers(4))]
    bare = (0.0, 0.0, 0.0, 0.15, 0.4)[int(rng.integers(5))]
    return Style(
        types=types,
        bare=bare,
        activated=(0.0, 0.0, 0.1, 0.3)[int(rng.integers(4))],
        twice=(0.0, 0.0, 0.0, 0.15)[int(rng.integers(4))],
        odd=(0.0, 0.0, 0.0, 0.3)[int(rng.integers(4))],
        own_pairs=bool(rng.random() < 0.3),
        opset=(17, 17, 20)[int(rng.integers(3))],
        real=bool(rng.random() < 0.5),
        weights=(*[("int8", 0)] * 4, ("uint8", 128))[int(rng.integers(5))],
    )


def _input_shape(growing: Growing) -> Shape:
    channels, batch = growing.draw((1, 2, 3, 4, 6, 8, 16)), growing.draw((1, 1, 1, 1, 1, 1, 2))
    height, width = (int(extent) for extent in growing.rng.integers(2, 15, 2))
    others = (batch, channels, 2 * width), (batch, width, channels), (batch, channels * 3)
    return growing.draw((*[(batch, channels, height, width)] * 3, *others))


def _grow(growing: Growing, tensor: Tensor) -> None:
    """Add an operator that fits a tensor, if what is drawn of it can be computed."""
    style = growing.style
    operators = OPERATORS + (REAL if style.real else ()) + (OF_OPSET_20 if style.opset >= 20 else ())
    operator = drawn(growing, operators, tensor)
    nodes, tensors = len(growing.nodes), len(growing.tensors)
    try:
        operator.write(growing, operator.name, growing.read(tensor))
    except UnfitError:
        del growing.nodes[nodes:], growing.tensors[tensors:]


def _built(growing: Growing) -> onnx.ModelProto:
    """The model: its outputs are the tensors that no operator reads, and some of the others."""
    read = {name for node in growing.nodes for name in node.input}
    made = {name for node in growing.nodes for name in node.output}
    outputs: dict[str, onnx.ValueInfoProto] = {}
    for tensor in growing.tensors:
        if tensor.name in made and (tensor.name not in read or (not tensor.unpaired and growing.chance(0.08))):
            inside = tensor.integers in made and growing.chance(0.3)
            name = tensor.integers if inside else tensor.name
            kind = np.dtype(tensor.quantization.dtype if inside and tensor.quantization else "float32")
            outputs[name] = helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(kind), tensor.shape)
    nodes = _needed(growing.nodes, list(outputs))
    needed = {name for node in nodes for name in node.input}
    constants = [constant for constant in growing.constants if constant.name in needed]
    graph = helper.make_graph(nodes, "random", growing.inputs, list(outputs.values()), constants)
    opset = helper.make_opsetid("", growing.style.opset)
    return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[opset], ir_version=9))


def _needed(nodes: Sequence[onnx.NodeProto], outputs: Sequence[str]) -> list[onnx.NodeProto]:
    """The nodes that the outputs depend on."""
    wanted, kept = set(outputs), list[onnx.NodeProto]()
    for node in reversed(nodes):
        if wanted & set(node.output):
            wanted |= set(node.input)
            kept.insert(0, node)
    return kept


def _conv(growing: Growing, name: str, x: Tensor) -> None:
    rank, channels = len(x.shape) - 2, x.shape[1]
    groups = growing.draw([1, 1, 1, channels, channels, 2 if channels % 2 == 0 else 1])
    filters = growing.draw((groups, groups, 2 * groups)) if groups > 1 else growing.draw((1, 3, 4, 8, 16, 17))
    kernel = [growing.draw([k for k in (1, 2, 3, 3, 3, 5) if k <= n]) for n in x.shape[2:]]
    fitting = [d for d in (1, 1, 1, 2) if all((k - 1) * d < n for k, n in zip(kernel, x.shape[2:], strict=True))]
    pads: dict[str, Any] = growing.draw(
        (
            {"auto_pad": "SAME_UPPER"},
            {"auto_pad": "VALID"},
            {"pads": [k // 2 for k in kernel] * 2},
            {"pads": [int(pad) for pad in growing.rng.integers(0, 2, 2 * rank)]},
        )
    )
    strides = [growing.draw((1, 1, 1, 2)) for _ in kernel]
    dilations = [1 if "auto_pad" in pads else growing.draw(fitting)] * rank
    operands = growing.weighted(x, (filters, channels // groups, *kernel), 0, biased=growing.chance(0.7))
    slides = {"strides": strides, "dilations": dilations, "group": groups, "kernel_shape": kernel}
    growing.add(name, [x, *operands], **slides, **pads)


def _transposed(growing: Growing, name: str, x: Tensor) -> None:
    kernel = [growing.draw((1, 2, 3)) for _ in x.shape[2:]]
    strides = [growing.draw((1, 2)) for _ in kernel]
    slides: dict[str, Any] = {"strides": strides, "kernel_shape": kernel}
    if growing.chance(0.4) and min((*kernel, *x.shape[2:])) > 1:
        slides |= {"pads": [1] * (2 * len(kernel)), "output_padding": [step - 1 for step in strides]}
    operands = growing.weighted(x, (x.shape[1], growing.draw((1, 3, 8)), *kernel), 1, biased=growing.chance(0.6))
    growing.add(name, [x, *operands], **slides)


def _gemm(growing: Growing, name: str, x: Tensor) -> None:
    units, transposed = growing.draw((1, 4, 10, 16)), growing.chance(0.7)
    shape = (units, x.shape[1]) if transposed else (x.shape[1], units)
    operands = growing.weighted(x, shape, 0 if transposed else 1, biased=growing.chance(0.8))
    growing.add(name, [x, *operands], transB=int(transposed))


def _matmul(growing: Growing, name: str, x: Tensor) -> None:
    """A product with weights, or with a tensor of the same batch that is transposed in front."""
    if growing.chance(0.6):
        shape = x.shape[-1], growing.draw((1, 4, 10, 16))
        growing.add(name, [x, *growing.weighted(x, shape, 1, biased=False)])
        return
    other = growing.read(growing.pick(lambda one: rows(one) and alike(x, one, -2)))
    *order, last, deepest = range(len(x.shape))
    (turned,) = growing.computed("Transpose", [other], perm=[*order, deepest, last])
    if growing.chance(0.7):
        turned = growing.paired(turned, growing.quantization(turned.values))
    growing.add(name, [x, turned])


def _numbers(growing: Growing, x: Tensor, *, positive: bool = False) -> str:
    """A constant for each element, channel or row of `x`, or for all: quantized or real numbers."""
    channel = (x.shape[1], *(1 for _ in x.shape[2:])) if len(x.shape) > 1 else x.shape
    values = growing.rng.normal(0, 1, growing.draw((x.shape, channel, x.shape[-1:], (), (1,))))
    values = np.abs(values) + 0.3 if positive else values
    return growing.levels(values) if growing.chance(0.6) else growing.constant(values)


def _binary(growing: Growing, name: str, x: Tensor) -> None:
    other = growing.read(growing.pick(lambda one: broadcasts(one, x))) if growing.chance(0.65) else _numbers(growing, x)
    pair = [x, other] if growing.chance(0.7) else [other, x]
    growing.add(name, pair)


def _quotient(growing: Growing, name: str, x: Tensor) -> None:
    growing.add(name, [x, _numbers(growing, x, positive=True)])


def _concat(growing: Growing, name: str, x: Tensor) -> None:
    axis = growing.axis(x.shape)
    fitting = [growing.pick(lambda one: alike(x, one, axis)) for _ in range(growing.draw((1, 1, 2)))]
    others = [growing.read(one) for one in fitting]
    growing.add(name, [x, *others] if growing.chance(0.5) else [*others, x], axis=axis, like=x)


def _split(growing: Growing, name: str, x: Tensor) -> None:
    axes = [axis for axis, extent in enumerate(x.shape) if extent > 1]
    if not axes:
        raise UnfitError
    axis = growing.draw(axes)
    first = int(growing.rng.integers(1, x.shape[axis]))
    sizes = growing.constant([first, x.shape[axis] - first])
    growing.add(name, [x, sizes], 2, axis=axis, like=x)


def _slice(growing: Growing, name: str, x: Tensor) -> None:
    axis, step = growing.axis(x.shape), growing.draw((1, 1, 2, -1))
    start = int(growing.rng.integers(0, x.shape[axis]))
    bounds = [start, x.shape[axis]] if step > 0 else [x.shape[axis] - 1, -x.shape[axis] - 1]
    operands = [growing.constant([value]) for value in (*bounds, axis, step)]
    growing.add(name, [x, *operands], like=x)


def _assigned(growing: Growing, name: str, x: Tensor) -> None:
    """Some indices of an axis, from another tensor."""
    axis = growing.axis(x.shape)
    part = growing.read(growing.pick(lambda one: alike(x, one, axis) and one.shape[axis] <= x.shape[axis]))
    count, extent = part.shape[axis], x.shape[axis]
    first = int(growing.rng.integers(extent - count + 1))
    places = growing.draw((np.arange(first, first + count), growing.rng.permutation(extent)[:count]))
    if name == "ScatterElements":
        indices = np.broadcast_to(places.reshape(-1, *[1] * (len(x.shape) - axis - 1)), part.shape)
        growing.add(name, [x, growing.constant(indices), part], axis=axis, like=x)
    else:
        points = np.stack(np.meshgrid(*map(np.arange, x.shape[:axis]), places, indexing="ij"), axis=-1)
        growing.add(name, [x, growing.constant(points), part], like=x)


def _pad(growing: Growing, name: str, x: Tensor) -> None:
    mode = growing.draw(("constant", "constant", "reflect", "edge"))
    widths = growing.rng.integers(0, 3, 2 * len(x.shape)) * (np.array(x.shape * 2) > 2)
    value = [growing.constant(np.float32(growing.draw((0, 0.5))))] if mode == "constant" and growing.chance(0.5) else []
    growing.add(name, [x, growing.constant(widths), *value], mode=mode, like=x)


def _transpose(growing: Growing, name: str, x: Tensor) -> None:
    order = [int(axis) for axis in growing.rng.permutation(len(x.shape))]
    growing.add(name, [x], perm=order, like=x)


def _reshape(growing: Growing, name: str, x: Tensor) -> None:
    growing.add(name, [x, growing.constant(growing.reshaped(x.shape))], like=x)


def _squeeze(growing: Growing, name: str, x: Tensor) -> None:
    axes = [axis for axis, extent in enumerate(x.shape) if extent == 1]
    if not axes or len(x.shape) < 3:
        raise UnfitError
    growing.add(name, [x, growing.constant([growing.draw(axes)])], like=x)


def _unsqueeze(growing: Growing, name: str, x: Tensor) -> None:
    growing.add(name, [x, growing.constant([growing.axis((*x.shape, 1))])], like=x)


def _expand(growing: Growing, name: str, x: Tensor) -> None:
    shape = [3 if extent == 1 and growing.chance(0.5) else extent for extent in x.shape]
    growing.add(name, [x, growing.constant(shape)], like=x)


def _resize(growing: Growing, name: str, x: Tensor) -> None:
    scales = growing.constant([1.0, 1.0, *growing.draw(((2, 2), (2, 1), (3, 2), (0.5, 0.5)))])
    mode, place = growing.draw((("nearest", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners")))
    how: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": place, "nearest_mode": "floor"}
    growing.add(name, [x, "", scales], like=x, **how)


def _pool(growing: Growing, name: str, x: Tensor) -> None:
    kernel = [growing.draw([k for k in (1, 2, 2, 3) if k <= n]) for n in x.shape[2:]]
    values: dict[str, Any] = {"kernel_shape": kernel, "strides": [growing.draw((1, 2)) for _ in kernel]}
    if growing.chance(0.4) and min(kernel) > 1:
        values["pads"] = [1] * (2 * len(kernel))
    elif min(kernel) > 1 and growing.chance(0.3):
        values["ceil_mode"] = 1  # elsewhere versions of ONNX differ in where the last window may begin
    if name == "AveragePool" and growing.chance(0.3):
        values["count_include_pad"] = 1
    growing.add(name, [x], **values, like=x)


def _mean(growing: Growing, name: str, x: Tensor) -> None:
    axes = growing.draw(([len(x.shape) - 1], [1], [2, 3] if len(x.shape) == 4 else [1]))
    keep = int(growing.chance(0.6))
    if growing.style.opset < 18:
        growing.add(name, [x], axes=axes, keepdims=keep)
    else:
        growing.add(name, [x, growing.constant(axes)], keepdims=keep)


def _moved(**attributes: Sequence[Any]) -> Write:
    """An operator of one tensor whose output may have the scale of its input; attributes are drawn from these."""

    def write(growing: Growing, name: str, x: Tensor) -> None:
        growing.add(name, [x], like=x, **{key: growing.draw(of) for key, of in attributes.items()})

    return write


def _function(**attributes: Sequence[Any]) -> Write:
    """A function of one tensor, whose attributes are drawn from these."""

    def write(growing: Growing, name: str, x: Tensor) -> None:
        growing.add(name, [x], **{key: growing.draw(of) for key, of in attributes.items()})

    return write


def _clip(growing: Growing, name: str, x: Tensor) -> None:
    low, high = growing.draw(((0.0, 6.0), (0.0, 1.0), (-1.0, 1.0), (-0.7, 2.3)))
    growing.add(name, [x, growing.constant(low), growing.constant(high)])


def _prelu(growing: Growing, name: str, x: Tensor) -> None:
    shape = growing.draw(((x.shape[1], *(1 for _ in x.shape[2:])), (1,) * (len(x.shape) - 1)))
    values = growing.rng.uniform(-0.2, 0.6, shape)
    growing.add(name, [x, growing.levels(values) if growing.chance(0.6) else growing.constant(values)])


def _erf_gelu(growing: Growing, name: str, x: Tensor) -> None:
    """GELU as PyTorch writes it: by the error function, between which nothing is quantized."""
    (divided,) = growing.computed("Div", [x, growing.constant(math.sqrt(2))])
    (error,) = growing.computed(name, [divided])
    (raised,) = growing.computed("Add", [error, growing.constant(1.0)])
    (doubled,) = growing.computed("Mul", [x, raised])
    growing.add("Mul", [doubled, growing.constant(0.5)])


def _root(growing: Growing, name: str, x: Tensor) -> None:
    growing.add(name, growing.computed(growing.draw(("Abs", "Relu")), [x]))


def _normalization(growing: Growing, name: str, x: Tensor) -> None:
    gains, biases = growing.rng.uniform(0.5, 1.5, x.shape[-1:]), growing.rng.normal(0, 0.3, x.shape[-1:])
    growing.add(name, [x, *map(growing.constant, (gains, biases))], axis=-1, epsilon=1e-5)


def _channels(x: Tensor) -> bool:
    return 3 <= len(x.shape) <= 4


def _matrix(x: Tensor) -> bool:
    return len(x.shape) == 2


def _quarters(x: Tensor) -> bool:
    return maps(x) and x.shape[1] % 4 == 0


def _moderate(x: Tensor) -> bool:
    return anything(x) and x.quantization is not None and float(x.values.max()) < 6


OPERATORS = (
    Operator("Conv", _conv, _channels, 14),
    Operator("Gemm", _gemm, _matrix, 8),
    Operator("MatMul", _matmul, rows, 4),
    Operator("Add", _binary, anything, 4),
    Operator("Sub", _binary, anything),
    Operator("Mul", _binary, anything, 2),
    Operator("Max", _binary, anything),
    Operator("Min", _binary, anything),
    Operator("Div", _quotient, anything),
    Operator("Concat", _concat, rows, 3),
    Operator("Split", _split, rows, 2),
    Operator("Slice", _slice, anything),
    Operator("ScatterElements", _assigned, rows),
    Operator("ScatterND", _assigned, rows),
    Operator("Pad", _pad, rows),
    Operator("Transpose", _transpose, rows, 2),
    Operator("Reshape", _reshape, anything),
    Operator("Flatten", _moved(axis=(1,)), rows),
    Operator("Squeeze", _squeeze, rows),
    Operator("Unsqueeze", _unsqueeze, few_axes),
    Operator("DepthToSpace", _moved(blocksize=(2,), mode=("DCR", "CRD")), _quarters),
    Operator("Expand", _expand, anything),
    Operator("MaxPool", _pool, _channels, 2),
    Operator("AveragePool", _pool, _channels, 2),
    Operator("GlobalAveragePool", _moved(), _channels),
    Operator("ReduceMean", _mean, rows),
    Operator("Relu", _function(), anything, 3),
    Operator("Clip", _clip, anything),
    Operator("LeakyRelu", _function(alpha=(0.1, 0.01, 0.3)), anything),
    Operator("Sigmoid", _function(), anything),
    Operator("HardSigmoid", _function(alpha=(0.2, 1 / 6)), anything),
    Operator("Tanh", _function(), anything),
    Operator("HardSwish", _function(), anything),
    Operator("Elu", _function(alpha=(1.0, 0.5)), anything),
    Operator("Erf", _erf_gelu, anything),
    Operator("Abs", _function(), anything),
    Operator("Exp", _function(), _moderate),
    Operator("Sqrt", _root, anything),
)
"""What a network may grow by."""

REAL = (
    Operator("ConvTranspose", _transposed, _channels, 2),
    Operator("Resize", _resize, maps),
    Operator("PRelu", _prelu, rows),
    Operator("Softmax", _function(axis=(-1,)), rows),
    Operator("LayerNormalization", _normalization, rows),
)
"""What half of the networks may grow by besides."""

OF_OPSET_20 = (Operator("Gelu", _function(approximate=("none", "tanh")), anything),)
"""What it may grow by besides in the opset 20."""
