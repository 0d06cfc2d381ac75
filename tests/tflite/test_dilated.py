"""Dilated convolutions in three operators, as TensorFlow writes those that it does not join."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from match.frontend import load
from match.graph.moves import Move
from match.graph.sums import Convolution
from match.graph.value import Graph
from tests.frontend.refusals import refused
from tests.passes.tflite_models import Micro, TfliteModel
from tests.tflite.compare import compare, in_c, in_relay

pytestmark = pytest.mark.cc

Pair = tuple[int, int]
X, Z = (0.1, 5), (0.3, -3)
"""Scales and zero points in front of the convolution and behind it."""


@dataclass(frozen=True)
class Dilated:
    """SPACE_TO_BATCH_ND, a convolution, BATCH_TO_SPACE_ND; of a sequence with a change of shape on both sides.

    blocks, pads, crops: by axis, of a sequence one. apart: whether a PAD of its own pads, which TFLite Micro computes
    as the schema defines it, while its SPACE_TO_BATCH_ND pads with a value that it never sets.
    """

    extents: tuple[int, ...] = (8, 8)
    blocks: tuple[int, ...] = (2, 2)
    pads: tuple[Pair, ...] = ((2, 2), (2, 2))
    crops: tuple[Pair, ...] = ((0, 0), (0, 0))
    kernel: tuple[int, ...] = (3, 3)
    batch: int = 1
    depthwise: bool = False
    padding: int = 1
    stride: int = 1
    activation: int = 0

    def file(self, *, apart: bool = False, open_batch: bool = False) -> bytes:
        model, rng = TfliteModel(), np.random.default_rng(0)
        depth, filters = 4, 4 if self.depthwise else 6

        def numbers(values: Any) -> int:
            return model.tensor(np.shape(values), "int32", data=np.array(values))

        none = [(0, 0)] * len(self.blocks)
        images = 1 if open_batch else self.batch * int(np.prod(self.blocks))
        padded = [extent + sum(pair) for extent, pair in zip(self.extents, self.pads, strict=True)]
        inner = [extent // block for extent, block in zip(padded, self.blocks, strict=True)]
        made = [
            -(-(extent - (side - 1) * self.padding) // self.stride)
            for extent, side in zip(inner, self.kernel, strict=True)
        ]
        final = [one * block - sum(pair) for one, block, pair in zip(made, self.blocks, self.crops, strict=True)]
        sequence = len(self.extents) == 1
        given = x = model.tensor((self.batch, *self.extents, depth), "int8", *X)
        if apart:
            widths = numbers([(0, 0), *self.pads, (0, 0)])
            x = model.operator("PAD", [x, widths], model.tensor((self.batch, *padded, depth), "int8", *X), "PadOptions")
        blocks, widths = numbers(self.blocks), numbers(none if apart else self.pads)
        cut = model.tensor((images, *inner, depth), "int8", *X)
        x = model.operator("SPACE_TO_BATCH_ND", [x, blocks, widths], cut, "SpaceToBatchNDOptions")
        kernel = (1, *self.kernel) if sequence else self.kernel
        if sequence:
            axis = numbers(1)
            row = model.tensor((images, 1, *inner, depth), "int8", *X)
            x = model.operator("EXPAND_DIMS", [x, axis], row, "ExpandDimsOptions")
            made = [1, *made]
        shape = (1, *kernel, depth) if self.depthwise else (filters, *kernel, depth)
        values = rng.integers(-127, 128, shape)
        scales = np.linspace(0.01, 0.02, filters)
        weights = model.tensor(shape, "int8", scales, data=values, axis=3 if self.depthwise else 0)
        bias = model.tensor((filters,), "int32", scales * 0.1, data=rng.integers(-900, 900, filters))
        y = model.tensor((images, *made, filters), "int8", *Z)
        name, options = ("DEPTHWISE_CONV_2D", "Depthwise") if self.depthwise else ("CONV_2D", "")
        how: dict[str, Any] = {"depthMultiplier": 1} if self.depthwise else {}
        how |= {"strideH": self.stride, "strideW": self.stride, "padding": self.padding}
        how |= {"dilationHFactor": 1, "dilationWFactor": 1, "fusedActivationFunction": self.activation}
        x = model.operator(name, [x, weights, bias], y, f"{options}Conv2DOptions", **how)
        if sequence:
            flat = model.tensor((images, *made[1:], filters), "int8", *Z)
            x = model.operator("SQUEEZE", [x], flat, "SqueezeOptions", squeezeDims=[1])
        crops, z = numbers(self.crops), model.tensor((self.batch, *final, filters), "int8", *Z)
        model.operator("BATCH_TO_SPACE_ND", [x, blocks, crops], z, "BatchToSpaceNDOptions")
        if open_batch:
            for tensor in model.tensors:
                if tensor.buffer == 0:
                    tensor.shapeSignature = [-1, *tensor.shape[1:]]
        return model.build([given], [z])

    def check(self, path: Path, run: Any) -> None:
        """Compare all bytes with TFLite Micro's of the file whose padding is apart."""
        shape = (3, self.batch, *self.extents, 4)
        samples = {"t0": np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)}
        compare(self.file(), path, samples, ("all",), run, Micro(self.file(apart=True), 1))


JOINED = {
    "of Keras": Dilated(),
    "without padding": Dilated(pads=((0, 0), (0, 0))),
    "by channel": Dilated(depthwise=True, activation=1),
    "of two images": Dilated(batch=2),
    "of other blocks by axis": Dilated((7, 9), (1, 3), ((1, 1), (3, 3)), kernel=(3, 3)),
    "padded on one side": Dilated((9, 8), (2, 2), ((3, 0), (0, 2)), kernel=(2, 3)),
    "of a border that is cut off": Dilated((7, 7), (2, 2), ((3, 2), (2, 3)), ((1, 0), (0, 1))),
    "of a sequence": Dilated((16,), (4,), ((8, 0),), ((0, 0),), (3,)),
    "of a sequence by channel": Dilated((15,), (2,), ((2, 3),), ((0, 1),), (3,), depthwise=True),
}

APART = {
    "more is cut off than was added": Dilated((8, 8), (2, 2), ((0, 0), (0, 0)), ((1, 0), (0, 0))),
    "images are padded": Dilated(padding=0),
    "steps": Dilated((10, 10), (2, 2), ((0, 0), (0, 0)), stride=2),
}


def graph_of(path: Path) -> Graph:
    network = load(path).network
    assert isinstance(network, Graph)
    return network


@pytest.mark.parametrize("case", JOINED)
def test_three_operators_are_one_convolution(case: str, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    JOINED[case].check(path, in_relay)
    operators = [value.operator for value in graph_of(path).values]
    assert any(isinstance(one, Convolution) and max(one.dilation) > 1 for one in operators)
    assert not any(isinstance(one, Move) and one.turns for one in operators)


@pytest.mark.parametrize("case", APART)
def test_what_is_no_dilated_convolution_stays(case: str, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    APART[case].check(path, in_relay)
    assert any(isinstance(value.operator, Move) and value.operator.turns for value in graph_of(path).values)


def test_dilated_convolutions_in_c(tmp_path: Path) -> None:
    JOINED["of Keras"].check(tmp_path / "net.tflite", in_c)


@pytest.mark.parametrize("case", JOINED)
def test_open_batches_of_dilated_convolutions(case: str, tmp_path: Path) -> None:
    """The file has a number of images that is none, and TFLite Micro's result is none."""
    dilated = JOINED[case]
    path = tmp_path / "net.tflite"
    path.write_bytes(dilated.file(open_batch=True))
    sentence = refused(path)
    assert "has SPACE_TO_BATCH_ND (operator 0 at " in sentence
    images = dilated.batch * int(np.prod(dilated.blocks))
    assert f"which begins a dilated convolution of an open batch: the file says that it makes 1 of {images}" in sentence
    assert "convert the model with a batch of 1, in Keras keras.Input(shape, batch_size=1)" in sentence
