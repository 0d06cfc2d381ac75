"""Networks of signals: one dimension, some channels."""

from __future__ import annotations

from match.devtools.zoo.layers import (
    LINEAR,
    RELU,
    SIGNED,
    Input,
    ZooLayer,
    ZooNetwork,
    add,
    causal,
    conv,
    dense,
    last_state,
    linear,
    max_pool,
    pooled,
    reorder,
    states,
)
from match.devtools.zoo.sizes import check_sizes, rounded


def tcn(width: float = 1.0, resolution: int = 256, classes: int = 10) -> ZooNetwork:
    """A temporal convolutional network (Bai et al., 2018, Figure 1) of `resolution` samples of 16 channels.

    6 blocks of two causal convolutions, dilated twice as much in each.
    """
    check_sizes(width, resolution, classes)
    filters = rounded(32 * width)
    x: ZooLayer = Input("signal", (), (16, resolution), SIGNED)
    for block in range(6):
        name, dilation = f"block{block}", 1 << block
        inner = causal(f"{name}_conv1", causal(f"{name}_conv0", x, filters, 3, dilation), filters, 3, dilation)
        kept = x if x.shape == inner.shape else conv(f"{name}_kept", x, filters, (1,), activation=LINEAR)
        x = add(f"{name}_add", kept, inner, RELU)
    return ZooNetwork(f"tcn-{width}-{resolution}", dense("scores", pooled(x), classes))


def gru_keywords(width: float = 1.0, resolution: int = 98, classes: int = 12) -> ZooNetwork:
    """Keywords in `resolution` frames of 10 cepstral coefficients, by a GRU (after Zhang et al., 2017, Section 4).

    A convolution over 5 frames, every second one, is in front.
    """
    check_sizes(width, resolution, classes)
    x = conv("conv", Input("cepstrum", (), (10, resolution), SIGNED), rounded(48 * width), (5,), 2)
    steps = reorder("steps", x, (1, 0))
    return ZooNetwork(
        f"gru_keywords-{width}-{resolution}",
        dense("scores", last_state("gru", steps, "GRU", rounded(64 * width)), classes),
    )


def crnn(width: float = 1.0, resolution: int = 128, classes: int = 37) -> ZooNetwork:
    """Letters in a line of text of 32 rows and `resolution` columns (after Shi et al., 2017, Table 1).

    Convolutions make a sequence of columns, and an LSTM in both directions scores each of them.
    """
    check_sizes(width, resolution, classes, multiple=8)
    x: ZooLayer = Input("line", (), (1, 32, resolution), SIGNED)
    for stage, filters in enumerate((32, 64, 64)):
        x = max_pool(f"pool{stage}", conv(f"conv{stage}", x, rounded(filters * width)))
    filters, rows, columns = x.shape
    steps = reorder("steps", x, (2, 0, 1), after=(columns, filters * rows))
    both = states("lstm", steps, "LSTM", rounded(64 * width), directions=2)
    return ZooNetwork(f"crnn-{width}-{resolution}", linear("scores", both, classes))


def ecg(width: float = 1.0, resolution: int = 1024, classes: int = 5) -> ZooNetwork:
    """Residual convolutions of an electrocardiogram (after Ribeiro et al., 2020, Figure 3): 12 leads, windows of 16.

    A block has a quarter of the samples of the one before; maxima that it takes beside are a convolution here.
    """
    check_sizes(width, resolution, classes, multiple=256)
    x: ZooLayer = conv("conv", Input("signal", (), (12, resolution), SIGNED), rounded(64 * width), (16,))
    for block, filters in enumerate((128, 196, 256, 320)):
        name, count = f"block{block}", rounded(filters * width)
        inner = conv(f"{name}_conv1", conv(f"{name}_conv0", x, count, (16,)), count, (16,), 4, LINEAR)
        x = add(f"{name}_add", conv(f"{name}_kept", x, count, (1,), 4, LINEAR), inner, RELU)
    return ZooNetwork(f"ecg-{width}-{resolution}", dense("scores", pooled(x), classes))
