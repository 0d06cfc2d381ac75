"""Networks that concatenate, shuffle, transpose and gate: on the cluster, and equal to onnxruntime."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import match
from match.devtools.zoo.layers import (
    LINEAR,
    Input,
    ZooLayer,
    ZooNetwork,
    channels,
    concat,
    conv,
    dense,
    enlarge,
    function,
    interleave,
    multiply,
    pooled,
    shuffle,
    squeezed,
)
from match.devtools.zoo.qdq import write
from match.devtools.zoo.quantize import calibrate
from match.dispatch.plan import IN_PLACE
from tests.devtools.zoo import reference
from tests.sampled import in_turn

pytestmark = pytest.mark.cc


def gated() -> ZooNetwork:
    """Squeeze and excite, SiLU and hard swish on a map that is no multiple of anything."""
    x: ZooLayer = conv("conv", Input("image", (), (3, 11, 9), (-1.0, 1.0)), 12, activation=LINEAR)
    x = multiply("silu", x, function("sigmoid", x, "Sigmoid"))
    weights = function("gate", conv("weigh", squeezed("mean", x), 12, (1, 1), activation=LINEAR), "HardSigmoid")
    x = multiply("excited", x, weights)
    return ZooNetwork("gated", conv("last", x, 5, (1, 1), activation=LINEAR))


def moved() -> ZooNetwork:
    """Concatenations of tensors that others read, too, of unlike widths, and a shuffle of what is split."""
    image = Input("image", (), (3, 9, 7), (-1.0, 1.0))
    a, b = conv("a", image, 10), conv("b", image, 6, (1, 1))
    x = shuffle("shuffled", concat("joined", a, b), 2)
    split = conv("pointwise", channels("part", x, 4, 9), 7, (1, 1))
    x = concat("again", x, concat("nested", split, function("leaky", a, "LeakyRelu")), b, a, split)
    return ZooNetwork("moved", dense("scores", pooled(x), 10))


def enlarged() -> ZooNetwork:
    """Maps repeated two and three times, into a scale of their own, beside a map that is as large."""
    x = conv("a", Input("image", (), (3, 12, 18), (-1.0, 1.0)), 6)
    small = conv("small", conv("half", x, 7, stride=2), 5, stride=3, activation=LINEAR)
    up = concat("joined", enlarge("twice", enlarge("thrice", small, 3)), x)
    return ZooNetwork("enlarged", conv("last", up, 4, (1, 1), activation=LINEAR))


def interleaved() -> ZooNetwork:
    """Channels that become pixels, twice: of three features each, then of one."""
    x = conv("a", Input("image", (), (3, 7, 5), (-1.0, 1.0)), 12)
    x = conv("b", interleave("twice", x, 2), 9, activation=LINEAR)
    return ZooNetwork("interleaved", conv("last", interleave("thrice", x, 3), 4, (1, 1), activation=LINEAR))


def model_of(network: ZooNetwork, activations: str) -> onnx.ModelProto:
    return write(network, calibrate(network, activations, 0))


def outputs(compiled: match.CompiledModel, x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return next(iter(compiled.run({compiled.inputs[0].name: x}, sanitize=True).values()))


EXPECTED = {
    "gated": {"multiply", "lookup"},
    "moved": {"concatenate", "transpose", IN_PLACE},
    "enlarged": {"concatenate", "transpose"},
    "interleaved": {"transpose"},
}
"""What is on the cluster, or costs nothing."""


@pytest.mark.parametrize(
    ("network", "activations"), in_turn([(gated,), (moved,), (enlarged,), (interleaved,)], [("uint8",), ("int8",)])
)
def test_every_output_is_onnxruntimes(network: Callable[[], ZooNetwork], activations: str) -> None:
    model = model_of(network(), activations)
    x = reference.noise(model, 6)
    (expected,) = reference.run(model, x)
    compiled = match.compile(model, "gap9", modules=["cluster"], numerics="exact", input_type="float32", fuse=False)
    assert np.array_equal(outputs(compiled, x), expected)
    found = {layer.op for layer in compiled.layers if layer.module == "cluster" or layer.in_place}
    assert found >= EXPECTED[network.__name__]
