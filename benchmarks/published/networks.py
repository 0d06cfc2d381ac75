"""Networks of the cells as models in the compiler's sense."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.published.cells import Convolution, Network
from match.errors import ModelError
from match.frontend import Model, load
from match.frontend.relay import from_relay
from match.relay import relay, tvm


def model(network: Network, models: Path) -> Model:
    """The network; model files are in `models`.

    Raises:
        ModelError: the file or the zoo's function is not there.
    """
    if network.file is not None:
        return load(models / network.file)
    if network.convolution is not None:
        return from_relay(_relay(network.convolution), name="convolution")
    try:
        build = getattr(import_module("match.zoo"), network.zoo or "")
    except (ImportError, AttributeError) as error:
        raise ModelError(f"match.zoo has no {network.zoo}: {error}") from error
    with TemporaryDirectory() as folder:
        file = Path(folder) / "network.onnx"
        file.write_bytes(build(**network.arguments).SerializeToString())
        return load(file)


def _relay(convolution: Convolution) -> tvm.IRModule:
    """The convolution in QNN operators, with seeded weights: int8 in and out, one scale."""
    kernel, filters = convolution.filter, convolution.filters
    shape = (kernel, kernel, convolution.channels, filters)
    weights = np.random.default_rng(0).integers(-127, 128, shape).astype(np.int8)
    scales = np.full(filters, 0.02, np.float32)
    zero = relay.const(0, "int32")
    x = relay.var("x", shape=(1, convolution.size, convolution.size, convolution.channels), dtype="int8")
    accumulator = relay.qnn.op.conv2d(
        x,
        relay.const(weights),
        zero,
        zero,
        relay.const(0.05, "float32"),
        relay.const(scales),
        kernel_size=(kernel, kernel),
        channels=filters,
        padding=[kernel // 2] * 4,
        data_layout="NHWC",
        kernel_layout="HWIO",
        out_dtype="int32",
    )
    biased = relay.nn.bias_add(accumulator, relay.const(np.zeros(filters, np.int32)), axis=3)
    output = relay.qnn.op.requantize(
        biased, relay.const(0.05 * scales), zero, relay.const(1.0, "float32"), zero, axis=3, out_dtype="int8"
    )
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], output)))
