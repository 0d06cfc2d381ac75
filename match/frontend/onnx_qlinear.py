"""Operators on integers that TVM's importer lacks, or computes in fewer cases than onnxruntime.

- TVM's importer lacks QLinearMatMul and QLinearWhere.
- Here QLinearConv and ConvInteger also take sequences and volumes, and MatMulInteger takes two tensors of two types.
- QLinearLeakyRelu and QLinearSoftmax are right without attributes and in old opsets, too.
- QGemm may have float32 outputs.

Each takes an operator's inputs, its attributes and the model's parameters, and returns Relay, as importers of TVM do.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_elementwise import Converter, Inputs
from match.relay import relay, tvm
from match.relay.rewrite import constant

_WINDOWS = ("kernel_shape", "strides", "dilations")


def zero_points(expr: relay.Expr) -> relay.Expr:
    """Zero points as int32, constants at once."""
    if isinstance(expr, relay.Constant):
        return relay.const(expr.data.numpy().astype("int32"))
    return relay.cast(expr, "int32")


def one_number(expr: relay.Expr) -> relay.Expr:
    """A constant of one number, which PyTorch exports with an axis, without it; all else as it is."""
    if isinstance(expr, relay.Constant) and tuple(expr.data.shape) == (1,):
        return relay.const(expr.data.numpy().reshape(()))
    return expr


def _qlinear_conv(inputs: Inputs, attributes: Any, params: Any) -> relay.Expr:
    """QLinearConv, written as QDQ files have it: a Conv of numbers between dequantize and quantize."""
    x, *given, bias = [*inputs, None][:9]
    x_scale, x_zero, weights, scales, zeros, scale, zero = (one_number(one) for one in given if one is not None)
    _check_axes("QLinearConv", x, attributes)
    filters = _extents(weights)[0]
    for what, numbers in (("scales", scales), ("zero points", zeros)):
        count = math.prod(_extents(numbers))
        if count not in (1, filters):
            raise _refused("QLinearConv", attributes, f"with {count} {what} for {filters} filters")
    operands = [
        relay.qnn.op.dequantize(x, x_scale, zero_points(x_zero)),
        relay.qnn.op.dequantize(weights, scales, zero_points(zeros), axis=0),
    ]
    if bias is not None:  # it counts in steps of the sums
        operands.append(relay.qnn.op.dequantize(bias, _product(x_scale, scales), relay.const(0), axis=0))
    return _quantized(relay.frontend.onnx.Conv.get_converter(1)(operands, attributes, params), scale, zero)


def _qlinear_matmul(inputs: Inputs, attributes: Any, params: Any) -> relay.Expr:
    """QLinearMatMul, written as QDQ files have it: a MatMul of numbers between dequantize and quantize."""
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = (one_number(one) for one in inputs if one is not None)
    columns = _extents(b)[-1]
    for what, numbers, most in (("rows", (a_scale, a_zero), 1), ("columns", (b_scale, b_zero), columns)):
        if any(math.prod(_extents(given)) not in (1, most) for given in numbers):
            raise _refused("QLinearMatMul", attributes, f"with other scales or zero points for its {what}")
    operands = [
        relay.qnn.op.dequantize(a, a_scale, zero_points(a_zero)),
        relay.qnn.op.dequantize(b, b_scale, zero_points(b_zero), axis=len(_extents(b)) - 1),
    ]
    return _quantized(relay.frontend.onnx.MatMul.get_converter(1)(operands, attributes, params), scale, zero)


def _qlinear_where(inputs: Inputs, attributes: Any, params: Any) -> relay.Expr:
    """QLinearWhere, written as QDQ files have it: a Where of numbers between dequantize and quantize."""
    condition, x, x_scale, x_zero, y, y_scale, y_zero, scale, zero = (
        one_number(one) for one in inputs if one is not None
    )
    chosen = [
        relay.qnn.op.dequantize(x, x_scale, zero_points(x_zero)),
        relay.qnn.op.dequantize(y, y_scale, zero_points(y_zero)),
    ]
    where = relay.frontend.onnx.Where.get_converter(9)
    return _quantized(where([condition, *chosen], attributes, params), scale, zero)


def _qlinear_leaky_relu(inputs: Inputs, attributes: Any, params: Any) -> relay.Expr:
    """QLinearLeakyRelu. Its slope is 0.01 if the file gives none; TVM's importer then takes 1."""
    slope = float(attributes.get("alpha", np.float32(0.01)))
    return _of_one(lambda x, _attributes, _params: relay.nn.leaky_relu(*x, slope), inputs, attributes, params)


def _qlinear_softmax(inputs: Inputs, attributes: Any, params: Any) -> relay.Expr:
    """QLinearSoftmax. Before opset 13 a row is all axes from `axis` on; TVM's importer knows rows of one axis alone."""
    along = {"axis": -1, **attributes}
    return _of_one(relay.frontend.onnx.Softmax.get_converter(int(attributes["opset"])), inputs, along, params)


def _of_one(convert: Converter, inputs: Inputs, attributes: Any, params: Any) -> relay.Expr:
    """A function of one tensor, written as QDQ files have it; its output has the tensor's type."""
    x, x_scale, x_zero, scale, zero = (one_number(one) for one in inputs if one is not None)
    numbers = convert([relay.qnn.op.dequantize(x, x_scale, zero_points(x_zero))], attributes, params)
    dtype = relay.transform.InferTypeLocal(x).dtype
    return relay.qnn.op.quantize(numbers, scale, zero_points(zero), out_dtype=dtype)


def _qgemm(inputs: Inputs, attributes: Any, params: Any) -> relay.Expr:
    """QGemm, written as QDQ files have it: a Gemm of numbers. They stay numbers without a scale of the output."""
    a, a_scale, a_zero, b, b_scale, b_zero = (one_number(one) for one in inputs[:6] if one is not None)
    bias, scale, zero = (None if one is None else one_number(one) for one in [*inputs, None, None, None][6:9])
    if (scale is None) != (zero is None):
        raise _refused("QGemm", attributes, "with a scale or a zero point of its output but without the other")
    factor = attributes.get("alpha", 1.0)
    if factor != 1:  # of the scales onnxruntime multiplies this one first
        a_scale = _product(relay.const(np.float32(factor)), a_scale)
    columns = 0 if attributes.get("transB", 0) else 1
    operands = [
        relay.qnn.op.dequantize(a, a_scale, zero_points(a_zero)),
        relay.qnn.op.dequantize(b, b_scale, zero_points(b_zero), axis=columns),
    ]
    if bias is not None:  # it counts in steps of the sums
        steps = _product(a_scale, b_scale)
        operands.append(relay.qnn.op.dequantize(bias, steps, relay.const(0), axis=len(_extents(bias)) - 1))
    transposed = {name: attributes[name] for name in ("transA", "transB") if name in attributes}
    numbers = relay.frontend.onnx.Gemm.get_converter(1)(operands, transposed, params)
    return numbers if scale is None or zero is None else _quantized(numbers, scale, zero)


def _quantized(numbers: relay.Expr, scale: relay.Expr, zero: relay.Expr) -> relay.Expr:
    return relay.qnn.op.quantize(
        numbers, scale, zero_points(zero), out_dtype=relay.transform.InferTypeLocal(zero).dtype
    )


def _matmul_integer(inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    """MatMulInteger, whose outputs are sums of 32 bits; TVM's own asks for tensors of one type."""
    a, b, *zeros = [*inputs, None, None][:4]
    a_zero, b_zero = (relay.const(0) if one is None else one_number(zero_points(one)) for one in zeros)
    if math.prod(_extents(a_zero)) != 1:
        raise _refused("MatMulInteger", attributes, "with other zero points for its rows")
    one = relay.const(np.float32(1))
    product: Any = relay.frontend.onnx.qmatmul
    return product(a, b, a_zero, b_zero, one, one, _extents(b)[-1], "int32")


def _conv_integer(inputs: Inputs, attributes: Any, params: Any) -> relay.Expr:
    """ConvInteger, whose outputs are sums of 32 bits: of maps, and of sequences as maps of one row."""
    x, weights, *zeros = [*inputs, None, None][:4]
    axes = _check_axes("ConvInteger", x, attributes)
    convert: Any = relay.frontend.onnx.ConvInteger.get_converter(10)
    if axes == 2:
        return convert([x, weights, *zeros], attributes, params)
    if axes == 3:
        raise _refused("ConvInteger", attributes, "of volumes")
    pads = attributes.get("pads", (0, 0))
    of_rows = {name: (1, *attributes[name]) for name in _WINDOWS if name in attributes}
    sums = convert(
        [relay.expand_dims(x, 2), relay.expand_dims(weights, 2), *zeros],
        {**attributes, **of_rows, "pads": (0, pads[0], 0, pads[1])},
        params,
    )
    return relay.squeeze(sums, [2])


def _check_axes(kind: str, x: relay.Expr | None, attributes: Any) -> int:
    """The number of axes that windows of a convolution have.

    Raises:
        tvm.error.OpNotImplemented: there are more than three, or none.
    """
    axes = len(_extents(x)) - 2
    if axes not in (1, 2, 3):
        raise _refused(kind, attributes, f"of tensors with {axes + 2} axes")
    return axes


def _extents(x: relay.Expr | None) -> tuple[int, ...]:
    assert x is not None
    return tuple(int(extent) for extent in relay.transform.InferTypeLocal(x).shape)


def _product(x_scale: relay.Expr, scales: relay.Expr) -> relay.Expr:
    """The scales of sums, in float32, constants at once."""
    first, second = constant(x_scale), constant(scales)
    if first is None or second is None:
        return relay.multiply(x_scale, scales)
    return relay.const(np.multiply(first, second))


def _refused(kind: str, attributes: Any, what: str) -> Exception:
    name = attributes["tvm_custom"]["name"]
    return tvm.error.OpNotImplemented(f"not implemented: {kind} ({name}) {what}")


QLINEAR: MappingProxyType[str, Converter] = MappingProxyType(
    {
        "ConvInteger": _conv_integer,
        "MatMulInteger": _matmul_integer,
        "QGemm": _qgemm,
        "QLinearConv": _qlinear_conv,
        "QLinearLeakyRelu": _qlinear_leaky_relu,
        "QLinearMatMul": _qlinear_matmul,
        "QLinearSoftmax": _qlinear_softmax,
        "QLinearWhere": _qlinear_where,
    }
)
