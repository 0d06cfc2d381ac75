"""Trains the float models of these tests on scikit-learn's digits: one in Keras, one in PyTorch.

    python tests/quantizing/float_models.py

Needs tensorflow, tf2onnx, torch, onnxscript and scikit-learn; takes a minute. It writes `keras_cnn.onnx`, as Keras
exports by tf2onnx (channels last, the batch open), and `mobilenet.onnx`, as PyTorch exports (channels first, the batch
open, normalization as operators of its own), beside this file.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
TRAINED = 1300
"""Images that networks are trained on, and calibrated with; the others are for tests."""


def digits() -> tuple[Any, Any]:
    """All images, float32 of shape (1797, 16, 16) from 0 to 1, and their classes."""
    found = import_module("sklearn.datasets").load_digits()
    return np.kron(found.images / 16, np.ones((2, 2))).astype(np.float32), found.target


def train_keras() -> None:
    """A small CNN with a separable convolution and probabilities at the end."""
    keras: Any = import_module("keras")
    keras.utils.set_random_seed(0)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((16, 16, 1), name="image"),
            layers.Conv2D(12, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.SeparableConv2D(24, 3, padding="same", activation="relu"),
            layers.AveragePooling2D(2),
            layers.Conv2D(24, 3, activation="relu"),
            layers.Flatten(),
            layers.Dropout(0.2),
            layers.Dense(10, activation="softmax", name="probabilities"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    images, classes = digits()
    model.fit(images[:TRAINED, :, :, None], classes[:TRAINED], batch_size=32, epochs=30, verbose=0)
    model.export(FOLDER / "keras_cnn.onnx", format="onnx", verbose=False)


def train_pytorch() -> None:
    """A MobileNetV2 of four inverted residuals, two of them with a sum."""
    torch: Any = import_module("torch")
    nn = torch.nn
    torch.manual_seed(0)

    def normalized(*arguments: Any, act: bool = True, **options: Any) -> list[Any]:
        convolution = nn.Conv2d(*arguments, bias=False, **options)
        return [convolution, nn.BatchNorm2d(convolution.out_channels), *([nn.ReLU6()] if act else [])]

    class Inverted(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            wide = 4 * inputs
            self.adds = inputs == outputs and stride == 1
            self.body = nn.Sequential(
                *normalized(inputs, wide, 1),
                *normalized(wide, wide, 3, stride=stride, padding=1, groups=wide),
                *normalized(wide, outputs, 1, act=False),
            )

        def forward(self, x: Any) -> Any:
            return x + self.body(x) if self.adds else self.body(x)

    network = nn.Sequential(
        *normalized(1, 8, 3, padding=1),
        Inverted(8, 8, 1),
        Inverted(8, 16, 2),
        Inverted(16, 16, 1),
        Inverted(16, 24, 2),
        *normalized(24, 48, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(48, 10),
    )
    images, classes = (torch.tensor(array[:TRAINED]) for array in digits())
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
    for _ in range(30):
        for batch in torch.randperm(TRAINED).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(images[batch, None]), classes[batch]).backward()
            optimizer.step()
        schedule.step()
    torch.onnx.export(
        network.eval(),
        (images[:2, None],),
        FOLDER / "mobilenet.onnx",
        input_names=["image"],
        output_names=["scores"],
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        external_data=False,
    )
    _without_traces(FOLDER / "mobilenet.onnx")


def _without_traces(path: Path) -> None:
    """The file without what the exporter notes of the source."""
    onnx: Any = import_module("onnx")
    model = onnx.load(path)
    for node in (*model.graph.node, model.graph):
        del node.metadata_props[:]
        node.doc_string = ""
    for value in (*model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer):
        del value.metadata_props[:]
    del model.metadata_props[:]
    onnx.save(model, path)


if __name__ == "__main__":
    train_keras()
    train_pytorch()
