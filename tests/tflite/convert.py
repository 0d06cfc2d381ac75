"""Writes the networks in tests/tflite/networks: common architectures, narrow, as TensorFlow's converter quantizes them.

The files are kept, as TensorFlow is no dependency of the project. To make them again, or another one::

    python -m venv /tmp/tensorflow
    /tmp/tensorflow/bin/pip install tensorflow-cpu==2.21.0 tf_keras==2.21.0
    /tmp/tensorflow/bin/python tests/tflite/convert.py [NAME ...]

Weights are random with fixed seeds; activations are quantized to int8 with a set of random inputs, as are inputs and
outputs, and to int16 in networks whose name ends so. For a network of operators that TFLite Micro does not have,
NAME.npz holds inputs and what TFLite's reference kernels make of them: arrays input0, ..., output0, ..., samples along
the first axis.
"""

# TensorFlow is no dependency of the project:
# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

FOLDER = Path(__file__).parent / "networks"
SAMPLES = 32
WITHOUT_TFLITE_MICRO = ("more_activations",)
INT16 = "_int16"
"""The end of the names of networks with activations of 16 bits."""

Tensor = Any
Built = tuple[Sequence[Tensor], Sequence[Tensor]]
"""A network's inputs and outputs."""


# ---- Pieces of networks ----


def given(*shape: int, name: str = "input") -> Tensor:
    return keras.Input(shape, batch_size=1, name=name)


def norm(x: Tensor, activation: str | None = "relu") -> Tensor:
    x = layers.BatchNormalization()(x)
    return x if activation is None else layers.Activation(activation)(x)


def conv(
    x: Tensor, filters: int, kernel: int = 1, stride: int = 1, activation: str | None = "relu", **how: Any
) -> Tensor:
    return norm(layers.Conv2D(filters, kernel, stride, "same", use_bias=False, **how)(x), activation)


def depthwise(x: Tensor, kernel: int = 3, stride: int = 1, activation: str | None = "relu", **how: Any) -> Tensor:
    return norm(layers.DepthwiseConv2D(kernel, stride, "same", use_bias=False, **how)(x), activation)


def squeeze_excite(x: Tensor, reduced: int, inner: str, gate: str) -> Tensor:
    weights = layers.GlobalAveragePooling2D(keepdims=True)(x)
    weights = layers.Conv2D(reduced, 1, activation=inner)(weights)
    return x * layers.Conv2D(x.shape[-1], 1, activation=gate)(weights)


def inverted_residual(
    x: Tensor, filters: int, expansion: int, stride: int = 1, activation: str = "relu6", kernel: int = 3, gate: str = ""
) -> Tensor:
    y = conv(x, x.shape[-1] * expansion, 1, activation=activation) if expansion > 1 else x
    y = depthwise(y, kernel, stride, activation)
    if gate:
        y = squeeze_excite(y, 4, "relu" if gate == "hard_sigmoid" else activation, gate)
    y = conv(y, filters, 1, activation=None)
    return x + y if stride == 1 and filters == x.shape[-1] else y


def classifier(x: Tensor, classes: int = 10) -> Tensor:
    return layers.Dense(classes, activation="softmax")(layers.GlobalAveragePooling2D()(x))


# ---- Networks for images ----


def mobilenet_v1() -> Built:
    x = image = given(32, 32, 3)
    x = conv(x, 8, 3, 2, "relu6")
    for filters, stride in ((16, 1), (24, 2), (24, 1), (32, 2), (32, 1)):
        x = conv(depthwise(x, 3, stride, "relu6"), filters, activation="relu6")
    return [image], [classifier(x)]


def mobilenet_v2() -> Built:
    x = image = given(32, 32, 3)
    x = conv(x, 8, 3, 2, "relu6")
    for filters, expansion, stride in ((8, 1, 1), (12, 4, 2), (12, 4, 1), (16, 4, 2), (16, 4, 1)):
        x = inverted_residual(x, filters, expansion, stride)
    return [image], [classifier(conv(x, 48, activation="relu6"))]


def mobilenet_v3() -> Built:
    x = image = given(32, 32, 3)
    x = conv(x, 8, 3, 2, "hard_swish")
    x = inverted_residual(x, 8, 1, 2, "relu", 3, "hard_sigmoid")
    x = inverted_residual(x, 12, 3, 2, "relu")
    x = inverted_residual(x, 16, 3, 1, "hard_swish", 5, "hard_sigmoid")
    x = inverted_residual(x, 16, 3, 1, "hard_swish", 5, "hard_sigmoid")
    x = layers.GlobalAveragePooling2D(keepdims=True)(conv(x, 32, activation="hard_swish"))
    x = layers.Conv2D(48, 1, activation="hard_swish")(x)
    return [image], [layers.Softmax()(layers.Flatten()(layers.Conv2D(10, 1)(x)))]


def efficientnet() -> Built:
    x = image = given(32, 32, 3)
    x = conv(x, 8, 3, 2, "silu")
    for filters, expansion, stride, kernel in ((8, 1, 1, 3), (12, 4, 2, 3), (12, 4, 1, 3), (16, 4, 2, 5)):
        x = inverted_residual(x, filters, expansion, stride, "silu", kernel, "sigmoid")
    return [image], [classifier(conv(x, 48, activation="silu"))]


def mnasnet() -> Built:
    x = image = given(32, 32, 3)
    x = conv(depthwise(conv(x, 8, 3, 2)), 8, activation=None)
    for filters, expansion, stride, kernel, gate in ((12, 3, 2, 3, ""), (12, 3, 1, 3, ""), (16, 3, 2, 5, "sigmoid")):
        x = inverted_residual(x, filters, expansion, stride, "relu", kernel, gate)
    return [image], [classifier(conv(x, 48))]


def resnet() -> Built:
    x = image = given(32, 32, 3)
    x = layers.MaxPooling2D(3, 2, "same")(conv(x, 8, 3, 2))
    for filters, stride in ((8, 1), (16, 2), (24, 2)):
        y = conv(conv(x, filters, 3, stride), filters, 3, activation=None)
        x = layers.ReLU()(y + (x if stride == 1 else conv(x, filters, 1, stride, None)))
    return [image], [classifier(x)]


def densenet() -> Built:
    x = image = given(32, 32, 3)
    x = conv(x, 8, 3, 2)
    for block in range(2):
        for _ in range(3):
            y = layers.Conv2D(16, 1, use_bias=False)(norm(x))
            y = layers.Conv2D(6, 3, padding="same", use_bias=False)(norm(y))
            x = layers.Concatenate()([x, y])
        if block == 0:
            x = layers.AveragePooling2D(2)(layers.Conv2D(x.shape[-1] // 2, 1, use_bias=False)(norm(x)))
    return [image], [classifier(norm(x))]


def squeezenet() -> Built:
    x = image = given(33, 33, 3)
    x = layers.MaxPooling2D(3, 2)(layers.Conv2D(12, 3, 2, activation="relu")(x))
    for squeezed, expanded in ((6, 12), (6, 12), (8, 16)):
        x = layers.Conv2D(squeezed, 1, activation="relu")(x)
        wide = layers.Conv2D(expanded, 3, padding="same", activation="relu")(x)
        x = layers.Concatenate()([layers.Conv2D(expanded, 1, activation="relu")(x), wide])
    x = layers.Conv2D(10, 1, activation="relu")(x)
    return [image], [layers.Softmax()(layers.GlobalAveragePooling2D()(x))]


def shufflenet() -> Built:
    x = image = given(32, 32, 3)
    x = layers.MaxPooling2D(3, 2, "same")(conv(x, 8, 3, 2))
    for stride in (2, 1, 1):
        half = x.shape[-1] // 2
        left, right = (x, x) if stride == 2 else (x[..., :half], x[..., half:])
        if stride == 2:
            left = conv(depthwise(left, 3, 2, None), 12)
        right = conv(depthwise(conv(right, 12), 3, stride, None), 12)
        height, width = right.shape[1:3]
        x = layers.Reshape((height, width, 2, 12))(layers.Concatenate()([left, right]))
        x = layers.Reshape((height, width, 24))(layers.Permute((1, 2, 4, 3))(x))
    return [image], [classifier(conv(x, 32))]


def ghostnet() -> Built:
    def ghost(x: Tensor, filters: int, activation: str | None = "relu") -> Tensor:
        primary = conv(x, filters // 2, activation=activation)
        return layers.Concatenate()([primary, depthwise(primary, activation=activation)])

    x = image = given(32, 32, 3)
    x = conv(x, 8, 3, 2)
    x = x + ghost(ghost(x, 16), 8, None)
    y = squeeze_excite(depthwise(ghost(x, 24), 3, 2, None), 6, "relu", "hard_sigmoid")
    y = ghost(y, 16, None)
    return [image], [classifier(y + conv(depthwise(x, 3, 2, None), 16, activation=None))]


def grouped() -> Built:
    """Grouped convolutions, as RegNet and ResNeXt have them, and a depth multiplier of 2."""
    x = image = given(24, 24, 3)
    x = depthwise(conv(x, 8, 3, 2), depth_multiplier=2)
    x = x + conv(conv(conv(x, 16), 16, 3, groups=4), 16, activation=None)
    return [image], [classifier(conv(x, 24, 3, 2, groups=2))]


def unet() -> Built:
    """Upsampling in bilinear and nearest steps."""
    x = image = given(32, 32, 3)
    skips = []
    for filters in (6, 10):
        x = conv(conv(x, filters, 3), filters, 3)
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = conv(x, 16, 3)
    for filters, how in ((10, "bilinear"), (6, "nearest")):
        skip = skips.pop()
        x = layers.Concatenate()([ops.image.resize(x, skip.shape[1:3], interpolation=how), skip])
        x = conv(x, filters, 3)
    return [image], [layers.Conv2D(2, 1, activation="sigmoid")(x)]


def unet_transposed() -> Built:
    x = image = given(32, 32, 1)
    first = conv(x, 6, 3)
    second = conv(layers.MaxPooling2D(2)(first), 10, 3)
    x = conv(layers.MaxPooling2D(2)(second), 16, 3)
    x = layers.Conv2DTranspose(10, 2, 2, activation="relu")(x)
    x = conv(layers.Concatenate()([x, second]), 10, 3)
    x = layers.Conv2DTranspose(6, 3, 2, "same")(x)
    x = conv(layers.Concatenate()([x, first]), 6, 3)
    return [image], [layers.Conv2D(3, 1, activation="softmax")(x)]


def deeplab() -> Built:
    x = image = given(33, 33, 3)
    x = conv(depthwise(conv(x, 8, 3, 2, "relu6"), 3, 2, "relu6"), 16, activation="relu6")
    x = conv(depthwise(x, 3, 1, "relu6", dilation_rate=2), 16, activation="relu6")
    branches = [conv(x, 8), conv(x, 8, 3, dilation_rate=2), conv(x, 8, 3, dilation_rate=3)]
    pooled = conv(layers.GlobalAveragePooling2D(keepdims=True)(x), 8)
    branches.append(layers.UpSampling2D(x.shape[1:3], interpolation="bilinear")(pooled))
    x = layers.Conv2D(5, 1)(conv(layers.Concatenate()(branches), 16))
    return [image], [ops.image.resize(x, (33, 33), interpolation="bilinear")]


def yolo() -> Built:
    """Two scales; upsampling by tiles, which TFLite Micro does not have."""
    x = image = given(32, 32, 3)
    x = fine = conv(conv(x, 8, 3, 2, "leaky_relu"), 16, 3, 2, "leaky_relu")
    x = coarse = conv(x, 24, 3, 2, "leaky_relu")
    x = layers.Concatenate()([layers.UpSampling2D(2)(conv(x, 8, activation="leaky_relu")), fine])
    return [image], [layers.Conv2D(14, 1)(coarse), layers.Conv2D(14, 1)(conv(x, 16, 3, activation="leaky_relu"))]


def super_resolution() -> Built:
    x = image = given(16, 16, 1)
    for filters, kernel in ((12, 5), (8, 3)):
        x = layers.Conv2D(filters, kernel, padding="same", activation="tanh")(x)
    x = layers.Conv2D(9, 3, padding="same")(x)
    return [image], [DepthToSpace(3)(x)]


class DepthToSpace(layers.Layer):
    """Channels to blocks of pixels."""

    def __init__(self, block: int) -> None:
        super().__init__()
        self.block = block

    def call(self, x: Tensor) -> Tensor:
        return tf.nn.depth_to_space(x, self.block)


# ---- Networks for signals ----


def keyword_spotting() -> Built:
    x = image = given(49, 10, 1)
    x = norm(layers.Conv2D(16, (10, 4), 2, "same")(x))
    for _ in range(3):
        x = conv(depthwise(x), 16)
    return [image], [layers.Dense(12, activation="softmax")(layers.Flatten()(layers.AveragePooling2D((25, 5))(x)))]


def autoencoder() -> Built:
    x = signal = given(96)
    for units in (48, 48, 8, 48, 48):
        x = norm(layers.Dense(units)(x))
    return [signal], [layers.Dense(96)(x)]


def eegnet() -> Built:
    x = signal = given(8, 128, 1)
    x = layers.BatchNormalization()(layers.Conv2D(4, (1, 32), padding="same", use_bias=False)(x))
    x = norm(layers.DepthwiseConv2D((8, 1), depth_multiplier=2, use_bias=False)(x), "elu")
    x = layers.AveragePooling2D((1, 4))(x)
    x = norm(layers.SeparableConv2D(8, (1, 16), padding="same", use_bias=False)(x), "elu")
    x = layers.AveragePooling2D((1, 8))(x)
    return [signal], [layers.Dense(4, activation="softmax")(layers.Flatten()(x))]


def tcn() -> Built:
    x = signal = given(64, 4)
    for dilation in (1, 2, 4, 8):
        y = layers.Conv1D(12, 3, padding="causal", dilation_rate=dilation, activation="relu")(x)
        y = layers.Conv1D(12, 3, padding="causal", dilation_rate=dilation, activation="relu")(y)
        x = layers.ReLU()(y + (x if x.shape[-1] == 12 else layers.Conv1D(12, 1)(x)))
    return [signal], [layers.Dense(5, activation="softmax")(x[:, -1])]


def gru() -> Built:
    signal = given(8, 8)
    x = layers.GRU(10, unroll=True)(signal)
    return [signal], [layers.Dense(4, activation="softmax")(x)]


def lstm() -> Any:
    """A whole layer as one operator, which only Keras 2 leaves as one."""
    import tf_keras

    tf_keras.utils.set_random_seed(1)
    signal = tf_keras.Input((12, 8), batch_size=1)
    x = tf_keras.layers.LSTM(16, return_sequences=True)(signal)
    x = tf_keras.layers.Dense(4, activation="softmax")(tf_keras.layers.Flatten()(x))
    return tf_keras.Model(signal, x)


def lstm_unrolled() -> Built:
    signal = given(8, 8)
    return [signal], [layers.Dense(4, activation="softmax")(layers.LSTM(10, unroll=True)(signal))]


# ---- Transformers and their relatives ----


def attention(x: Tensor, heads: int) -> Tensor:
    tokens, width = x.shape[1:]
    parts = [layers.Permute((2, 1, 3))(layers.Reshape((tokens, heads, -1))(layers.Dense(width)(x))) for _ in range(3)]
    query, key, value = parts
    weights = layers.Softmax()(ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) * (width // heads) ** -0.5)
    joined = layers.Reshape((tokens, width))(layers.Permute((2, 1, 3))(ops.matmul(weights, value)))
    return layers.Dense(width)(joined)


def vit() -> Built:
    image = given(24, 24, 3)
    x = layers.Reshape((9, 24))(layers.Conv2D(24, 8, 8)(image))
    x = Positions()(x)
    for _ in range(2):
        x = x + attention(layers.LayerNormalization(epsilon=1e-5)(x), 2)
        y = layers.Dense(48)(layers.LayerNormalization(epsilon=1e-5)(x))
        x = x + layers.Dense(24)(y * ops.sigmoid(1.702 * y))
    return [image], [layers.Dense(10)(layers.GlobalAveragePooling1D()(layers.LayerNormalization(epsilon=1e-5)(x)))]


class Positions(layers.Layer):
    """Learned positions, added to tokens."""

    def build(self, shape: Sequence[int]) -> None:
        self.table = self.add_weight(shape=shape[1:], initializer="random_normal", name="table")

    def call(self, x: Tensor) -> Tensor:
        return x + self.table


def mixer() -> Built:
    image = given(24, 24, 3)
    x = layers.Reshape((9, 24))(layers.Conv2D(24, 8, 8)(image))
    for _ in range(2):
        y = layers.Permute((2, 1))(layers.LayerNormalization(epsilon=1e-5)(x))
        x = x + layers.Permute((2, 1))(layers.Dense(9)(layers.Dense(16, activation="gelu")(y)))
        x = x + layers.Dense(24)(layers.Dense(48, activation="gelu")(layers.LayerNormalization(epsilon=1e-5)(x)))
    return [image], [layers.Dense(10)(layers.GlobalAveragePooling1D()(x))]


def convnext() -> Built:
    x = image = given(32, 32, 3)
    x = layers.LayerNormalization(epsilon=1e-5)(layers.Conv2D(12, 4, 4)(x))
    for _ in range(2):
        y = layers.LayerNormalization(epsilon=1e-5)(layers.DepthwiseConv2D(7, padding="same")(x))
        x = x + layers.Dense(12)(layers.Dense(36, activation=keras.activations.gelu)(y))
    x = layers.Conv2D(24, 2, 2)(layers.LayerNormalization(epsilon=1e-5)(x))
    return [image], [layers.Dense(10)(layers.GlobalAveragePooling2D()(x))]


# ---- Collections ----


def activations() -> Built:
    """An activation behind each of several convolutions, and their outputs joined."""
    image = given(12, 12, 3)
    kinds = ("elu", "softsign", "leaky_relu", "hard_sigmoid", "silu", "tanh", "relu6")
    results = [layers.Activation(kind)(layers.Conv2D(4, 3, padding="same")(image)) for kind in kinds]
    slopes = keras.initializers.RandomUniform(0.05, 0.5, seed=3)
    results.append(layers.PReLU(slopes, shared_axes=[1, 2])(layers.Conv2D(4, 3, padding="same")(image)))
    return [image], [layers.Conv2D(8, 1)(layers.Concatenate()(results))]


def more_activations() -> Built:
    """Activations of which the converter makes operators that TFLite Micro does not have."""
    image = given(12, 12, 3)
    kinds = ("selu", "mish", "gelu", "softplus", "exponential", "log_sigmoid", "hard_tanh", "celu")
    results = [layers.Activation(kind)(layers.Conv2D(4, 3, padding="same")(image)) for kind in kinds]
    return [image], [layers.Conv2D(8, 1)(layers.Concatenate()(results))]


def many_inputs() -> Built:
    """Two images and a vector; classes, a box and a mask."""
    left, right, vector = given(16, 16, 3, name="a"), given(16, 16, 3, name="b"), given(6, name="c")
    shared = layers.Conv2D(8, 3, 2, "same", activation="relu")
    x = layers.Concatenate()([shared(left), shared(right)])
    x = x * layers.Reshape((1, 1, 16))(layers.Dense(16, activation="sigmoid")(vector))
    x = ops.maximum(x, layers.Conv2D(16, 3, padding="same")(x)) - ops.minimum(shared(left), shared(right))[..., :1]
    pooled = layers.Concatenate()([layers.GlobalAveragePooling2D()(x), layers.GlobalMaxPooling2D()(x), vector])
    box, mask = layers.Dense(4)(pooled), layers.Conv2DTranspose(1, 4, 2, "same", activation="sigmoid")(x)
    return [left, right, vector], [layers.Dense(5, activation="softmax")(pooled), box, mask]


NETWORKS: dict[str, Callable[[], Any]] = {
    build.__name__: build
    for build in (
        *(mobilenet_v1, mobilenet_v2, mobilenet_v3, efficientnet, mnasnet, resnet, densenet, squeezenet, shufflenet),
        *(ghostnet, grouped, unet, unet_transposed, deeplab, yolo, super_resolution),
        *(keyword_spotting, autoencoder, eegnet, tcn, gru, lstm, lstm_unrolled),
        *(vit, mixer, convnext, activations, more_activations, many_inputs),
    )
}


NETWORKS |= {
    build.__name__ + INT16: build for build in (mobilenet_v2, efficientnet, resnet, keyword_spotting, unet_transposed)
}


def converted(build: Callable[[], Any], *, wide: bool) -> bytes:
    """The network as an int8 file; `wide` gives activations 16 bits."""
    keras.utils.clear_session(free_memory=True)
    keras.utils.set_random_seed(1)
    built = build()
    model = keras.Model(*built) if isinstance(built, tuple) else built
    rng = np.random.default_rng(1)
    for layer in model.layers:
        weights = layer.get_weights()
        if isinstance(layer, layers.BatchNormalization):
            ranges = ((0.7, 1.4), (-0.3, 0.3), (-0.2, 0.2), (0.5, 1.5))  # gamma, beta, mean, variance
            layer.set_weights([rng.uniform(*limits, w.shape) for limits, w in zip(ranges, weights, strict=True)])
        elif len(weights) == 2 and isinstance(layer, (layers.Conv1D, layers.Conv2D, layers.Dense)):
            layer.set_weights([weights[0], rng.uniform(-0.2, 0.2, weights[1].shape)])

    def samples() -> Iterator[dict[str, np.ndarray] | list[np.ndarray]]:
        for _ in range(SAMPLES):
            values = [rng.normal(0, 1, tensor.shape).astype(np.float32) for tensor in model.inputs]
            # The file does not keep the order of several inputs.
            names = (tensor.name for tensor in model.inputs)
            yield dict(zip(names, values, strict=True)) if len(values) > 1 else values

    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = samples
    kinds = tf.lite.OpsSet
    activations = kinds.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
    converter.target_spec.supported_ops = [activations if wide else kinds.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int16 if wide else tf.int8
    return converter.convert()


def reference(data: bytes, count: int = 4) -> dict[str, np.ndarray]:
    """Random inputs, and what TFLite's reference kernels make of them."""
    kernels = tf.lite.experimental.OpResolverType.BUILTIN_REF
    interpreter = tf.lite.Interpreter(model_content=data, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    rng = np.random.default_rng(2)
    arrays: dict[str, list[np.ndarray]] = {}
    for _ in range(count):
        for number, tensor in enumerate(interpreter.get_input_details()):
            values = rng.integers(-128, 128, tensor["shape"]).astype(np.int8)
            interpreter.set_tensor(tensor["index"], values)
            arrays.setdefault(f"input{number}", []).append(values)
        interpreter.invoke()
        for number, tensor in enumerate(interpreter.get_output_details()):
            arrays.setdefault(f"output{number}", []).append(interpreter.get_tensor(tensor["index"]))
    return {name: np.stack(values) for name, values in arrays.items()}


def main() -> None:
    """Convert the networks named on the command line, or all."""
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or NETWORKS:
        data = converted(NETWORKS[name], wide=name.endswith(INT16))
        (FOLDER / f"{name}.tflite").write_bytes(data)
        if name in WITHOUT_TFLITE_MICRO:
            arrays: dict[str, Any] = reference(data)
            np.savez_compressed(FOLDER / f"{name}.npz", **arrays)
        sys.stdout.write(f"{name}: {len(data)} bytes\n")


if __name__ == "__main__":
    main()
