"""The networks of the zoo, layer by layer. Batch normalization is taken to be folded into the convolutions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from types import MappingProxyType

from match.devtools.zoo import branching, dense_outputs, mobile, sequences, signals
from match.devtools.zoo.layers import (
    LINEAR,
    POINT,
    RELU,
    RELU6,
    SIGNED,
    Input,
    ZooLayer,
    ZooNetwork,
    add,
    conv,
    dense,
    pooled,
    softmax,
)
from match.devtools.zoo.sizes import check_classes, check_sizes, rounded
from match.errors import OptionError
from match.target.arguments import is_a, shown


def resnet8(classes: int = 10) -> ZooNetwork:
    """MLPerf Tiny image classification: three residual stages on a 32x32 colour image."""
    check_classes(classes)
    x = conv("conv", Input("image", (), (3, 32, 32), (0.0, 1.0)), 16)
    for stage, filters in enumerate((16, 32, 64)):
        stride = 2 if stage else 1
        inner = conv(f"stage{stage}_conv0", x, filters, stride=stride)
        inner = conv(f"stage{stage}_conv1", inner, filters, activation=LINEAR)
        shortcut = conv(f"stage{stage}_shortcut", x, filters, POINT, stride, LINEAR) if stage else x
        x = add(f"stage{stage}_add", shortcut, inner, RELU)
    return ZooNetwork("resnet8", softmax(dense("scores", pooled(x), classes)))


def ds_cnn(classes: int = 12) -> ZooNetwork:
    """MLPerf Tiny keyword spotting: separable convolutions on 49 frames of 10 cepstral coefficients."""
    check_classes(classes)
    x = conv("conv", Input("cepstrum", (), (1, 49, 10), SIGNED), 64, (10, 4), 2)
    for block in range(4):
        x = conv(f"block{block}_depthwise", x, 64, depthwise=True)
        x = conv(f"block{block}_pointwise", x, 64, POINT)
    return ZooNetwork("ds_cnn", softmax(dense("scores", pooled(x), classes)))


def autoencoder() -> ZooNetwork:
    """MLPerf Tiny anomaly detection: 640 spectrogram values through 8 and back."""
    x: ZooLayer = Input("spectrogram", (), (640,), SIGNED)
    for index, units in enumerate((128, 128, 128, 128, 8, 128, 128, 128, 128)):
        x = dense(f"dense{index}", x, units, RELU)
    return ZooNetwork("autoencoder", dense("reconstruction", x, 640))


def mobilenet_v1(width: float = 1.0, resolution: int = 224, classes: int = 1000) -> ZooNetwork:
    """MobileNetV1 (Howard et al., 2017, Table 1) on a square colour image of `resolution` pixels a side."""
    check_sizes(width, resolution, classes)
    x = conv("conv", Input("image", (), (3, resolution, resolution), SIGNED), rounded(32 * width), stride=2)
    filters = (64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024)
    for block, count in enumerate(filters):
        stride = 2 if block in (1, 3, 5, 11) else 1
        x = conv(f"block{block}_depthwise", x, x.shape[0], stride=stride, depthwise=True)
        x = conv(f"block{block}_pointwise", x, rounded(count * width), POINT)
    scores = dense("scores", pooled(x), classes)
    return ZooNetwork(f"mobilenet_v1-{width}-{resolution}", softmax(scores))


def mobilenet_v2(width: float = 1.0, resolution: int = 224, classes: int = 1000) -> ZooNetwork:
    """MobileNetV2 (Sandler et al., 2018, Table 2) on a square colour image of `resolution` pixels a side.

    As there, widths below 1 leave the last convolution at 1280 filters.
    """
    check_sizes(width, resolution, classes)
    image = Input("image", (), (3, resolution, resolution), SIGNED)
    x: ZooLayer = conv("conv", image, rounded(32 * width), stride=2, activation=RELU6)
    block = 0
    stages = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    for expansion, filters, repeats, stride in stages:
        for index in range(repeats):
            x = _bottleneck(f"block{block}", x, expansion, rounded(filters * width), 1 if index else stride)
            block += 1
    x = conv("last", x, rounded(1280 * max(1.0, width)), POINT, activation=RELU6)
    return ZooNetwork(f"mobilenet_v2-{width}-{resolution}", dense("scores", pooled(x), classes))


def _bottleneck(name: str, x: ZooLayer, expansion: int, filters: int, stride: int) -> ZooLayer:
    channels = expansion * x.shape[0]
    inner = conv(f"{name}_expand", x, channels, POINT, activation=RELU6) if expansion > 1 else x
    inner = conv(f"{name}_depthwise", inner, channels, stride=stride, activation=RELU6, depthwise=True)
    inner = conv(f"{name}_project", inner, filters, POINT, activation=LINEAR)
    return add(f"{name}_add", x, inner) if stride == 1 and filters == x.shape[0] else inner


def regnet(width: float = 1.0, resolution: int = 224, classes: int = 1000) -> ZooNetwork:
    """RegNetX-200MF (Radosavovic et al., 2020, Table 9): 3x3 convolutions in groups of 8 channels."""
    check_sizes(width, resolution, classes)
    x: ZooLayer = conv("conv", Input("image", (), (3, resolution, resolution), SIGNED), rounded(32 * width), stride=2)
    for stage, (filters, depth) in enumerate(((24, 1), (56, 1), (152, 4), (368, 7))):
        count = rounded(filters * width)
        for block in range(depth):
            name, stride = f"stage{stage}_block{block}", 1 if block else 2
            inner = conv(f"{name}_square", conv(f"{name}_in", x, count, POINT), count, stride=stride, groups=count // 8)
            inner = conv(f"{name}_out", inner, count, POINT, activation=LINEAR)
            kept = x if block else conv(f"{name}_kept", x, count, POINT, stride, LINEAR)
            x = add(f"{name}_add", kept, inner, RELU)
    return ZooNetwork(f"regnet-{width}-{resolution}", dense("scores", pooled(x), classes))


_NAMED: MappingProxyType[str, Callable[..., ZooNetwork]] = MappingProxyType(
    {
        "autoencoder": autoencoder,
        "ds_cnn": ds_cnn,
        "resnet8": resnet8,
        "mobilenet_v1-0.25-96": partial(mobilenet_v1, 0.25, 96, 2),
        "mobilenet_v1-0.25-128": partial(mobilenet_v1, 0.25, 128),
        "mobilenet_v1-1.0-128": partial(mobilenet_v1, 1.0, 128),
        "mobilenet_v1-1.0-224": partial(mobilenet_v1, 1.0, 224),
        "mobilenet_v2-0.25-128": partial(mobilenet_v2, 0.25, 128),
        "mobilenet_v2-1.0-128": partial(mobilenet_v2, 1.0, 128),
        "mobilenet_v2-1.0-224": partial(mobilenet_v2, 1.0, 224),
    }
)


_SIZED: MappingProxyType[str, Callable[..., ZooNetwork]] = MappingProxyType(
    {
        "convnext": sequences.convnext,
        "crnn": signals.crnn,
        "deeplab": dense_outputs.deeplab,
        "densenet": branching.densenet,
        "ecg": signals.ecg,
        "efficientnet_b0": mobile.efficientnet_b0,
        "ghostnet": mobile.ghostnet,
        "gru_keywords": signals.gru_keywords,
        "mlp_mixer": sequences.mlp_mixer,
        "mobilenet_v1": mobilenet_v1,
        "mobilenet_v2": mobilenet_v2,
        "mobilenet_v3_small": mobile.mobilenet_v3_small,
        "regnet": regnet,
        "shufflenet_v2": mobile.shufflenet_v2,
        "squeezenet": branching.squeezenet,
        "ssd": dense_outputs.ssd,
        "super_resolution": dense_outputs.super_resolution,
        "tcn": signals.tcn,
        "tiny_yolo": branching.tiny_yolo,
        "unet": branching.unet,
        "unet_transposed": branching.unet_transposed,
        "vit": sequences.vit,
    }
)
"""Networks of any width, resolution and number of classes."""


def names() -> tuple[str, ...]:
    """The networks that `named` knows."""
    return tuple(_NAMED)


def named(name: str, classes: int | None = None) -> ZooNetwork:
    """A network by its name, with its own number of classes or another; "squeezenet-0.5-96" has its width in its name.

    Raises:
        OptionError: there is no such network, it is no classifier, or `classes` is not positive.
    """
    if not is_a(name, str):
        raise OptionError(f"networks of the zoo have names, and {shown(name)} is none; `match zoo` lists them.")
    make = _NAMED.get(name) or _sized(name)
    if make is None and name in _SIZED:
        raise OptionError(f'the zoo makes {name} in any width and resolution; name both, as in "{name}-0.5-256".')
    if make is None:
        raise OptionError(
            f"the zoo has no network {name!r}; it has {', '.join(_NAMED)}, and {', '.join(_SIZED)} in any width and "
            'resolution, as in "mobilenet_v1-0.33-96".'
        )
    if classes is None:
        return make()
    if name == "autoencoder":
        raise OptionError("the autoencoder has no classes; leave their number out.")
    return make(classes=classes)


def _sized(name: str) -> Callable[..., ZooNetwork] | None:
    """A network of the width and resolution in its name, as in "mobilenet_v1-0.33-96"."""
    parts = re.fullmatch(r"(\w+)-(\d+(?:\.\d+)?)-(\d{1,4})", name)
    if parts is None or parts[1] not in _SIZED:
        return None
    return partial(_SIZED[parts[1]], float(parts[2]), int(parts[3]))
