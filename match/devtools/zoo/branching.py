"""Networks whose maps part and are concatenated: with each other, with those before them or of another scale."""

from __future__ import annotations

from collections.abc import Callable

from match.devtools.zoo.layers import (
    LINEAR,
    POINT,
    SIGNED,
    UNSIGNED,
    Input,
    ZooLayer,
    ZooNetwork,
    concat,
    conv,
    dense,
    enlarge,
    function,
    max_pool,
    pooled,
    spread,
)
from match.devtools.zoo.sizes import check_sizes, rounded


def squeezenet(width: float = 1.0, resolution: int = 224, classes: int = 1000) -> ZooNetwork:
    """SqueezeNet 1.1 (Iandola et al., 2016): fire modules, each of two convolutions that are concatenated."""
    check_sizes(width, resolution, classes)
    image = Input("image", (), (3, resolution, resolution), SIGNED)
    x: ZooLayer = conv("conv", image, rounded(64 * width), stride=2)
    for index, squeezed in enumerate((16, 16, 32, 32, 48, 48, 64, 64)):
        name = f"fire{index}"
        if index in (0, 2, 4):
            x = max_pool(f"{name}_pool", x)
        inner = conv(f"{name}_squeeze", x, rounded(squeezed * width), POINT)
        expanded = rounded(4 * squeezed * width)
        x = concat(name, conv(f"{name}_point", inner, expanded, POINT), conv(f"{name}_square", inner, expanded))
    x = conv("scores", x, classes, POINT)
    return ZooNetwork(f"squeezenet-{width}-{resolution}", pooled(x))


def densenet(width: float = 1.0, resolution: int = 32, classes: int = 10) -> ZooNetwork:
    """DenseNet (Huang et al., 2017) of 3 blocks of 6 layers, growth rate 12 times `width`, for small images.

    Normalization, which cannot be folded where it reads a concatenation, is after each convolution; transitions take
    maxima, not means.
    """
    check_sizes(width, resolution, classes)
    growth = rounded(12 * width)
    x: ZooLayer = conv("conv", Input("image", (), (3, resolution, resolution), UNSIGNED), 2 * growth)
    for block in range(3):
        for layer in range(6):
            name = f"block{block}_layer{layer}"
            inner = conv(f"{name}_narrow", x, 4 * growth, POINT)
            x = concat(name, x, conv(f"{name}_conv", inner, growth))
        if block < 2:
            x = max_pool(f"block{block}_pool", conv(f"block{block}_halve", x, x.shape[0] // 2, POINT))
    return ZooNetwork(f"densenet-{width}-{resolution}", dense("scores", pooled(x), classes))


def unet(width: float = 1.0, resolution: int = 128, classes: int = 2) -> ZooNetwork:
    """U-Net (Ronneberger et al., 2015) with padding, 3 scales below the first: a score of each class for each pixel."""

    def enlarged(name: str, x: ZooLayer, filters: int) -> ZooLayer:
        return conv(f"{name}_conv", enlarge(name, x), filters)

    check_sizes(width, resolution, classes, multiple=8)
    return ZooNetwork(f"unet-{width}-{resolution}", _unet(width, resolution, classes, enlarged))


def unet_transposed(width: float = 1.0, resolution: int = 128, classes: int = 2) -> ZooNetwork:
    """The same, enlarged by transposed convolutions."""

    def enlarged(name: str, x: ZooLayer, filters: int) -> ZooLayer:
        return spread(name, x, filters, activation=LINEAR)

    check_sizes(width, resolution, classes, multiple=8)
    return ZooNetwork(f"unet_transposed-{width}-{resolution}", _unet(width, resolution, classes, enlarged))


def _unet(width: float, resolution: int, classes: int, enlarged: Callable[[str, ZooLayer, int], ZooLayer]) -> ZooLayer:
    """The scores. `enlarged(name, x, filters)` doubles the rows and columns of `x`, in so many channels."""
    x: ZooLayer = Input("image", (), (3, resolution, resolution), UNSIGNED)
    kept: list[ZooLayer] = []
    for scale in range(4):
        if scale:
            kept.append(x)
            x = max_pool(f"down{scale}", x)
        filters = rounded((64 << scale) * width)
        x = conv(f"down{scale}_conv1", conv(f"down{scale}_conv0", x, filters), filters)
    for scale, skipped in reversed(list(enumerate(kept))):
        filters = skipped.shape[0]
        x = concat(f"up{scale}_concat", skipped, enlarged(f"up{scale}", x, filters))
        x = conv(f"up{scale}_conv1", conv(f"up{scale}_conv0", x, filters), filters)
    return conv("scores", x, classes, POINT, activation=LINEAR)


def tiny_yolo(width: float = 1.0, resolution: int = 416, classes: int = 80) -> ZooNetwork:
    """YOLOv3-tiny (Redmon and Farhadi, 2018): leaky ReLU, and the head of the finer of its two scales.

    Three boxes of 5 numbers and a score for each class, for each place of the map.
    """
    check_sizes(width, resolution, classes, multiple=32)
    x: ZooLayer = Input("image", (), (3, resolution, resolution), UNSIGNED)
    maps: list[ZooLayer] = []
    for scale, filters in enumerate((16, 32, 64, 128, 256, 512)):
        x = _leaky(f"conv{scale}", max_pool(f"pool{scale}", x) if scale else x, rounded(filters * width), 3)
        maps.append(x)
    x = _leaky("conv6", x, rounded(1024 * width), 3)
    x = _leaky("conv7", x, rounded(256 * width), 1)
    x = enlarge("enlarge", _leaky("conv8", x, rounded(128 * width), 1))
    x = _leaky("conv9", concat("route", x, maps[4]), rounded(256 * width), 3)
    boxes = conv("boxes", x, 3 * (5 + classes), POINT, activation=LINEAR)
    return ZooNetwork(f"tiny_yolo-{width}-{resolution}", boxes)


def _leaky(name: str, x: ZooLayer, filters: int, side: int) -> ZooLayer:
    return function(name, conv(f"{name}_sums", x, filters, (side, side), activation=LINEAR), "LeakyRelu")
