"""What front ends read from model files, and the sentence they raise where they cannot."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import quantize_dynamic

from match import zoo
from match.errors import ModelError
from match.frontend import ModelTensor, Quantization, Rounding, load
from match.graph.elements import Quantize
from match.graph.sums import Convolution
from match.graph.value import Graph
from match.relay import tvm
from match.validation.references import reference
from tests.frontend.refusals import refusal, refused
from tests.passes.onnx_models import OnnxModel, quantize
from tests.passes.running import executable
from tests.passes.tflite_models import Micro, TfliteModel, with_buffers_outside

pytestmark = pytest.mark.cc


def small_tflite(dtype: str = "int8", shape=(1, 4, 4, 3)) -> bytes:
    model = TfliteModel()
    quantized = dtype != "float32"
    x = model.tensor(shape, dtype, 0.1 if quantized else None)
    weights = model.tensor((2, 1, 1, 3), dtype, 0.1 if quantized else None, data=np.arange(6).reshape(2, 1, 1, 3))
    kind = "int32" if quantized else "float32"
    bias = model.tensor((2,), kind, 0.01 if quantized else None, data=np.array([1, 2]))
    output = model.tensor((*shape[:3], 2), dtype, 0.2 if quantized else None)
    model.operator("CONV_2D", [x, weights, bias], output, "Conv2DOptions", strideH=1, strideW=1, padding=1)
    return model.build([x], [output])


@pytest.mark.parametrize(
    ("name", "beginning", "words"),
    [
        ("big.tflite", b"", "big.tflite has 6.0 GiB, and no .tflite file has 2;"),
        ("big.tflite", b"\x1c\0\0\0TFL3", "big.tflite has 6.0 GiB"),
        ("big.onnx", b"\x08\x07", "big.onnx has 6.0 GiB, and no .onnx file has 2;"),
        ("big.onnx", b"PK\x03\x04", "big.onnx is a ZIP archive"),
    ],
)
def test_what_is_too_large_for_a_model_is_not_read(name: str, beginning: bytes, words: str, tmp_path: Path) -> None:
    with (tmp_path / name).open("wb") as file:
        file.write(beginning)
        file.truncate(6 << 30)
    with pytest.raises(ModelError, match=re.escape(words)):
        load(tmp_path / name)


def test_importing_the_package_does_not_import_tvm():
    code = "import sys, match, match.frontend; sys.exit('tvm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_tflite(models_dir):
    path = models_dir / "kws_ref_model.tflite"
    model = load(path)
    assert model.name == "kws_ref_model"
    assert model.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert model.inputs == (
        ModelTensor("input_1", (1, 49, 10, 1), "int8", Quantization(0.5847029089927673, 83), "NHWC"),
    )
    assert model.outputs == (ModelTensor("Identity", (1, 12), "int8", Quantization(0.00390625, -128)),)
    assert model.rounding == Rounding.TFLITE
    assert [parameter.name_hint for parameter in model.module["main"].params] == ["input_1"]


def test_onnx(tmp_path):
    network = OnnxModel((1, 3, 6, 6))
    network.conv(4)
    path = quantize(network, tmp_path, "QDQ", "QUInt8", True)
    model = load(str(path))
    assert model.name == "quantized"
    assert model.inputs == (ModelTensor("x", (1, 3, 6, 6), "float32", layout="NCHW"),)
    assert model.outputs == (ModelTensor(network.current, (1, 4, 4, 4), "float32", layout="NCHW"),)
    assert model.rounding == Rounding.ONNXRUNTIME


def test_a_model_in_memory_is_its_file(tmp_path):
    proto = zoo.autoencoder()
    path = tmp_path / "autoencoder.onnx"
    onnx.save(proto, path)
    first, second = load(proto), load(path)
    assert (first.name, first.inputs, first.outputs) == (second.name, second.inputs, second.outputs)
    assert first.sha256 == second.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert tvm.ir.structural_equal(first.module, second.module)


def test_what_is_no_model():
    with pytest.raises(ModelError, match=r"onnx\.ModelProto.*not dict"):
        load({})


def test_the_importers_type_table_is_lent_not_given(tmp_path):
    network = OnnxModel((1, 3, 6, 6))
    network.conv(4)
    had = hasattr(onnx, "mapping")
    load(quantize(network, tmp_path, "QDQ", "QUInt8", True))
    assert hasattr(onnx, "mapping") == had
    assert ("onnx.mapping" in sys.modules) == had


def test_missing_file(tmp_path):
    assert "No such file" in refused(tmp_path / "nothing.tflite")


def test_folder(tmp_path):
    folder = tmp_path / "folder.onnx"
    folder.mkdir()
    assert "directory" in refused(folder)


def test_unknown_format(tmp_path):
    assert ".tflite or .onnx" in refused(tmp_path / "model.xyz")
    (tmp_path / "model.xyz").write_bytes(bytes(99))
    assert ".tflite or .onnx" in refused(tmp_path / "model.xyz")
    (tmp_path / "model.lite").write_bytes(small_tflite())
    assert "is a TFLite file that is called .lite; rename it to model.tflite" in refused(tmp_path / "model.lite")


def archive(*names: str) -> bytes:
    """A ZIP archive of files with these names."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(name, "x")
    return file.getvalue()


KERAS, GRAPH, PYTORCH, SAVED = "from_keras_model", "a graph of TensorFlow", "torch.onnx.export", "from_saved_model"
FRAMEWORKS = {
    "model.keras": (archive("metadata.json", "config.json", "model.weights.h5"), "a Keras model", KERAS),
    "named.onnx": (archive("metadata.json", "config.json", "model.weights.h5"), "a Keras model", KERAS),
    "cut.keras": (archive("metadata.json")[:40], "a Keras model", KERAS),
    "model.h5": (b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras saves models", KERAS),
    "model.pb": (b"\n\x10\n\x01x", f"{GRAPH} (.pb)", "from_frozen_graph"),
    "model.pt": (archive("net/data.pkl", "net/version"), "a file of PyTorch", PYTORCH),
    "model.pth": (b"\x80\x02\x8a\n", "a pickle of Python, as PyTorch saves models", PYTORCH),
    "model.pt2": (archive("net/archive_format"), "a file of PyTorch", PYTORCH),
    "model.ckpt": (bytes(20), "a file of PyTorch", PYTORCH),
    "saved.tflite": (archive("saved/saved_model.pb", "saved/variables/x"), "a SavedModel of TensorFlow", SAVED),
    "other.onnx": (archive("readme.txt"), "a ZIP archive, and none that PyTorch or Keras writes", "give the model"),
}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_files_of_frameworks(name: str, tmp_path: Path) -> None:
    """What they are, and the way from there; a file that is not there is none of them."""
    content, what, way = FRAMEWORKS[name]
    path = tmp_path / name
    assert "No such file" in refused(path)
    path.write_bytes(content)
    sentence = refused(path)
    assert sentence.startswith(f"{path} is {what}; ")
    assert way in sentence
    assert ("int8" in sentence or "`match quantize`" in sentence) == (name != "other.onnx")


@pytest.mark.parametrize("name", ["saved", "saved.tflite"])
def test_folders_of_tensorflow(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    (folder / "variables").mkdir(parents=True)
    assert f"{str(folder)!r} is not a model this compiler reads but a directory" in refused(folder)
    (folder / "saved_model.pb").write_bytes(b"x")
    assert f"{folder} is a SavedModel of TensorFlow; convert it for a batch of 1 to a .tflite" in refused(folder)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_truncated_tflite(tmp_path, share):
    data = small_tflite()
    path = tmp_path / "cut.tflite"
    path.write_bytes(data[: int(len(data) * share)])
    sentence = refused(path)
    assert "truncated" in sentence or "not a TFLite file" in sentence


def test_corrupt_tflite_is_refused_or_read(tmp_path):
    """No damage to the file escapes as another exception."""
    data = small_tflite()
    rng = np.random.default_rng(0)
    path = tmp_path / "damaged.tflite"
    refusals = 0
    for _ in range(150):
        damaged = bytearray(data)
        for position in rng.integers(0, len(data), rng.integers(1, 4)):
            damaged[position] = rng.integers(0, 256)
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(ModelError):
            load(path)
            continue
        refusals += 1
    assert 20 < refusals < 150


def test_constants_behind_the_flatbuffer(tmp_path):
    """The network is the same, and so is its reference, which does not read such files by itself."""
    data = small_tflite()
    inside, outside = tmp_path / "inside.tflite", tmp_path / "outside.tflite"
    inside.write_bytes(data)
    outside.write_bytes(with_buffers_outside(data))
    assert tvm.ir.structural_equal(load(outside).module, load(inside).module)
    sample = np.random.default_rng(0).integers(-128, 128, (1, 4, 4, 3), np.int8)
    _, run = reference(load(outside))
    (found,), (expected,) = run([sample]), Micro(data, 1)(sample)
    np.testing.assert_array_equal(found, expected)
    outside.write_bytes(outside.read_bytes()[:-17])
    assert "truncated" in refused(outside)


def test_what_is_computed_of_constants_alone_is_a_constant(tmp_path):
    """As PyTorch's windowed attention computes its masks."""
    model = TfliteModel()
    x, y = (model.tensor((2, 4), "int8", 0.1) for _ in range(2))
    part = model.tensor((1, 3), "int8", 0.1, data=np.array([[5, -7, 9]]))
    widths = model.tensor((2, 2), "int32", data=np.array([[1, 0], [0, 1]]))
    mask = model.operator("PAD", [part, widths], model.tensor((2, 4), "int8", 0.1), "PadOptions")
    mask = model.operator("ABS", [mask], model.tensor((2, 4), "int8", 0.1), "AbsOptions")
    more = model.tensor((2, 4), "int8", 0.1, data=np.array([[0, 0, 0, 0], [1, 1, 1, 1]]))
    mask = model.operator("ADD", [mask, more], model.tensor((2, 4), "int8", 0.1), "AddOptions")
    model.operator("MAXIMUM", [x, mask], y, "MaximumMinimumOptions")
    data = model.build([x], [y])
    path = tmp_path / "mask.tflite"
    path.write_bytes(data)
    found = load(path)
    for computed in ("pad", "take", "add"):
        assert computed not in str(found.module)
    sample = np.random.default_rng(0).integers(-128, 128, (2, 4), np.int8)
    _, run = reference(found)
    np.testing.assert_array_equal(run([sample])[0], np.maximum(sample, [[0, 0, 0, 0], [6, 8, 10, 1]]))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("real", [False, True])
def test_axes_are_in_the_order_that_the_network_itself_turns(tmp_path, turned, real):
    """Networks of PyTorch are turned in their file, behind a quantization and in front of one, too."""
    model, shape = TfliteModel(), (1, 4, 4, 4)
    given = x = model.tensor(shape, "float32") if real else model.tensor(shape, "int8", 0.1)
    if real:
        x = model.operator("QUANTIZE", [x], model.tensor(shape, "int8", 0.1))
    for order in ((0, 2, 3, 1), (0, 3, 1, 2)) if turned else ((0, 1, 3, 2),):
        axes = model.tensor((4,), "int32", data=np.array(order))
        x = model.operator("TRANSPOSE", [x, axes], model.tensor(shape, "int8", 0.1), "TransposeOptions")
    if real:
        x = model.operator("DEQUANTIZE", [x], model.tensor(shape, "float32"), "DequantizeOptions")
    path = tmp_path / "turned.tflite"
    path.write_bytes(model.build([given], [x]))
    found = load(path)
    expected = "NCHW" if turned else "NHWC"
    assert [tensor.layout for tensor in (*found.inputs, *found.outputs)] == [expected, expected]


def test_other_file_named_tflite(tmp_path):
    path = tmp_path / "text.tflite"
    path.write_bytes(b"not a model, though long enough\0")
    assert "not a TFLite file" in refused(path)


OTHERS = {
    "text": (
        (b'ir_version: 8\nproducer_name: "x"\n', b'<ir_version: 8, opset_import: ["" : 13]>'),
        "onnx.save(onnx.load(",
    ),
    "Git LFS": ((b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n",), "git lfs pull"),
    "ZIP": ((b"PK\x03\x04\x14\x00",), "give the model that is in it"),
    "gzip": ((b"\x1f\x8b\x08\x00",), "unpack it"),
    "web page": ((b"\n<!doctype html><html>", b"<HTML>"), "download"),
    "ORT format": ((b"\x18\x00\x00\x00ORTM\x00",), "the ONNX file"),
}


@pytest.mark.parametrize("what", OTHERS)
@pytest.mark.parametrize("name", ["one.onnx", "one.tflite"])
def test_files_of_other_formats(what: str, name: str, tmp_path: Path) -> None:
    beginnings, advice = OTHERS[what]
    for beginning in beginnings:
        (tmp_path / name).write_bytes(beginning)
        sentence = refused(tmp_path / name)
        assert what in sentence
        assert advice in sentence


def test_float_tflite(tmp_path):
    path = tmp_path / "float.tflite"
    path.write_bytes(small_tflite("float32"))
    sentence = refused(path)
    assert "float model" in sentence
    assert "TensorFlow's converter" in sentence
    assert "representative_dataset" in sentence


def test_all_reasons_against_a_tflite_file_are_told(tmp_path: Path) -> None:
    """Each operator that cannot be compiled once, beside all else that the file itself shows."""
    model = TfliteModel()
    x, *others = (model.tensor((1, 4, 4, 4), "float32") for _ in range(5))
    blocks, widths = (model.tensor(np.shape(one), "int32", data=np.array(one)) for one in ([2, 2], [[0, 0], [0, 0]]))
    images = model.tensor((1, 2, 2, 4), "float32")
    model.tensors[images].shapeSignature = [-1, 2, 2, 4]
    for name, read, output in zip(("NEG", "L2_POOL_2D", "L2_POOL_2D", "RANK"), (x, *others), others, strict=False):
        model.operator(name, [read], output)
    model.operator("SPACE_TO_BATCH_ND", [x, blocks, widths], images)
    model.tensors[x].shapeSignature = [-1, 4, -1, 4]
    sentence = refused(written(tmp_path, model, [x], [others[-1], images]))
    assert " has a dynamic shape at 't0'; fix every dimension before compiling; it also is a float model" in sentence
    assert " is a float model: nothing in it is quantized; quantize weights and" in sentence
    assert "or give it to `match quantize`, with inputs to calibrate on" in sentence
    assert "; it also has SPACE_TO_BATCH_ND (operator 4 at 't7'), which begins a dilated convolution of" in sentence
    assert "; it also has L2_POOL_2D (operator 1 at 't2'), which cannot be compiled; replace" in sentence
    assert "; it also has RANK (operator 3 at 't4'), which cannot be compiled: TFLite Micro" in sentence
    assert sentence.count("L2_POOL_2D") == 1
    assert "NEG" not in sentence


def test_tflite_of_16_bits(tmp_path):
    """Operators that TFLite Micro has no kernel of 16 bits for are named."""
    model = TfliteModel()
    x, y, output = (model.tensor((1, 4), "int16", 0.1) for _ in range(3))
    model.operator("DIV", [x, y], output, "DivOptions")
    sentence = refused(written(tmp_path, model, [x, y], [output]))
    assert "has DIV (operator 0 at 't2') with 't2' of 16 bits" in sentence
    assert "8 bits alone can be compiled; quantize weights and activations to int8" in sentence


@pytest.mark.parametrize(
    ("types", "zero_point", "said"),
    [
        (("int16", "int8", "int16"), 0, "has 't1' of type int8 beside int16"),
        (("int16", "int16", "int8"), 0, "has 't2' of type int8 beside int16"),
        (("int16", "int16", "int16"), 3, "has 't1' with the zero point 3, which 16-bit kernels take for 0"),
    ],
)
def test_16_bits_beside_others(tmp_path: Path, types: tuple[str, str, str], zero_point: int, said: str) -> None:
    model = TfliteModel()
    zeros = 0, zero_point, 0
    x, y, output = (model.tensor((1, 4), kind, 0.1, zero) for kind, zero in zip(types, zeros, strict=True))
    model.operator("ADD", [x, y], output, "AddOptions")
    assert said in refused(written(tmp_path, model, [x, y], [output]))


def test_leaky_relu_of_16_bits_whose_slope_is_no_number(tmp_path: Path) -> None:
    model = TfliteModel()
    x, output = model.tensor((1, 4), "int16", 0.1), model.tensor((1, 4), "int16", 0.2)
    model.operator("LEAKY_RELU", [x], output, "LeakyReluOptions", alpha=float("nan"))
    assert "has an Alpha of nan; it must be a finite number" in refused(written(tmp_path, model, [x], [output]))


def test_scales_of_16_bits_that_are_too_far_apart(tmp_path: Path) -> None:
    """TFLite Micro would shift numbers of 32 bits by 40."""
    model = TfliteModel()
    x, output = model.tensor((1, 4), "int16", 1.0), model.tensor((1, 4), "int16", 1e-12)
    model.operator("QUANTIZE", [x], output)
    assert "a factor of 1e+12 between its scales" in refused(written(tmp_path, model, [x], [output]))


def test_pooling_from_one_scale_of_16_bits_to_another(tmp_path: Path) -> None:
    """It passes integers on, as that of 8 bits does."""
    model = TfliteModel()
    x, output = model.tensor((1, 4, 4, 2), "int16", 0.1), model.tensor((1, 4, 4, 2), "int16", 0.2)
    model.operator("MAX_POOL_2D", [x], output, "Pool2DOptions", strideH=1, strideW=1, filterHeight=1, filterWidth=1)
    assert "has 't0' in another quantization than its output" in refused(written(tmp_path, model, [x], [output]))


def test_real_numbers_between_16_bits(tmp_path: Path) -> None:
    """What a converter leaves of an activation that it does not quantize."""
    model = TfliteModel()
    x, output = (model.tensor((1, 4), "int16", 0.1) for _ in range(2))
    real, made = (model.tensor((1, 4), "float32") for _ in range(2))
    model.operator("DEQUANTIZE", [x], real)
    model.operator("HARD_SWISH", [real], made)
    model.operator("QUANTIZE", [made], output)
    sentence = refused(written(tmp_path, model, [x], [output]))
    assert "has HARD_SWISH (operator 1 at 't3'), which computes in float32 between integers of 16 bits" in sentence
    assert "quantize it as its neighbours are, or all activations to int8" in sentence


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_onnx_of_16_bits(tmp_path: Path, dtype: str) -> None:
    scale = numpy_helper.from_array(np.asarray(np.float32(0.1)), "scale")
    zero = numpy_helper.from_array(np.zeros((), dtype), "zero")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy")
    graph = helper.make_graph(nodes, "net", [x], [y], [scale, zero])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=9), tmp_path / "x.onnx")
    sentence = refused(tmp_path / "x.onnx")
    assert "is quantized to 16 bits, not 8; give the network in float to `match quantize`" in sentence


@pytest.mark.parametrize("types", [("int8", "uint8", "int8"), ("uint8", "uint8", "int8"), ("int8", "uint8", "uint8")])
def test_tflite_of_two_types(tmp_path: Path, types: tuple[str, str, str]) -> None:
    model = TfliteModel()
    x, y, output = (model.tensor((1, 4), dtype, 0.1, 0 if dtype == "int8" else 128) for dtype in types)
    model.operator("ADD", [x, y], output, "AddOptions")
    path = tmp_path / "mixed.tflite"
    path.write_bytes(model.build([x, y], [output]))
    assert "ADD (operator 0 at 't2'), which has tensors of both int8 and uint8" in refused(path)


def test_formats_are_told_by_content(tmp_path):
    network = OnnxModel((1, 3, 6, 6))
    network.conv(4)
    onnx_file = quantize(network, tmp_path, "QDQ", "QUInt8", True)
    called_onnx, called_tflite = tmp_path / "one.onnx", tmp_path / "other.tflite"
    called_onnx.write_bytes(small_tflite())
    called_tflite.write_bytes(onnx_file.read_bytes())
    assert "is a TFLite file that is called .onnx; rename it to one.tflite" in refused(called_onnx)
    assert "is an ONNX file that is called .tflite; rename it to other.onnx" in refused(called_tflite)


@pytest.mark.parametrize("layer", ["Gemm", "LSTM"])
def test_dynamically_quantized_onnx(tmp_path, layer):
    network = OnnxModel((3, 1, 6))
    if layer == "LSTM":
        network.add("LSTM", network.constant(np.ones((1, 20, 6))), network.constant(np.ones((1, 20, 5))), hidden_size=5)
    else:
        network.add("Flatten")
        network.add("MatMul", network.constant(np.ones((6, 4))))
    path = tmp_path / "dynamic.onnx"
    onnx.save(network.build(), tmp_path / "float.onnx")
    quantize_dynamic(tmp_path / "float.onnx", path)
    sentence = refused(path)
    assert "is quantized dynamically: DynamicQuantizeL" in sentence
    assert "`match quantize`" in sentence
    assert ("convert the network to TFLite" in sentence) == (layer == "LSTM")
    assert "float model" not in sentence


def test_dynamic_tflite(tmp_path):
    path = tmp_path / "dynamic.tflite"
    path.write_bytes(small_tflite(shape=(1, 0, 4, 3)))
    assert "dynamic shape" in refused(path)


@pytest.mark.parametrize(
    ("names", "inputs", "outputs"),
    [
        (
            [b"", b"", b"", b""],
            ["tensor_0", "tensor_1"],
            ["tensor_2", "tensor_3"],
        ),  # as with strings stripped
        ([b"same"] * 4, ["same", "same_1"], ["same", "same_3"]),
        ([b"\xff", b"b", b"c", b"d"], ["\ufffd", "b"], ["c", "d"]),
    ],
)
def test_names_of_tflite_inputs_and_outputs(tmp_path, names, inputs, outputs):
    model = TfliteModel()
    tensors = [model.tensor((1, 4), "int8", 0.1) for _ in names]
    for place in (0, 1):
        model.operator("RELU", [place], 2 + place)
    for number, name in zip(tensors, names, strict=True):
        model.tensors[number].name = name
    loaded = load(written(tmp_path, model, tensors[:2], tensors[2:]))
    assert [tensor.name for tensor in loaded.inputs] == inputs
    assert [tensor.name for tensor in loaded.outputs] == outputs
    assert [parameter.name_hint for parameter in loaded.module["main"].params] == inputs


def test_outputs_that_are_free_or_constant(tmp_path):
    """The shape of an output is what the network computes; a constant is an output as TFLite Micro has it."""
    model = TfliteModel()
    x, given = model.tensor((1, 4), "int8", 0.1), np.arange(6).reshape(2, 3)
    constant, output = model.tensor((2, 3), "int8", 0.1, data=given), model.tensor((1, 4), "int8", 0.1)
    model.operator("RELU", [x], output)
    model.tensors[output].shapeSignature = [-1, -1]
    path = written(tmp_path, model, [x], [output, constant])
    values = np.array([[-3, 0, 5, 127]], np.int8)
    expected = Micro(path.read_bytes(), 2)(values)
    found = executable(load(path).module)({"t0": values})
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(other, one)
    model.tensors[x].shapeSignature = [-1, -1]
    assert "dynamic shape at 't0'" in refused(written(tmp_path, model, [x], [output]))


def test_borders_of_tflite_files_that_make_no_sense(tmp_path):
    model = TfliteModel()
    x, output = model.tensor((1, 4), "int8", 0.1), model.tensor((1, 4), "int8", 0.1)
    model.operator("RELU", [x], output)
    assert "has no outputs" in refused(written(tmp_path, model, [x], []))
    assert "has an input twice" in refused(written(tmp_path, model, [x, x], [output]))


def written(folder: Path, model: TfliteModel, inputs: list[int], outputs: list[int]) -> Path:
    path = folder / "network.tflite"
    path.write_bytes(model.build(inputs, outputs))
    return path


def test_operator_that_nothing_reads(tmp_path):
    model = TfliteModel()
    x = model.tensor((1, 4), "int8", 0.1)
    output = model.tensor((1, 4), "int8", 0.1)
    model.operator("TOPK_V2", [x], output)
    sentence = refused(written(tmp_path, model, [x], [output]))
    assert "TOPK_V2 (operator 0 at 't1')" in sentence


def test_state_between_inferences(tmp_path):
    model = TfliteModel()
    x, state = model.tensor((1, 4), "int8", 0.1), model.tensor((1, 4), "int8", 0.1)
    model.tensors[state].isVariable = True
    output = model.tensor((1, 4), "int8", 0.1)
    model.operator("ADD", [x, state], output, "AddOptions")
    assert "keeps state" in refused(written(tmp_path, model, [x], [output]))


def test_shape_that_the_operator_does_not_compute(tmp_path):
    model = TfliteModel()
    x = model.tensor((1, 4), "int8", 0.1)
    output = model.tensor((1, 5), "int8", 0.1)
    model.operator("TANH", [x], model.tensor((1, 4), "int8", 1 / 128))
    model.operator("MAXIMUM", [x, x], output)
    assert "is int8 [1, 5], but what computes it makes int8 [1, 4]" in refused(written(tmp_path, model, [x], [output]))


def test_float_between_integers(tmp_path):
    model = TfliteModel()
    x, y = model.tensor((1, 4), "int8", 0.1), model.tensor((1, 4), "int8", 0.1)
    product = model.tensor((1, 4), "float32")
    real, other = model.tensor((1, 4), "float32"), model.tensor((1, 4), "float32")
    model.operator("DEQUANTIZE", [x], real)
    model.operator("DEQUANTIZE", [y], other)
    model.operator("MUL", [real, other], product, "MulOptions")
    assert "computes in float32" in refused(written(tmp_path, model, [x, y], [product]))


def test_corrupt_onnx(tmp_path):
    network = OnnxModel((1, 3, 6, 6))
    network.conv(4)
    data = quantize(network, tmp_path, "QDQ", "QUInt8", True).read_bytes()
    path = tmp_path / "cut.onnx"
    for share in (0.0, 0.2, 0.5, 0.9):
        path.write_bytes(data[: int(len(data) * share)])
        refused(path)


def test_onnx_with_weights_in_a_missing_file(tmp_path):
    network = OnnxModel((1, 3, 6, 6))
    network.conv(40)
    model = onnx.load(quantize(network, tmp_path, "QDQ", "QUInt8", True))
    path = tmp_path / "split.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert load(path).outputs[0].shape == (1, 40, 4, 4)
    (tmp_path / "weights.bin").unlink()
    assert f"keeps its weights in {tmp_path / 'weights.bin'}, which is not there" in refused(path)
    (tmp_path / "weights.bin").mkdir()
    assert f"{tmp_path / 'weights.bin'}, which is a folder" in refused(path)


def small_onnx(tmp_path: Path) -> Any:
    network = OnnxModel((1, 3, 6, 6))
    network.conv(4)
    return onnx.load(quantize(network, tmp_path, "QDQ", "QUInt8", True))


@pytest.mark.parametrize("axes", [1, 4])
@pytest.mark.parametrize("where", ["initializer", "Constant"])
def test_sparse_constants(where: str, axes: int, tmp_path: Path) -> None:
    """What they do not name is zero: the network is that of the dense weights."""
    model, sparse = small_onnx(tmp_path), small_onnx(tmp_path)
    dense = next(one for one in model.graph.initializer if len(one.dims) == 4)
    weights = np.where(np.arange(4 * 3 * 3 * 3).reshape(4, 3, 3, 3) % 5 == 2, 7, 0).astype(np.int8)
    dense.CopyFrom(numpy_helper.from_array(weights, dense.name))
    places = np.flatnonzero(weights) if axes == 1 else np.argwhere(weights)
    values = numpy_helper.from_array(weights[weights != 0], dense.name)
    stored = helper.make_sparse_tensor(values, numpy_helper.from_array(places.astype(np.int64), "places"), [4, 3, 3, 3])
    others = [one for one in sparse.graph.initializer if one.name != dense.name]
    del sparse.graph.initializer[:]
    sparse.graph.initializer.extend(others)
    if where == "initializer":
        sparse.graph.sparse_initializer.append(stored)
    else:
        sparse.graph.node.insert(0, helper.make_node("Constant", [], [dense.name], sparse_value=stored))
    assert tvm.ir.structural_equal(load(sparse).module, load(model).module)


def test_sparse_constants_with_places_outside(tmp_path: Path) -> None:
    model = small_onnx(tmp_path)
    values, places = numpy_helper.from_array(np.array([1], np.int8), "w"), np.array([99])
    stored = helper.make_sparse_tensor(values, numpy_helper.from_array(places, "places"), [3, 3])
    model.graph.sparse_initializer.append(stored)
    assert "the sparse tensor 'w'" in refusal(load, model)


def test_onnx_without_inputs_or_outputs(tmp_path: Path) -> None:
    model = small_onnx(tmp_path)
    outputs = list(model.graph.output)
    del model.graph.output[:]
    assert "has no output" in refusal(load, model)
    model.graph.output.extend(outputs)
    (x,) = model.graph.input
    model.graph.initializer.append(numpy_helper.from_array(np.zeros((1, 3, 6, 6), np.float32), x.name))
    assert "has no input" in refusal(load, model)


def test_onnx_without_elements(tmp_path: Path) -> None:
    model = small_onnx(tmp_path)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 0
    assert "the input 'x' with a dimension of 0" in refusal(load, model)
    model = small_onnx(tmp_path)
    layer = next(node for node in model.graph.node if node.op_type == "Conv")
    for name, number in (("first", 2), ("last", 2), ("axis", 0)):
        model.graph.initializer.append(numpy_helper.from_array(np.array([number]), name))
    none = helper.make_node("Slice", [layer.input[0], "first", "last", "axis"], ["none"], name="cut")
    model.graph.node.insert(list(model.graph.node).index(layer), none)
    layer.input[0] = "none"
    assert "Slice (cut), whose output has no elements" in refusal(load, model)


def test_onnx_inputs_that_are_no_tensors(tmp_path: Path) -> None:
    model = small_onnx(tmp_path)
    model.graph.input.append(helper.make_tensor_sequence_value_info("many", TensorProto.FLOAT, None))
    assert "the input 'many', which is no tensor (sequence)" in refusal(load, model)


def test_float_onnx(tmp_path):
    network = OnnxModel((1, 3, 6, 6))
    network.conv(4)
    path = tmp_path / "float.onnx"
    onnx.save(network.build(), path)
    sentence = refused(path)
    assert "float model" in sentence
    assert sentence.endswith("give it to `match quantize`, with inputs to calibrate on")


def test_all_reasons_against_an_onnx_file_are_told(tmp_path: Path) -> None:
    """What is open, what is not quantized and what cannot be compiled, each operator once."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4, "length"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("Relu", ["x"], ["positive"]),
        helper.make_node("Det", ["positive"], ["a"]),
        helper.make_node("Mystery", ["a"], ["b"], domain="com.example"),
        helper.make_node("STFT", ["b", "a"], ["c"]),
        helper.make_node("Det", ["c"], ["y"]),
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    path = tmp_path / "all.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=opsets, ir_version=9), path)
    sentence = refused(path)
    assert sentence.startswith(f"{path} has a dynamic shape at 'x' (N, length); fix every dimension")
    assert "; it also is a float model: nothing in it is quantized; give it to" in sentence
    listed = "Mystery of the domain com.example, Det and STFT"
    assert f"; it also uses {listed}, which cannot be compiled; replace them in the model" in sentence


def test_dynamic_shapes_of_several_onnx_inputs(tmp_path: Path) -> None:
    model = opened(small_onnx(tmp_path), 3, "width")
    model.graph.input.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", "n"]))
    assert "has dynamic shapes at 'x' (width) and 'y' (N, n); fix" in refusal(load, model)


def opened(model: onnx.ModelProto, axis: int, name: str | None) -> onnx.ModelProto:
    """The model with an axis of its input open, of this name, without one (""), or -1 (None)."""
    dimension = model.graph.input[0].type.tensor_type.shape.dim[axis]
    dimension.Clear()
    if name is None:
        dimension.dim_value = -1
    elif name:
        dimension.dim_param = name
    return model


@pytest.mark.parametrize("name", ["width", "", None])
def test_onnx_files_of_open_dimensions(tmp_path: Path, name: str | None) -> None:
    """An open batch is no way out where the network is open elsewhere, too."""
    for model in (
        opened(small_onnx(tmp_path), 3, name),
        opened(opened(small_onnx(tmp_path), 3, name), 0, "batch"),
    ):
        onnx.save(model, tmp_path / "open.onnx")
        sentence = refused(tmp_path / "open.onnx")
        assert "dynamic shape at 'x'" in sentence
        assert (name or "?") in sentence


@pytest.mark.parametrize(("name", "called"), [("batch", "'x' (batch)"), ("", "'x'"), (None, "'x'")])
def test_an_open_batch_of_an_onnx_file_is_1(tmp_path: Path, name: str | None, called: str) -> None:
    """Also in the file's own words on shapes behind the inputs; the hash stays the file's."""
    fixed = load(small_onnx(tmp_path))
    model = opened(small_onnx(tmp_path), 0, name)
    for value in (*model.graph.output, *model.graph.value_info):
        value.type.tensor_type.shape.dim[0].dim_param = name or "N"
    path = tmp_path / "open.onnx"
    onnx.save(model, path)
    found = load(path)
    assert (found.inputs, found.outputs) == (fixed.inputs, fixed.outputs)
    assert tvm.ir.structural_equal(found.module, fixed.module)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.notes == (f"{path} leaves the batch open at {called}: the network is compiled for a batch of 1.",)
    assert found.data is not None
    shape = onnx.load_model_from_string(found.data).graph.input[0].type.tensor_type.shape
    assert [one.dim_value for one in shape.dim] == [1, 3, 6, 6]
    assert fixed.notes == ()


def test_open_batches_of_several_inputs(tmp_path: Path) -> None:
    """One that is fixed stays, and a shape that the network computes of its batch is a constant (as of PyTorch)."""
    names = "xyz"
    extents: tuple[tuple[str | int, ...], ...] = (("a", 2, 6), ("b", 12), (1, 12))
    inputs = [helper.make_tensor_value_info(*one) for one in zip(names, [TensorProto.FLOAT] * 3, extents, strict=True)]
    outputs = [helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["a", 12])]
    constants = [
        numpy_helper.from_array(np.float32(0.1), "s"),
        numpy_helper.from_array(np.uint8(128), "zero"),
        numpy_helper.from_array(np.array(0), "first"),
        numpy_helper.from_array(np.array([-1]), "rest"),
        numpy_helper.from_array(np.array([0]), "axes"),
    ]
    nodes: list[onnx.NodeProto] = []

    def real(given: str, made: str) -> None:
        nodes.append(helper.make_node("QuantizeLinear", [given, "s", "zero"], [f"{made}_levels"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{made}_levels", "s", "zero"], [made]))

    for name in names:
        real(name, f"{name}_real")
    nodes += [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "first"], ["batch"]),
        helper.make_node("Unsqueeze", ["batch", "axes"], ["batches"]),
        helper.make_node("Concat", ["batches", "rest"], ["rows"], axis=0),
        helper.make_node("Reshape", ["x_real", "rows"], ["flat"]),
        helper.make_node("Add", ["flat", "y_real"], ["xy"]),
    ]
    real("xy", "xy_real")
    nodes.append(helper.make_node("Add", ["xy_real", "z_real"], ["xyz"]))
    real("xyz", "sum")
    graph = helper.make_graph(nodes, "added", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "added.onnx")
    found = load(tmp_path / "added.onnx")
    assert [tensor.shape for tensor in found.inputs] == [(1, 2, 6), (1, 12), (1, 12)]
    assert [tensor.shape for tensor in found.outputs] == [(1, 12)]
    assert "at 'x' (a) and 'y' (b): " in found.notes[0]
    _, run = reference(found)
    given = [np.full(tensor.shape, 0.5 * at, np.float32) for at, tensor in enumerate(found.inputs)]
    np.testing.assert_allclose(run(given)[0], np.full((1, 12), 1.5), atol=0.11)


def test_onnx_operator_without_importer(tmp_path):
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])]
    scale = helper.make_tensor("s", TensorProto.FLOAT, [], [0.1])
    zero = helper.make_tensor("z", TensorProto.UINT8, [], [3])
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("Mystery", ["q"], ["y"], domain="com.example"),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 8])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [scale, zero])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    path = tmp_path / "mystery.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    assert "Mystery" in refused(path)


def test_quantize_without_zero_point(tmp_path):
    network = OnnxModel((1, 3, 6, 6))
    network.conv(4)
    network.add("Relu")
    model = onnx.load(quantize(network, tmp_path, "QDQ", "QUInt8", False))
    zeros = {
        value.name: onnx.numpy_helper.to_array(value)
        for value in model.graph.initializer
        if value.name.endswith("zero_point")
    }
    dropped = 0
    for node in model.graph.node:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear") and not np.any(zeros[node.input[2]]):
            del node.input[2]
            dropped += 1
    assert dropped > 2
    path = tmp_path / "without.onnx"
    onnx.save(model, path)
    network = load(path).network
    assert isinstance(network, Graph)
    assert any(isinstance(value.operator, Quantize) for value in network.values)
    assert any(isinstance(value.operator, Convolution) for value in network.values)
