"""What operators of modules look like in QNN Relay, as TVM's front ends write them: one record for each shape.

What is called real is computed in floating point between a dequantize and a quantize, as ONNX files have it, and what
is called shifted in integers, as files of networks that were trained in integers have it.
"""

from __future__ import annotations

from collections.abc import Sequence

from match.byoc.patterns import Chain, QnnPattern, Region, Step
from match.ir.layer import Op


def _chain(name: str, operators: Sequence[Op], *steps: str, after_qnn: bool = False) -> Chain:
    """A chain of names; one with a question mark may be left out, and "|" is between names of which one is there.

    What is `beside` an operator is after it in brackets.
    """
    made: list[Step] = []
    for step in steps:
        names, _, beside = step.removesuffix("?").removesuffix("]").partition("[")
        made.append(Step(tuple(names.split("|")), step.endswith("?"), (beside,) if beside else ()))
    return Chain(name, frozenset(operators), tuple(made), after_qnn=after_qnn)


_CONVOLUTIONS = Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D
_OF_TWO = Op.ADD, Op.LOOKUP_SUM, Op.LOOKUP_LINE, Op.LOOKUP
_EXTREMA = Op.MAXIMUM, Op.MINIMUM
_POOLING = Op.AVG_POOL2D, Op.FLOAT_AVG_POOL2D, Op.MAX_POOL2D
_MOVES = Op.GATHER, Op.TRANSPOSE, Op.SLICE, Op.CONCATENATE
_REQUANTIZED = "nn.bias_add|add?", "nn.relu|maximum?", "qnn.requantize", "clip?"
_SHIFTED = "nn.bias_add|add?", "cast?", "multiply?", "nn.bias_add|add?", "right_shift", "clip?", "cast"
_REAL = "nn.bias_add|add[qnn.dequantize]?", "nn.relu|clip?", "qnn.quantize"
_ARITHMETIC = ("add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "clip")
_FUNCTIONS = ("cos", "erf", "exp", "log", "rsqrt", "sigmoid", "sin", "sqrt", "tanh", "nn.leaky_relu", "nn.relu")
_PIECEWISE = ("abs", "ceil", "floor", "negative", "round")
_INSIDE = (*_ARITHMETIC, *_FUNCTIONS, *_PIECEWISE)
_QNN_FUNCTIONS = "|".join(
    f"qnn.{name}"
    for name in ("abs", "erf", "exp", "hardswish", "leaky_relu", "log", "rsqrt", "sigmoid", "sqrt", "tanh")
)

PATTERNS: tuple[QnnPattern, ...] = (
    _chain("padded_conv2d", _CONVOLUTIONS, "nn.pad", "qnn.conv2d", *_REQUANTIZED),
    _chain("conv2d", _CONVOLUTIONS, "qnn.conv2d", *_REQUANTIZED),
    _chain("conv2d_transpose", _CONVOLUTIONS, "qnn.conv2d_transpose", *_REQUANTIZED),
    _chain("dense", (Op.DENSE,), "qnn.dense", *_REQUANTIZED),
    _chain("shifted_conv2d", _CONVOLUTIONS, "nn.pad?", "nn.conv2d", *_SHIFTED),
    _chain("shifted_dense", (Op.DENSE,), "nn.dense", *_SHIFTED),
    _chain("shifted_add", _OF_TWO, "cast", "add[cast]", "right_shift", "clip?", "cast"),
    _chain("batch_matmul", (Op.MATRICES,), "qnn.batch_matmul", "qnn.requantize", "clip?"),
    _chain("add", _OF_TWO, "qnn.add|qnn.subtract", "clip?"),
    _chain("multiply", (Op.MULTIPLY, Op.LOOKUP), "qnn.mul", "clip?"),
    _chain("qnn_avg_pool2d", (Op.AVG_POOL2D,), "qnn.avg_pool2d", "clip?"),
    _chain("avg_pool2d", (Op.AVG_POOL2D,), "cast", "nn.avg_pool2d", "cast", "clip?", after_qnn=True),
    _chain("mean", (Op.AVG_POOL2D,), "cast", "mean", "qnn.requantize", "clip?"),
    _chain("max_pool2d", (Op.MAX_POOL2D,), "nn.max_pool2d", "clip?"),
    _chain("softmax", (Op.SOFTMAX,), "qnn.dequantize", "nn.softmax", "qnn.quantize"),
    _chain(
        "real_pool2d",
        _POOLING,
        "qnn.dequantize",
        "nn.avg_pool2d|nn.global_avg_pool2d|nn.max_pool2d|mean",
        "qnn.quantize",
    ),
    _chain("prelu", (Op.CHANNEL_LOOKUP,), "qnn.dequantize", "nn.prelu", "qnn.quantize"),
    _chain("resize", (Op.RESIZE, Op.GATHER), "qnn.dequantize?", "image.resize2d", "qnn.quantize?"),
    Region("real_function", frozenset({Op.LOOKUP}), "qnn.dequantize", _INSIDE, "qnn.quantize"),
    _chain(
        "real_function_of_two",
        (*_OF_TWO, *_EXTREMA, Op.MULTIPLY, Op.ABSOLUTE_DIFFERENCE),
        "qnn.dequantize",
        "add|subtract|multiply|divide|maximum|minimum[qnn.dequantize]",
        "abs|nn.relu|clip?",
        "qnn.quantize",
    ),
    _chain("real_conv2d", _CONVOLUTIONS, "qnn.dequantize", "nn.conv2d[qnn.dequantize]", *_REAL),
    _chain("real_dense", (Op.DENSE,), "qnn.dequantize", "nn.dense[qnn.dequantize]", *_REAL),
    _chain("function", (Op.LOOKUP,), _QNN_FUNCTIONS),
    _chain("requantize", (Op.LOOKUP,), "qnn.requantize", "clip?"),
    _chain("clip", (Op.LOOKUP,), "clip"),
    _chain("extreme", (*_EXTREMA, Op.LOOKUP), "maximum|minimum"),
    _chain("concatenate", _MOVES, "qnn.concatenate|concatenate", "clip?"),
    _chain("move", _MOVES, "transpose|strided_slice|take|nn.pad|tile|reverse|broadcast_to"),
    _chain("sums", (*_CONVOLUTIONS, Op.DENSE), "nn.conv2d|nn.dense", "nn.bias_add|add?"),
    _chain("quantize", (Op.QUANTIZE,), "qnn.quantize"),
    _chain("dequantize", (Op.DEQUANTIZE,), "qnn.dequantize"),
)
"""All of them; of two that end at one operator the one that takes more comes first."""
