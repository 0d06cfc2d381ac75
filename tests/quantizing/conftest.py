from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.quantizing.float_models import TRAINED, digits

FOLDER = Path(__file__).parent
TUTORIAL = FOLDER.parent / "tutorials" / "digits_float.onnx"


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Path]]:
    """Writes the digits in the shape that a model takes: files to calibrate and to test with."""
    pytest.importorskip("onnxruntime")
    images, classes = digits()
    folder = tmp_path_factory.mktemp("digits")
    shaped: dict[str, npt.NDArray[np.float32]] = {
        "keras_cnn": images[..., None],
        "mobilenet": images[:, None],
        "digits_float": images[:, None, ::2, ::2],
    }

    def write(model: str) -> tuple[Path, Path]:
        calibration, test = folder / f"{model}_calibration.npz", folder / f"{model}_test.npz"
        np.savez(calibration, image=shaped[model][:TRAINED])
        np.savez(test, image=shaped[model][TRAINED:], labels=classes[TRAINED:])
        return calibration, test

    return write


def model_of(name: str) -> Path:
    return TUTORIAL if name == "digits_float" else FOLDER / f"{name}.onnx"


def tiny(op: str = "Relu", *, opset: int = 17, batch: int | str = 1, width: int | str = 8) -> onnx.ModelProto:
    """A 1x1 convolution with batch normalization behind it, and an operator."""
    rng = np.random.default_rng(5)
    constants = {
        "weights": rng.normal(size=(4, 3, 1, 1)),
        "gain": rng.uniform(0.5, 2, 4),
        "shift": rng.normal(size=4),
        "mean": rng.normal(size=4),
        "variance": rng.uniform(0.5, 2, 4),
    }
    nodes = [
        helper.make_node("Conv", ["x", "weights"], ["sums"]),
        helper.make_node("BatchNormalization", ["sums", "gain", "shift", "mean", "variance"], ["normal"]),
        helper.make_node(op, ["normal"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 8, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 4, 8, width])],
        [numpy_helper.from_array(values.astype(np.float32), name) for name, values in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def noise(count: int, *shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(3).normal(size=(count, *shape)).astype(np.float32)
