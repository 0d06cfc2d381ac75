"""Networks for mobile devices that gate, split, shuffle and concatenate channels between separable convolutions."""

from __future__ import annotations

from match.devtools.zoo.layers import (
    LINEAR,
    POINT,
    RELU,
    SIGNED,
    Input,
    Range,
    ZooLayer,
    ZooNetwork,
    add,
    channels,
    concat,
    conv,
    dense,
    function,
    multiply,
    pooled,
    shuffle,
    squeezed,
)
from match.devtools.zoo.sizes import check_sizes, rounded


def mobilenet_v3_small(width: float = 1.0, resolution: int = 224, classes: int = 1000) -> ZooNetwork:
    """MobileNetV3-Small (Howard et al., 2019, Table 2): hard swish, squeeze and excite."""
    check_sizes(width, resolution, classes)
    x = _hard_swish("conv", _first(resolution, rounded(16 * width), LINEAR))
    # Filter, expanded channels, channels, squeeze and excite, hard swish, stride.
    blocks = (
        (3, 16, 16, True, False, 2),
        (3, 72, 24, False, False, 2),
        (3, 88, 24, False, False, 1),
        (5, 96, 40, True, True, 2),
        (5, 240, 40, True, True, 1),
        (5, 240, 40, True, True, 1),
        (5, 120, 48, True, True, 1),
        (5, 144, 48, True, True, 1),
        (5, 288, 96, True, True, 2),
        (5, 576, 96, True, True, 1),
        (5, 576, 96, True, True, 1),
    )
    for index, (side, expanded, filters, gated, hard, stride) in enumerate(blocks):
        name, inner, inside = f"block{index}", x, rounded(expanded * width)
        activation = LINEAR if hard else RELU
        if inside != x.shape[0]:
            inner = conv(f"{name}_expand", inner, inside, POINT, activation=activation)
            inner = _hard_swish(f"{name}_expand", inner) if hard else inner
        inner = conv(f"{name}_depthwise", inner, inside, (side, side), stride, activation, depthwise=True)
        inner = _hard_swish(f"{name}_depthwise", inner) if hard else inner
        inner = _excited(f"{name}_excite", inner, rounded(inside / 4), RELU, "HardSigmoid") if gated else inner
        x = _projected(name, x, inner, rounded(filters * width), stride)
    x = _hard_swish("last", conv("last", x, rounded(576 * width), POINT, activation=LINEAR))
    hidden = _hard_swish("hidden", dense("hidden", pooled(x), rounded(1024 * width)))
    return ZooNetwork(f"mobilenet_v3_small-{width}-{resolution}", dense("scores", hidden, classes))


def efficientnet_b0(width: float = 1.0, resolution: int = 224, classes: int = 1000) -> ZooNetwork:
    """EfficientNet-B0 (Tan and Le, 2019, Table 1): SiLU, squeeze and excite in every block."""
    check_sizes(width, resolution, classes)
    x = _silu("conv", _first(resolution, rounded(32 * width), LINEAR))
    block = 0
    stages = (
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    )
    for expansion, filters, repeats, first_stride, side in stages:
        for index in range(repeats):
            name, stride, inside, inner = f"block{block}", 1 if index else first_stride, expansion * x.shape[0], x
            if expansion > 1:
                inner = _silu(f"{name}_expand", conv(f"{name}_expand", x, inside, POINT, activation=LINEAR))
            inner = conv(f"{name}_depthwise", inner, inside, (side, side), stride, LINEAR, depthwise=True)
            inner = _silu(f"{name}_depthwise", inner)
            inner = _excited(f"{name}_excite", inner, max(1, x.shape[0] // 4), None, "Sigmoid")
            x = _projected(name, x, inner, rounded(filters * width), stride)
            block += 1
    x = _silu("last", conv("last", x, rounded(1280 * width), POINT, activation=LINEAR))
    return ZooNetwork(f"efficientnet_b0-{width}-{resolution}", dense("scores", pooled(x), classes))


def shufflenet_v2(width: float = 1.0, resolution: int = 224, classes: int = 1000) -> ZooNetwork:
    """ShuffleNetV2 (Ma et al., 2018, Table 5), the column 1x times a width: split, concatenate, shuffle.

    Its 3x3 maximum pooling at stride 2 is a convolution at stride 2 here.
    """
    check_sizes(width, resolution, classes)
    x: ZooLayer = _first(resolution, rounded(24 * width), RELU)
    x = conv("stem", x, x.shape[0], stride=2, depthwise=True)
    for stage, (filters, repeats) in enumerate(((116, 4), (232, 8), (464, 4))):
        half = rounded(filters * width / 2)
        for index in range(repeats):
            name = f"stage{stage}_block{index}"
            if index:
                kept, inner, stride = channels(f"{name}_kept", x, 0, half), channels(f"{name}_split", x, half, half), 1
            else:
                stride, inner = 2, x
                kept = conv(f"{name}_kept_depthwise", x, x.shape[0], stride=2, activation=LINEAR, depthwise=True)
                kept = conv(f"{name}_kept", kept, half, POINT)
            inner = conv(f"{name}_first", inner, half, POINT)
            inner = conv(f"{name}_depthwise", inner, half, stride=stride, activation=LINEAR, depthwise=True)
            inner = conv(f"{name}_last", inner, half, POINT)
            x = shuffle(f"{name}_shuffle", concat(f"{name}_concat", kept, inner), 2)
    x = conv("last", x, rounded(1024 * width), POINT)
    return ZooNetwork(f"shufflenet_v2-{width}-{resolution}", dense("scores", pooled(x), classes))


def ghostnet(width: float = 1.0, resolution: int = 224, classes: int = 1000) -> ZooNetwork:
    """GhostNet (Han et al., 2020, Table 1): half of the channels are cheap functions of the others."""
    check_sizes(width, resolution, classes)
    x: ZooLayer = _first(resolution, rounded(16 * width), RELU)
    # Filter, expanded channels, channels, squeeze and excite, stride.
    blocks = (
        (3, 16, 16, False, 1),
        (3, 48, 24, False, 2),
        (3, 72, 24, False, 1),
        (5, 72, 40, True, 2),
        (5, 120, 40, True, 1),
        (3, 240, 80, False, 2),
        (3, 200, 80, False, 1),
        (3, 184, 80, False, 1),
        (3, 184, 80, False, 1),
        (3, 480, 112, True, 1),
        (3, 672, 112, True, 1),
        (5, 672, 160, True, 2),
        (5, 960, 160, False, 1),
        (5, 960, 160, True, 1),
        (5, 960, 160, False, 1),
        (5, 960, 160, True, 1),
    )
    for index, (side, expanded, filters, gated, stride) in enumerate(blocks):
        name, inside = f"block{index}", rounded(expanded * width)
        inner = _ghost(f"{name}_expand", x, inside, RELU)
        if stride > 1:
            inner = conv(f"{name}_depthwise", inner, inside, (side, side), stride, LINEAR, depthwise=True)
        inner = _excited(f"{name}_excite", inner, rounded(inside / 4), RELU, "HardSigmoid") if gated else inner
        inner = _ghost(f"{name}_project", inner, rounded(filters * width), LINEAR)
        kept = x
        if stride > 1:
            kept = conv(f"{name}_kept_depthwise", kept, kept.shape[0], (side, side), stride, LINEAR, depthwise=True)
        if kept.shape[0] != inner.shape[0]:
            kept = conv(f"{name}_kept", kept, inner.shape[0], POINT, activation=LINEAR)
        x = add(f"{name}_add", kept, inner)
    x = conv("last", x, rounded(960 * width), POINT)
    hidden = dense("hidden", pooled(x), rounded(1280 * width), RELU)
    return ZooNetwork(f"ghostnet-{width}-{resolution}", dense("scores", hidden, classes))


def _first(resolution: int, filters: int, activation: Range) -> ZooLayer:
    image = Input("image", (), (3, resolution, resolution), SIGNED)
    return conv("conv", image, filters, stride=2, activation=activation)


def _hard_swish(name: str, x: ZooLayer) -> ZooLayer:
    return multiply(f"{name}_swish", x, function(f"{name}_gate", x, "HardSigmoid"))


def _silu(name: str, x: ZooLayer) -> ZooLayer:
    return multiply(f"{name}_silu", x, function(f"{name}_gate", x, "Sigmoid"))


def _excited(name: str, x: ZooLayer, squeezed_channels: int, activation: Range | None, gate: str) -> ZooLayer:
    """Squeeze and excite; without an activation that of the squeezed channels is SiLU."""
    inner: ZooLayer = squeezed(f"{name}_mean", x)
    inner = conv(f"{name}_squeeze", inner, squeezed_channels, POINT, activation=activation or LINEAR)
    inner = inner if activation else _silu(f"{name}_squeeze", inner)
    weights = function(f"{name}_gate", conv(f"{name}_weigh", inner, x.shape[0], POINT, activation=LINEAR), gate)
    return multiply(name, x, weights)


def _projected(name: str, x: ZooLayer, inner: ZooLayer, filters: int, stride: int) -> ZooLayer:
    inner = conv(f"{name}_project", inner, filters, POINT, activation=LINEAR)
    return add(f"{name}_add", x, inner) if stride == 1 and filters == x.shape[0] else inner


def _ghost(name: str, x: ZooLayer, filters: int, activation: Range) -> ZooLayer:
    """Half of the channels by a pointwise convolution, the others by a depthwise one of these."""
    primary = conv(f"{name}_primary", x, filters // 2, POINT, activation=activation)
    cheap = conv(f"{name}_cheap", primary, filters // 2, activation=activation, depthwise=True)
    return concat(name, primary, cheap)
