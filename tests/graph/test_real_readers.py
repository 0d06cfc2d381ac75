"""Operators of Relay on real numbers are read as the graph's: in NumPy they compute what TVM computes of the Relay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.graph.evaluate import evaluate
from match.graph.opaque import Opaque
from match.passes.integerize import QuantizedReader
from match.relay import relay, tvm
from match.relay.execute import Executable
from match.relay.graph_reader import read_graph
from match.relay.objects import main_function
from match.relay.real_readers import read_reals

pytestmark = pytest.mark.tvm

Shape = tuple[int, ...]
Body = Callable[..., relay.Expr]

MAP = (1, 4, 8, 6)
"""Channels first."""

LAST = (1, 8, 6, 2)
"""Channels last, for depthwise layers."""


def real(*shape: int) -> relay.Expr:
    """Constants of a shape."""
    return relay.const(np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32))


def levels(shape: Shape, axis: int) -> relay.Expr:
    """Constants of 8 bits, dequantized with a scale for each index along an axis."""
    random, count = np.random.default_rng(7), shape[axis]
    integers = relay.const(random.integers(-127, 128, shape).astype(np.int8))
    scales = relay.const(random.uniform(0.1, 1, count).astype(np.float32))
    return relay.qnn.dequantize(integers, scales, relay.const(np.zeros(count, np.int32)), axis=axis)


def depthwise(axis: int) -> Body:
    """A depthwise layer with three outputs of each channel, scales along an axis of its filters."""
    return lambda x: relay.nn.conv2d(
        x,
        levels((3, 3, 2, 3), axis),
        channels=6,
        groups=2,
        kernel_size=(3, 3),
        data_layout="NHWC",
        kernel_layout="HWOI",
    )


def transposed_convolution(x: relay.Expr) -> relay.Expr:
    """A transposed convolution of 5 outputs, with steps of 2 and a row and a column behind."""
    return relay.nn.conv2d_transpose(
        x, real(4, 5, 3, 3), channels=5, kernel_size=(3, 3), strides=(2, 2), padding=(1, 1), output_padding=(1, 1)
    )


CASES: dict[str, tuple[list[Shape], Body]] = {
    "convolution": ([MAP], lambda x: relay.nn.conv2d(x, real(5, 4, 3, 3), channels=5, kernel_size=(3, 3), padding=1)),
    "transposed convolution": ([MAP], transposed_convolution),
    "depthwise, scales of inputs": ([LAST], depthwise(2)),
    "depthwise, scales of outputs": ([LAST], depthwise(3)),
    "dense, scales torn apart": ([(3, 8)], lambda x: relay.nn.dense(x, relay.reshape(levels((6, 4), 0), (3, 8)))),
    "dense of two": ([(3, 8), (5, 8)], relay.nn.dense),
    "matrices": ([(2, 3, 4), (2, 4, 5)], lambda a, b: relay.nn.batch_matmul(a, b, transpose_b=False)),
    "bias": ([MAP], lambda x: relay.nn.bias_add(x, real(4))),
    "maximum of more axes": ([MAP], lambda x: relay.maximum(x, real(1, 1, 1, 1, 1))),
    "minimum": ([MAP], lambda x: relay.minimum(relay.const(np.float32(0.3)), x)),
    "largest": ([MAP], lambda x: relay.nn.max_pool2d(x, (3, 3), padding=(1, 1))),
    "average": ([MAP], lambda x: relay.nn.avg_pool2d(x, (3, 3), padding=(1, 2))),
    "average of padding": (
        [MAP],
        lambda x: relay.nn.avg_pool2d(x, (3, 3), strides=(2, 1), padding=(1, 2), count_include_pad=True),
    ),
    "largest of a map": ([MAP], relay.nn.global_max_pool2d),
    "mean along other axes": ([MAP], lambda x: relay.mean(x, [1], exclude=True)),
    "variance": ([MAP], lambda x: relay.variance(x, [1, 2], keepdims=True)),
    "running sum": ([MAP], lambda x: relay.cumsum(x, axis=2, exclusive=True)),
    "slopes": ([MAP], lambda x: relay.nn.prelu(x, real(4))),
    "slope": ([MAP], lambda x: relay.nn.leaky_relu(x, 0.2)),
    "softmax": ([MAP], lambda x: relay.nn.softmax(x, axis=1)),
    "padding": ([MAP], lambda x: relay.nn.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)), pad_value=0.7)),
}


@pytest.mark.parametrize("name", CASES)
def test_read_operators_compute_what_tvm_computes(name: str) -> None:
    """Sums are added up in other orders: what differs is the last bits."""
    shapes, body = CASES[name]
    tensors = [relay.var(f"x{place}", shape=shape, dtype="float32") for place, shape in enumerate(shapes)]
    function = relay.Function(tensors, body(*tensors))
    module = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    fragment = QuantizedReader(OnnxruntimeArithmetic())
    graph = read_graph(main_function(module), fragment=fragment, rest=read_reals).graph
    assert not any(isinstance(value.operator, Opaque) for value in graph.values)
    random = np.random.default_rng(0)
    given = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    (expected,) = Executable(module)({f"x{place}": x for place, x in enumerate(given)})
    (found,) = evaluate(graph, given)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
