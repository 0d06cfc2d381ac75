"""Layers for tests of code generation: random constants, and what comes out by definition, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.ir.constants import LayerConstants
from match.ir.layer import TWO_INPUTS, Layer, Op, Padding
from match.ir.requantization import Requantization

Uint8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Case:
    """A layer with its constants and inputs, the latter of shape (height, width, channels)."""

    layer: Layer
    constants: LayerConstants
    inputs: tuple[Uint8, ...]

    def expected(self) -> Uint8:
        """Output, shape (height, width, channels)."""
        layer, requant = self.layer, self.constants.requantization
        if self.constants.table is not None:
            return self.constants.table[self.inputs[0]]
        if layer.op is Op.MAX_POOL2D:
            return np.clip(_windows(self, 0).max(axis=(2, 3)), *layer.clip).astype(np.uint8)
        assert requant is not None
        if layer.op is Op.ADD:
            assert self.constants.addend_multipliers is not None
            a, b = (x.astype(np.int64) * m for x, m in zip(self.inputs, self.constants.addend_multipliers, strict=True))
            return requant((a + b).reshape(-1, 1)).reshape(a.shape).astype(np.uint8)
        if layer.op is Op.MATRICES:
            assert self.constants.zero_points is not None
            a, b = (x.astype(np.int64) - zero for x, zero in zip(self.inputs, self.constants.zero_points, strict=True))
            acc = np.einsum("yxc,ykc->yxk", a, b)
            return requant(acc.reshape(-1, 1)).reshape(acc.shape).astype(np.uint8)
        if layer.op is Op.AVG_POOL2D:
            acc = _windows(self, layer.pad_value).sum(axis=(2, 3))
        else:
            assert self.constants.weights is not None
            weights = self.constants.weights.astype(np.int64)
            if layer.op is Op.DEPTHWISE_CONV2D:
                acc = np.einsum("yxijc,cij->yxc", _windows(self, layer.pad_value), weights[..., 0])
            else:
                seen = _windows(self, layer.pad_value)
                outputs = layer.group_outputs if layer.op is Op.GROUPED_CONV2D else layer.k
                parts = [
                    np.einsum(
                        "yxijc,kijc->yxk", seen[..., g * layer.c :][..., : layer.c], weights[g * outputs :][:outputs]
                    )
                    for g in range(len(weights) // outputs)
                ]
                acc = np.concatenate(parts, axis=2)
        return requant(acc).astype(np.uint8)


def _windows(case: Case, pad_value: int) -> npt.NDArray[np.int64]:
    """What every output pixel sees, shape (oy, ox, fy, fx, channels)."""
    layer = case.layer
    top, left, bottom, right = layer.padding
    padded = np.pad(case.inputs[0].astype(np.int64), ((top, bottom), (left, right), (0, 0)), constant_values=pad_value)
    rows = [[oy * layer.stride[0] + f * layer.dilation[0] for f in range(layer.fy)] for oy in range(layer.oy)]
    columns = [[ox * layer.stride[1] + f * layer.dilation[1] for f in range(layer.fx)] for ox in range(layer.ox)]
    return padded[np.array(rows)[:, None, :, None], np.array(columns)[None, :, None, :]]


def make(
    op: Op,
    channels_in: int,
    channels_out: int,
    height: int,
    width: int,
    *,
    window: tuple[int, int] = (1, 1),
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    padding: Padding = Padding(),
    negative_step: bool = False,
    seed: int = 0,
    name: str = "layer",
) -> Case:
    """A layer over an input of height x width x channels_in, with random constants that use the whole output range."""
    rng = np.random.default_rng(seed)
    reach = [(f - 1) * d + 1 for f, d in zip(window, dilation, strict=True)]
    oy = (height + padding.top + padding.bottom - reach[0]) // stride[0] + 1
    ox = (width + padding.left + padding.right - reach[1]) // stride[1] + 1
    weighted = op in (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D, Op.DENSE)
    grouped = op is Op.GROUPED_CONV2D  # as many groups as channels are asked for
    dense_k = op in (Op.CONV2D, Op.DENSE, Op.MATRICES)
    layer = Layer(
        name=name,
        op=op,
        k=channels_out if dense_k else channels_in,
        c=channels_in if dense_k else channels_out % 3 + 1 if grouped else 1,
        group_outputs=channels_out // 3 + 1 if grouped else 1,
        oy=oy,
        ox=ox,
        iy=height,
        ix=width,
        fy=window[0],
        fx=window[1],
        stride=stride,
        dilation=dilation,
        padding=padding,
        pad_value=int(rng.integers(0, 256)) if any(padding) else 0,
        weight_dtype="int8" if weighted else "",
        clip=(3, 250),
    )
    weights = (
        rng.integers(-128, 128, (layer.output_channels, layer.fy, layer.fx, layer.c)).astype(np.int8)
        if weighted
        else None
    )
    count = 1 if op in TWO_INPUTS else layer.output_channels
    terms = layer.c * layer.fy * layer.fx
    # Accumulators are spread over about 100 * 128 * sqrt(terms); pooling sums are all positive.
    scale = 2**20 / (
        terms if op is Op.AVG_POOL2D else 100 * max(1.0, terms**0.5) if weighted or op is Op.MATRICES else 2
    )
    requantization = Requantization(
        multiplier=np.ones(1, np.int64) if op is Op.ADD else (scale * rng.uniform(0.5, 1, count)).astype(np.int64) + 1,
        bias=rng.integers(0, 2**27 if weighted or op is Op.MATRICES else 2**10, count),
        shift=np.full(count, 20, np.int64),
        clip=layer.clip,
        negative_below=rng.integers(-1000, 0, count) if negative_step else None,
        negative_step=2**19 if negative_step else 0,
    )
    inputs = tuple(
        rng.integers(0, 256, (height, width, layer.input_channels)).astype(np.uint8)
        for _ in range(2 if op is Op.ADD else 1)
    )
    if op is Op.MATRICES:
        inputs = (inputs[0], rng.integers(0, 256, (height, channels_out, channels_in)).astype(np.uint8))
    addend = (int(rng.integers(2**18, 2**19)), int(rng.integers(2**18, 2**19))) if op is Op.ADD else None
    requant = None if op in (Op.MAX_POOL2D, Op.LOOKUP) else requantization
    table = rng.permutation(256).astype(np.uint8) if op is Op.LOOKUP else None
    zero_points = (int(rng.integers(256)), int(rng.integers(256))) if op is Op.MATRICES else None
    return Case(layer, LayerConstants(weights, requant, addend, table, zero_points=zero_points), inputs)
