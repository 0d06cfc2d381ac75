"""The values that inputs may have which choose elements: all of them, and none beyond, as onnxruntime takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import (  # pyright: ignore[reportMissingImports]
    Fail,
    InvalidArgument,
)

from match import compile as compile_network
from match.frontend import load
from match.frontend.file import from_bytes
from match.run import random_inputs, read_manifest
from match.validation.exact_session import exact_session
from tests.passes.tflite_models import TfliteModel

pytestmark = pytest.mark.cc

WORDS = 11
TABLE = np.random.default_rng(0).integers(-9, 9, (WORDS, 4))
CONSTANTS = {
    "s": np.float32(0.1),
    "z": np.int8(0),
    "table": TABLE.astype(np.int8),
    "short": TABLE[:5].astype(np.int8),
    "three": np.array(3),
    "none": np.array(0),
    "last": np.array(WORDS - 1),
    "row": np.array([0]),
    "column": np.array([1]),
}

Nodes = list[tuple[str, list[str], dict[str, Any]]]


def words(nodes: Nodes, dtype: int = TensorProto.INT64, shape: tuple[int, ...] = (1, 3)) -> onnx.ModelProto:
    """A network whose only input is "x"; the tensor "y" is of the table's type."""
    made = [
        helper.make_node(kind, inputs, [f"t{place}"], f"n{place}", **attributes)
        for place, (kind, inputs, attributes) in enumerate(nodes)
    ]
    made[-1].output[0] = "y"
    graph = helper.make_graph(
        [*made, helper.make_node("DequantizeLinear", ["y", "s", "z"], ["real"])],
        "words",
        [helper.make_tensor_value_info("x", dtype, shape)],
        [helper.make_tensor_value_info("real", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in CONSTANTS.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


GATHER = ("Gather", ["table", "x"], {})
NETWORKS: dict[str, tuple[onnx.ModelProto, tuple[int, int] | None]] = {
    "gather": (words([GATHER]), (-WORDS, WORDS - 1)),
    "columns": (words([("Gather", ["table", "x"], {"axis": 1})]), (-4, 3)),
    "int32": (words([("Cast", ["x"], {"to": TensorProto.INT64}), ("Gather", ["table", "t0"], {})], TensorProto.INT32),
              (-WORDS, WORDS - 1)),
    "unsigned": (words([("Cast", ["x"], {"to": TensorProto.INT64}), ("Gather", ["table", "t0"], {})],
                       TensorProto.UINT8), (0, WORDS - 1)),
    "behind others": (words([("Add", ["x", "three"], {}), ("Unsqueeze", ["t0", "row"], {}),
                             ("Gather", ["table", "t1"], {})]), (-WORDS - 3, WORDS - 4)),
    "subtracted": (words([("Sub", ["x", "three"], {}), ("Gather", ["table", "t0"], {})]), (3 - WORDS, WORDS + 2)),
    "clipped": (words([("Clip", ["x", "none", "last"], {}), ("Gather", ["table", "t0"], {})]), None),
    "clipped below": (words([("Clip", ["x", "none"], {}), ("Gather", ["table", "t0"], {})]),
                      (-(2**63), WORDS - 1)),
    "two tables": (words([GATHER, ("Gather", ["short", "x"], {}), ("Concat", ["t0", "t1"], {"axis": 1})]), (-5, 4)),
    "each": (words([("GatherND", ["table", "x"], {})], shape=(3, 1)), (0, WORDS - 1)),
    "elements": (words([("GatherElements", ["table", "x"], {"axis": 0})], shape=(3, 4)), (-WORDS, WORDS - 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_what_onnxruntime_takes(name: str) -> None:
    model, expected = NETWORKS[name]
    (tensor,) = load(model).inputs
    assert tensor.indices == expected
    session = exact_session(model.SerializeToString())

    def takes(value: int) -> bool:
        try:
            session.run(None, {"x": np.full(tensor.shape, value, tensor.dtype)})
        except (InvalidArgument, Fail):
            return False
        return True

    low, high = expected or (-(2**40), 2**40)
    assert takes(low)
    assert takes(high)
    if expected and low > np.iinfo(tensor.dtype).min and name != "each":
        assert not takes(low - 1)
    if expected:
        assert not takes(high + 1)


def test_numbers_are_no_indices() -> None:
    assert load(words([("Cast", ["x"], {"to": TensorProto.INT8})])).inputs[0].indices is None


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_tflite(dtype: str) -> None:
    """Indices that TFLite's converter casts, as it does those of Keras' Embedding."""
    model = TfliteModel()
    x = places = model.tensor((1, 3), dtype)
    if dtype != "int32":
        places = model.tensor((1, 3), "int32")
        model.operator("CAST", [x], places)
    table = model.tensor(TABLE.shape, "int8", 0.1, data=TABLE)
    output = model.tensor((1, 3, 4), "int8", 0.1)
    model.operator("GATHER", [table, places], output, "GatherOptions", axis=0)
    assert from_bytes(model.build([x], [output]), Path("words.tflite")).inputs[0].indices == (0, WORDS - 1)


def test_random_inputs_are_indices(tmp_path) -> None:
    """In the project's own description, in its header, and in what is drawn; the C takes them."""
    model = words([GATHER])
    compiled = compile_network(model, "gap9", cache=False, output=tmp_path / "words")
    drawn = [random_inputs(read_manifest(tmp_path / "words"), seed)["x"] for seed in range(60)]
    assert set(np.unique(drawn)) == set(range(-WORDS, WORDS))
    assert drawn[0].dtype == np.int64
    assert compiled.validate().equal
    assert f"indices from {-WORDS} to {WORDS - 1} */" in next((tmp_path / "words").glob("include/words.h")).read_text()
