"""Integer ONNX networks of random operators: the graph, and the graph in integer form, against the definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from match.frontend import load
from match.graph.evaluate import evaluate
from match.graph.value import Graph
from match.passes.pipeline import integer_network
from tests.frontend.integer_reference import run
from tests.frontend.test_integer_onnx import Network
from tests.seeds import seeded

pytestmark = pytest.mark.tvm

SAMPLES = 3


class Drawn:
    """A network of random operators; `shape` is that of the last tensor."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.shape: tuple[int, ...] = (1, self.drawn(1, 6), self.drawn(5, 9), self.drawn(5, 9))
        self.net = Network(self.shape, TensorProto.UINT8, rng=self.rng)
        self.layer()
        for _ in range(self.drawn(0, 3)):
            self.layer() if self.rng.random() < 0.6 else self.pooled()
            if self.rng.random() < 0.3:
                self.residual()
        self.head()

    def drawn(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def layer(self) -> None:
        """A convolution that is brought back to 8 bits."""
        _, channels, rows, columns = self.shape
        groups = int(self.rng.choice([one for one in (1, 2, 3, channels) if channels % one == 0]))
        outputs = groups * self.drawn(1, 4 if groups < channels else 2)
        window = self.drawn(1, min(3, rows)), self.drawn(1, min(3, columns))
        pads = [self.drawn(0, size - 1) for size in (*window, *window)]
        strides = [self.drawn(1, 2), self.drawn(1, 2)]
        constants = [self.net.weights(outputs, channels // groups, *window)]
        if self.rng.random() < 0.5:
            constants.append(self.rng.integers(-900, 900, outputs).astype(np.float32))
        self.net.add("Conv", *constants, kernel_shape=window, pads=pads, strides=strides, group=groups)
        self._slid(window, strides, pads, outputs)
        self.requantized(outputs)

    def _slid(self, window: Any, strides: Any, pads: Any, channels: int) -> None:
        extents = [
            (extent + pads[axis] + pads[axis + 2] - window[axis]) // strides[axis] + 1
            for axis, extent in enumerate(self.shape[2:])
        ]
        self.shape = (1, channels, *extents)

    def requantized(self, channels: int) -> None:
        """As NEMO, as Quantlab, or as PLiNIO exports it."""
        extents = (channels, *[1] * (len(self.shape) - 2))
        factors = self.rng.integers(1, 90, extents if self.rng.random() < 0.7 else ()).astype(np.float32)
        terms = self.rng.integers(-(2**15), 2**15, extents if self.rng.random() < 0.7 else ()).astype(np.float32)
        shift = self.drawn(10, 16)
        if self.rng.random() < 0.4:
            signed = self.rng.random() < 0.5
            numbers = {"div": 2**shift, "signed": signed, "n_levels_out": 256}
            attributes = {name: numpy_helper.from_array(np.array([one], np.float32)) for name, one in numbers.items()}
            self.net.add("RequantShift", factors, terms, domain="PACTOps", **attributes)
            return
        self.net.add("Mul", factors)
        if self.rng.random() < 0.2:
            self.net.add("Relu")
        self.net.add("Add", terms)
        if self.rng.random() < 0.3:
            self.net.add("Mul", np.float32(3))
        self.net.add("Div", np.float32(2**shift))
        if self.rng.random() < 0.3:
            self.net.add("Add", np.float32(0.5))
        self.net.add("Floor")
        low, high = ((-128, 127), (0, 255), (0, 99))[self.drawn(0, 2)]
        self.net.add("Clip", min=float(low), max=float(high))

    def pooled(self) -> None:
        _, channels, *extents = self.shape
        if self.rng.random() < 0.2:
            pads = [0, 0, self.drawn(0, 1), self.drawn(0, 2), 0, 0, self.drawn(0, 2), self.drawn(0, 1)]
            self.net.add("Pad", pads=pads, mode="constant")
            self._slid((1, 1), (1, 1), [*pads[2:4], *pads[6:]], channels)
            return
        window = [self.drawn(1, min(3, extent)) for extent in extents]
        strides = [self.drawn(1, 2), self.drawn(1, 2)]
        op = str(self.rng.choice(["MaxPool", "AveragePool"]))
        self.net.add(op, kernel_shape=window, strides=strides)
        if op == "AveragePool":
            self.net.add("Floor")
        self._slid(window, strides, [0] * 4, channels)

    def residual(self) -> None:
        """A sum of the last tensor and of a function of it."""
        x, channels = self.net.x, self.shape[1]
        self.net.add("Conv", self.net.weights(channels, channels, 1, 1), kernel_shape=[1, 1])
        self.requantized(channels)
        a = self.net.add("Mul", inputs=[x, self.net.constant(np.float32(self.drawn(1, 40)))])
        b = self.net.add("Mul", inputs=[self.net.nodes[-2].output[0], self.net.constant(np.float32(self.drawn(1, 40)))])
        self.net.add("Add", inputs=[a, b])
        self.net.add("Div", np.float32(2 ** self.drawn(2, 6)))
        self.net.add("Floor")
        self.net.add("Clip", min=-128.0, max=127.0)

    def head(self) -> None:
        """What is handed out: a map, or sums of what is flattened."""
        if self.rng.random() < 0.3:
            return
        if self.rng.random() < 0.4:
            self.net.add("GlobalAveragePool")
            self.net.add("Floor")
            self.shape = (1, self.shape[1], 1, 1)
        self.net.add("Flatten")
        size, outputs = int(np.prod(self.shape)), self.drawn(1, 9)
        if self.rng.random() < 0.5:
            self.net.add("Gemm", self.net.weights(outputs, size), transB=1)
        else:
            self.net.add("MatMul", self.net.weights(size, outputs))
        self.shape = (1, outputs)
        if self.rng.random() < 0.5:
            self.requantized(outputs)


@seeded(25, 300)
def test_networks(seed: int, tmp_path: Path) -> None:
    net = Drawn(seed).net
    proto, path = net.model(), tmp_path / "network.onnx"
    onnx.save(proto, path)
    model = load(path)
    assert isinstance(model.network, Graph)
    rng = np.random.default_rng(seed)
    graphs = [model.network, *(integer_network(model, kind) for kind in (None, "uint8"))]
    for _ in range(SAMPLES):
        x = rng.integers(0, 256, net.shape).astype(np.uint8)
        (expected,) = run(proto, {"input": x}).values()
        for graph in graphs:
            (found,) = evaluate(graph, [x])
            np.testing.assert_array_equal(found, expected)
