"""Networks that treat an image as a sequence of patches, or mix its pixels and its features in turn."""

from __future__ import annotations

from match.devtools.zoo.layers import (
    LINEAR,
    SIGNED,
    Input,
    ZooLayer,
    ZooNetwork,
    add,
    conv,
    dense,
    function,
    linear,
    matrices,
    normalized,
    pooled,
    reorder,
    softmax,
    token_mean,
)
from match.devtools.zoo.sizes import check_sizes, rounded

_TURNED = (1, 0)


def vit(width: float = 1.0, resolution: int = 224, classes: int = 1000) -> ZooNetwork:
    """The tiny vision transformer of DeiT (Touvron et al., 2021, Table 1): 12 blocks, heads of 64 features.

    The mean of all tokens is classified, not a token of its own.
    """
    check_sizes(width, resolution, classes, multiple=16)
    heads = max(1, round(3 * width))
    x = _patches(resolution, 16, 64 * heads)
    x = linear("positions", x, x.shape[1])
    for block in range(12):
        name = f"block{block}"
        x = add(f"{name}_attended", x, _attention(f"{name}_attention", normalized(f"{name}_norm0", x), heads))
        x = add(f"{name}_add", x, _perceptron(name, normalized(f"{name}_norm1", x), 4 * x.shape[1]))
    return ZooNetwork(f"vit-{width}-{resolution}", dense("scores", token_mean(normalized("norm", x)), classes))


def mlp_mixer(width: float = 1.0, resolution: int = 224, classes: int = 1000) -> ZooNetwork:
    """MLP-Mixer S/16 (Tolstikhin et al., 2021, Table 1): 8 layers, each a perceptron of tokens and one of features."""
    check_sizes(width, resolution, classes, multiple=16)
    x = _patches(resolution, 16, rounded(512 * width))
    for layer in range(8):
        name = f"layer{layer}"
        tokens = reorder(f"{name}_turned", normalized(f"{name}_norm0", x), _TURNED)
        tokens = _perceptron(f"{name}_tokens", tokens, rounded(256 * width))
        x = add(f"{name}_mixed", x, reorder(f"{name}_back", tokens, _TURNED))
        x = add(f"{name}_add", x, _perceptron(name, normalized(f"{name}_norm1", x), 4 * x.shape[1]))
    return ZooNetwork(f"mlp_mixer-{width}-{resolution}", dense("scores", token_mean(normalized("norm", x)), classes))


def convnext(width: float = 1.0, resolution: int = 224, classes: int = 1000) -> ZooNetwork:
    """ConvNeXt-T (Liu et al., 2022, Section 3): 7x7 depthwise convolutions, normalization, a perceptron of each pixel.

    The scale of each branch is in the weights before it.
    """
    check_sizes(width, resolution, classes, multiple=32)
    image = Input("image", (), (3, resolution, resolution), SIGNED)
    x: ZooLayer = conv("stem", image, rounded(96 * width), (4, 4), 4, LINEAR)
    x = _first(f"{x.name}_norm", normalized(f"{x.name}_norm", _last(x.name, x)))
    for stage, depth in enumerate((3, 3, 9, 3)):
        if stage:
            name = f"stage{stage}_halve"
            x = _first(f"{name}_norm", normalized(f"{name}_norm", _last(name, x)))
            x = conv(name, x, 2 * x.shape[0], (2, 2), 2, LINEAR)
        for block in range(depth):
            name = f"stage{stage}_block{block}"
            inner = _last(name, conv(f"{name}_depthwise", x, x.shape[0], (7, 7), 1, LINEAR, depthwise=True))
            inner = _perceptron(name, normalized(f"{name}_norm", inner), 4 * x.shape[0])
            x = add(f"{name}_add", x, _first(name, inner))
    return ZooNetwork(f"convnext-{width}-{resolution}", dense("scores", pooled(x), classes))


def _patches(resolution: int, side: int, features: int) -> ZooLayer:
    """A sequence of squares of an image, each as features."""
    image = Input("image", (), (3, resolution, resolution), SIGNED)
    x = conv("patches", image, features, (side, side), side, LINEAR)
    count = x.shape[1] * x.shape[2]
    return reorder("tokens", x, _TURNED, before=(features, count))


def _attention(name: str, x: ZooLayer, heads: int) -> ZooLayer:
    tokens, features = x.shape
    matrix = tokens, heads, features // heads
    query, key, value = (
        reorder(f"{name}_{part}s", linear(f"{name}_{part}", x, features), order, before=matrix)
        for part, order in (("query", (1, 0, 2)), ("key", (1, 2, 0)), ("value", (1, 0, 2)))
    )
    weights = softmax(matrices(f"{name}_scores", query, key), f"{name}_weights")
    seen = matrices(f"{name}_seen", weights, value)
    return linear(name, reorder(f"{name}_joined", seen, (1, 0, 2), after=x.shape), features)


def _perceptron(name: str, x: ZooLayer, hidden: int) -> ZooLayer:
    inner = function(f"{name}_gelu", linear(f"{name}_hidden", x, hidden), "Gelu")
    return linear(f"{name}_output", inner, x.shape[-1])


def _last(name: str, x: ZooLayer) -> ZooLayer:
    return reorder(f"{name}_last", x, (1, 2, 0))


def _first(name: str, x: ZooLayer) -> ZooLayer:
    return reorder(f"{name}_first", x, (2, 0, 1))
