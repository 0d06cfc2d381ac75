"""Networks that answer for every place of an image: classes of pixels, finer images, boxes."""

from __future__ import annotations

from match.devtools.zoo.layers import (
    LINEAR,
    POINT,
    RELU6,
    SIGNED,
    UNSIGNED,
    Input,
    ZooLayer,
    ZooNetwork,
    concat,
    conv,
    enlarge,
    interleave,
    reorder,
    squeezed,
)
from match.devtools.zoo.sizes import check_sizes, rounded


def deeplab(width: float = 1.0, resolution: int = 224, classes: int = 21) -> ZooNetwork:
    """DeepLabV3 (Chen et al., 2017, Figure 5) on separable convolutions: dilated ones see the map side by side."""
    check_sizes(width, resolution, classes, multiple=16)
    x: ZooLayer = conv("conv", Input("image", (), (3, resolution, resolution), SIGNED), rounded(32 * width), stride=2)
    for block, (filters, stride, dilation) in enumerate(
        ((64, 1, 1), (128, 2, 1), (128, 1, 1), (256, 2, 1), (256, 1, 1), (512, 2, 1), (512, 1, 2))
    ):
        x = conv(f"block{block}_depthwise", x, x.shape[0], (3, 3), stride, depthwise=True, dilation=dilation)
        x = conv(f"block{block}_pointwise", x, rounded(filters * width), POINT)
    filters, side = rounded(256 * width), x.shape[1]
    seen: list[ZooLayer] = [conv("pyramid_point", x, filters, POINT)]
    seen += [conv(f"pyramid_{rate}", x, filters, dilation=rate) for rate in (6, 12, 18)]
    seen.append(enlarge("pyramid_mean_enlarged", conv("pyramid_mean", squeezed("mean", x), filters, POINT), side))
    x = conv("project", concat("pyramid", *seen), filters, POINT)
    scores = conv("classes", x, classes, POINT, activation=LINEAR)
    return ZooNetwork(f"deeplab-{width}-{resolution}", enlarge("scores", scores, 16, smooth=True))


def super_resolution(width: float = 1.0, resolution: int = 224, factor: int = 3) -> ZooNetwork:
    """ESPCN (Shi et al., 2016, Section 3.3): a grey image becomes `factor` times as large."""
    check_sizes(width, resolution, factor)
    x = conv("conv0", Input("image", (), (1, resolution, resolution), UNSIGNED), rounded(64 * width), (5, 5))
    x = conv("conv2", conv("conv1", x, rounded(32 * width)), factor**2, activation=LINEAR)
    return ZooNetwork(f"super_resolution-{width}-{resolution}", interleave("image_enlarged", x, factor))


def ssd(width: float = 1.0, resolution: int = 224, classes: int = 20) -> ZooNetwork:
    """SSDLite's heads (Sandler et al., 2018, Section 6.2) on MobileNetV1: boxes and scores of maps of four scales.

    A row for each of 6 boxes of each place of each map: 4 numbers, and a score for each class.
    """
    check_sizes(width, resolution, classes, multiple=32)
    x: ZooLayer = conv("conv", Input("image", (), (3, resolution, resolution), SIGNED), rounded(32 * width), stride=2)
    filters = (64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024)
    maps: list[ZooLayer] = []
    for block, count in enumerate(filters):
        stride = 2 if block in (1, 3, 5, 11) else 1
        if block == 11:
            maps.append(x)
        x = _separable(f"block{block}", x, rounded(count * width), stride)
    maps.append(x)
    for index, count in enumerate((512, 256)):
        x = conv(f"extra{index}_narrow", x, rounded(count // 2 * width), POINT, activation=RELU6)
        x = _separable(f"extra{index}", x, rounded(count * width), 2)
        maps.append(x)
    rows = [_boxes(f"boxes{index}", x, 4 + classes) for index, x in enumerate(maps)]
    return ZooNetwork(f"ssd-{width}-{resolution}", concat("boxes", *rows))


def _separable(name: str, x: ZooLayer, filters: int, stride: int) -> ZooLayer:
    x = conv(f"{name}_depthwise", x, x.shape[0], (3, 3), stride, RELU6, depthwise=True)
    return conv(f"{name}_pointwise", x, filters, POINT, activation=RELU6)


def _boxes(name: str, x: ZooLayer, numbers: int, each: int = 6) -> ZooLayer:
    x = conv(f"{name}_depthwise", x, x.shape[0], activation=RELU6, depthwise=True)
    x = conv(f"{name}_map", x, each * numbers, POINT, activation=LINEAR)
    return reorder(name, x, (1, 2, 0), after=(each * x.shape[1] * x.shape[2], numbers))
