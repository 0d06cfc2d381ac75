"""What the control core does for operators: what reports call it, and what its cost depends on."""

from __future__ import annotations

import numpy as np
import pytest

from match.graph import moves
from match.graph.elements import Lookup, Quantize
from match.graph.float_average import FloatAverage
from match.graph.integers import Elementwise, Extreme, Once, Place
from match.graph.maximum import Maximum
from match.graph.moves import FILL, Concatenate
from match.graph.operator import Operator
from match.graph.rows import RealSoftmax
from match.graph.sums import Convolution, Dense
from match.graph.value import Value, computed
from match.graph.work import Loop, Work
from match.ir.float_border import FloatQuantization
from match.ir.graph import Tensor
from match.ir.layer import Op, Padding
from match.ir.requantization import Requantization

pytestmark = pytest.mark.unit

MAP = Tensor((1, 4, 6, 8), "int8")


def work(operator: Operator, x: Tensor = MAP) -> Work:
    value = computed(operator, Value(x))
    return operator.work(value.tensor, [x])


def sums(channels: int) -> Requantization:
    ones, zeros = np.ones(channels, np.int64), np.zeros(channels, np.int64)
    return Requantization(ones, zeros, zeros, (-128, 127))


def convolution(weights: tuple[int, ...], groups: int) -> Convolution:
    return Convolution(
        weights=np.ones(weights, np.int8),
        requantization=sums(16 if groups == 1 else 8),
        dtype="int8",
        strides=(1, 1),
        padding=Padding(1, 1, 1, 1),
        dilation=(1, 1),
        groups=groups,
        kernel_layout="HWIO" if groups == 1 else "HWOI",
        pad_value=0,
    )


def test_products_of_layers() -> None:
    """As many as each output sums, by the definition of a convolution."""
    whole = work(convolution((3, 3, 8, 16), 1))
    assert (whole.op, whole.macs, whole.loop) == (Op.CONV2D, 4 * 6 * 16 * 3 * 3 * 8, Loop.PRODUCTS)
    depthwise = work(convolution((3, 3, 8, 1), 8))
    assert (depthwise.op, depthwise.macs) == (Op.DEPTHWISE_CONV2D, 4 * 6 * 8 * 3 * 3)
    dense = work(Dense(weights=np.ones((5, 8), np.int8), requantization=sums(5), dtype="int8"), Tensor((3, 8), "int8"))
    assert (dense.op, dense.macs) == (Op.DENSE, 3 * 5 * 8)


@pytest.mark.parametrize(
    ("move", "name"),
    [
        (moves.reshape(MAP, (24, 8)), "reshape"),
        (moves.transpose(MAP, (0, 2, 1, 3)), "transpose"),
        (moves.transpose(MAP, (1, 0, 2, 3)), "reshape"),
        (moves.take(MAP, (None, np.array([0, 2], np.int32), None, None)), "slice"),
        (moves.take(MAP, (None, None, np.array([0, 0, 5], np.int32), None)), "take"),
        (moves.take(MAP, (None, None, np.array([FILL, 0, 1], np.int32), None)), "pad"),
    ],
)
def test_moves_are_called_by_what_they_do(move: Operator, name: str) -> None:
    assert (work(move).name, work(move).loop) == (name, Loop.MOVES)


def test_reductions_and_windows_combine_what_they_read() -> None:
    largest = work(Extreme(axes=(1, 2), keepdims=False, largest=True))
    assert (largest.name, largest.combined, largest.loop) == ("max", MAP.elements, Loop.REDUCTION)
    place = work(Place(axis=3, keepdims=False, largest=False, last=False, dtype="int32"))
    assert (place.name, place.combined) == ("argmin", MAP.elements)
    pooled = work(Maximum(window=(2, 3), strides=(2, 3), padding=Padding(), dilation=(1, 1)))
    assert pooled.combined == MAP.elements


def test_means_in_floating_point() -> None:
    """They divide, as the reference does."""
    function = FloatQuantization(np.float32(0.1), 0, "int8", True)
    average = FloatAverage(
        scale=np.float32(0.1),
        zero=0,
        function=function,
        window=(2, 3),
        strides=(2, 3),
        padding=Padding(),
    )
    assert (work(average).exact, work(average).floating) == (True, True)


def test_elements() -> None:
    lookup = Lookup(outputs=np.arange(256) - 128, dtype="int8")
    assert work(lookup).loop is Loop.MOVES
    added = Elementwise(function="abs", dtype="int8")
    assert (work(added).name, work(added).loop, work(added).floating) == ("abs", Loop.ELEMENTS, False)
    real = Tensor((1, 8), "float32")
    assert work(Quantize(function=FloatQuantization(np.float32(0.1), 0, "int8", True)), real).floating
    assert work(RealSoftmax(logarithm=True), real).name == "nn.log_softmax"


def test_what_is_computed_once_is_itself_and_ends_a_loop() -> None:
    once = Once()
    assert work(once) == Work("once", Loop.END)
    array = np.arange(8)
    assert once.compute(array) is array


def test_a_concatenation_moves() -> None:
    x = Value(MAP)
    joined = computed(Concatenate(axis=3), x, x)
    assert joined.operator is not None
    assert joined.operator.work(joined.tensor, [MAP, MAP]) == Work("concatenate", Loop.MOVES)
