"""LSTM and GRU of ONNX files with weights and states of 8 bits, in C, beside NumPy and beside onnxruntime."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from msgspec import UNSET

import match
from match.arithmetic.tflite_functions import logistic_of_16_bits
from match.errors import CapacityError, InputError, OptionError
from tests.devtools.zoo.reference import run
from tests.kernels.recurrent import Curve, Gru, Lstm
from tests.passes.onnx_models import OnnxModel, quantize
from tests.report.test_table import text_of

pytestmark = pytest.mark.cc

STEPS, BATCH, FEATURES, UNITS = 9, 2, 6, 10
SCALE, ZERO = np.float32(0.02), 140
"""The quantization of inputs."""

STATE = 2.0**-7
"""The scale of states, whose zero point is 0."""

ORDER = {"LSTM": [0, 2, 1, 3], "GRU": [0, 1, 2]}
"""ONNX's gates in the order of the layers'."""

Floats = npt.NDArray[np.float32]
Reals = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def weights_of(kind: str, directions: int) -> list[Floats]:
    """The weights of inputs and of states, and biases, as ONNX has them."""
    rows, rng = len(ORDER[kind]) * UNITS, np.random.default_rng(4)
    shapes = (rows, FEATURES), (rows, UNITS), (2 * rows,)
    return [rng.normal(0, 0.5, (directions, *shape)).astype(np.float32) for shape in shapes]


def network(kind: str, direction: str, weights: list[Floats], **more: Any) -> onnx.ModelProto:
    """A network of one layer between a quantize and the network's output."""
    model = OnnxModel((STEPS, BATCH, FEATURES))
    values = {"scale": np.array(SCALE), "zero": np.array(ZERO, np.uint8)}
    model.add("QuantizeLinear", *values)
    model.add("DequantizeLinear", *values)
    attributes = {"hidden_size": UNITS, "direction": direction, **({"linear_before_reset": 1} if kind == "GRU" else {})}
    model.add(kind, *map(model.constant, weights), **{**attributes, **more})
    return model.build([onnx.numpy_helper.from_array(value, name) for name, value in values.items()])


def with_quantized_output(model: onnx.ModelProto) -> onnx.ModelProto:
    """The network with a quantize and a dequantize behind what it computes."""
    (out,) = model.graph.output
    (last,) = (node for node in model.graph.node if out.name in node.output)
    last.output[list(last.output).index(out.name)] = "inner"
    quantize = onnx.helper.make_node("QuantizeLinear", ["inner", "scale", "zero"], ["levels"])
    dequantize = onnx.helper.make_node("DequantizeLinear", ["levels", "scale", "zero"], [out.name])
    model.graph.node.extend([quantize, dequantize])
    return model


def levels(count: int = 1) -> Ints:
    """Inputs over all of their range."""
    return np.random.default_rng(5).integers(0, 256, (count, STEPS, BATCH, FEATURES))


def multiplier(factor: float) -> tuple[int, int]:
    """Mantissa of 31 bits and exponent."""
    fraction, exponent = np.frexp(factor)
    mantissa = int(np.floor(fraction * 2**31 + 0.5))
    return (mantissa, int(exponent)) if mantissa < 2**31 else (mantissa // 2, int(exponent) + 1)


def integers(kind: str, weights: list[Floats], x: Ints, reset_first: bool = False) -> Ints:
    """The states in one direction, from the definition: int8 weights with a scale for each gate, in NumPy."""
    gates = len(ORDER[kind])
    real = [part.reshape(gates, UNITS, -1)[ORDER[kind]].astype(np.float64) for part in weights[:2]]
    biases = weights[2].reshape(2, gates, UNITS)[:, ORDER[kind]].astype(np.float64)
    scales = [np.abs(part).max(axis=(1, 2)) / 127 for part in real]
    fed, back = scales[0] * float(SCALE), scales[1] * STATE
    inputs, states = (
        np.rint(part / own[:, None, None]).astype(np.int64) for part, own in zip(real, scales, strict=True)
    )
    added = biases.sum(axis=0)
    if kind == "GRU":
        added[2] = biases[0, 2]
    first = np.rint(added / fed[:, None]).astype(np.int64) - ZERO * inputs.sum(axis=2)
    offsets = np.stack([first, np.zeros_like(first)])
    factors = [*fed * 2.0**12, *back * 2.0**12]
    curve, clip = Curve(logistic_of_16_bits()), (-128, 127)
    if kind == "GRU":
        scaled = np.array([multiplier(factor) for factor in (*factors, 2.0**-15 / STATE)])
        remembered = np.rint(biases[1, 2] * 2**12).astype(np.int64)
        return Gru((inputs, states), offsets, remembered, scaled, 0, curve, reset_first)(x, clip)
    power = cell_power(real, biases)
    scaled = np.array([multiplier(factor) for factor in (*factors, 2.0 ** (-30 - power), 2.0**-30 / STATE)])
    return Lstm((inputs, states), offsets, scaled, power, 32767, 0, curve)(x, clip)


def cell_power(real: list[Reals], biases: Reals) -> int:
    """The finest steps in which 16 bits hold every cell: what forget gates keep at most, and at most 1 in each step."""
    ends = [(end - ZERO) * float(SCALE) * real[0][1] for end in (0, 255)]
    sums = np.maximum(*ends).sum(axis=1) + np.abs(real[1][1]).sum(axis=1) + biases[:, 1].sum(axis=0)
    kept = 1 / (1 + np.exp(-sums.max()))
    return max(-15, int(np.ceil(np.log2(sum(kept**step for step in range(STEPS))))) - 15)


@pytest.mark.parametrize(("kind", "more"), [("LSTM", {}), ("GRU", {}), ("GRU", {"linear_before_reset": 0})])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_c_has_the_integers_of_the_definition(kind: str, more: dict[str, int], direction: str) -> None:
    """Bit for bit; onnxruntime's floating point is at most 4 steps away, 0.6 on average."""
    weights = weights_of(kind, 2 if direction == "bidirectional" else 1)
    model = network(kind, direction, weights, **more)
    compiled = match.compile(model, "gap9", cache=False, quantize_recurrent=True)
    assert ("gru_reset_first" in [one.op for layer in compiled.report.layers for one in layer.operators]) == bool(more)
    x = levels(3)
    real = ((x - ZERO) * SCALE).astype(np.float32)
    (found,) = compiled.run({"x": real}).values()
    for sample, states in zip(x, found, strict=True):
        for way, name in enumerate(["forward", "reverse"] if direction == "bidirectional" else [direction]):
            turn = slice(None, None, -1 if name == "reverse" else 1)
            expected = integers(kind, [part[way] for part in weights], sample[turn], bool(more))[turn]
            assert np.array_equal(states[:, way] / STATE, expected)
            assert len(np.unique(expected)) > 60
    (right,) = run(model, real)
    off = np.abs(found - right) / STATE
    assert off.max() < 4
    assert off.mean() < 0.6


def test_the_report_says_what_was_quantized() -> None:
    """The layer is not exact, and by how much it moves is what onnxruntime's outputs show, too."""
    model = network("GRU", "forward", weights_of("GRU", 1))
    report = match.compile(model, "gap9", cache=False, fuse=False, quantize_recurrent=True).report
    (layer,) = (layer for layer in report.layers if layer.op == "gru")
    assert report.options.quantize_recurrent
    assert (layer.module, layer.exact) == ("cluster", False)
    assert layer.moved is not None
    assert 0.1 < layer.moved.mean < 0.6
    assert 1 < layer.moved.largest < 4
    assert "Quantized: 1 recurrent layer with weights and states of 8 bits" in " ".join(text_of(report).split())


def test_the_advice_names_the_option() -> None:
    """With what it predicts, which is what comes out."""
    model = network("GRU", "forward", weights_of("GRU", 1))
    plain = match.compile(model, "gap9", cache=False, fuse=False).report
    whole = match.compile(model, "gap9", cache=False, fuse=False, quantize_recurrent=True).report
    advice = plain.advice[0]
    assert advice.kind == "recurrent"
    assert advice.change == {"quantize_recurrent": True}
    assert "where cluster has weights and states of 8 bits: with --quantize-recurrent" in advice.sentence
    assert f"{whole.totals.cycles:,} cycles instead of {plain.totals.cycles:,}" in advice.sentence
    assert not any(one.kind in ("recurrent", "float operators") for one in whole.advice)


def on_real_numbers(quantized: onnx.ModelProto) -> onnx.ModelProto:
    """The network of a layer that reads the input as it is."""
    model = onnx.ModelProto()
    model.CopyFrom(quantized)
    (cell,) = (node for node in model.graph.node if node.op_type == "GRU")
    cell.input[0] = "x"
    return model


def test_a_layer_whose_input_is_not_quantized() -> None:
    """Advice and error say what to do; the gain is that of the layer with a quantized input."""
    quantized = with_quantized_output(network("GRU", "forward", weights_of("GRU", 1)))
    model = on_real_numbers(quantized)
    plain = match.predict(model, "gap9").totals.cycles
    advice = match.predict(model, "gap9").advice[0]
    whole = match.predict(quantized, "gap9", quantize_recurrent=True).totals.cycles
    assert (advice.kind, advice.change) == ("recurrent", {})
    assert "does not quantize its input: with --quantize-recurrent --calibrate X.npz, samples of" in advice.sentence
    assert advice.cycles == pytest.approx(plain - whole, rel=0.1)
    with pytest.raises(OptionError, match=r"whose input the model does not quantize; give samples \(--calibrate\)"):
        match.predict(model, "gap9", quantize_recurrent=True)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_samples_say_the_range_of_an_input(direction: str, tmp_path: Path) -> None:
    """It gets the 8 bits that a quantizer would give it: outputs and cycles are those of the network that has these."""
    quantized = with_quantized_output(network("GRU", direction, weights_of("GRU", 1 + (direction == "bidirectional"))))
    path = tmp_path / "layer.onnx"
    onnx.save(on_real_numbers(quantized), path)
    ends = (np.array([0, 255]) - ZERO) * SCALE  # of all numbers that the other one has
    shape = 3, STEPS, BATCH, FEATURES
    samples = np.linspace(ends[0], ends[1], math.prod(shape), dtype=np.float32).reshape(shape)
    compiled = match.compile(path, "gap9", cache=False, quantize_recurrent=True, calibrate={"x": samples})
    other = match.compile(quantized, "gap9", cache=False, quantize_recurrent=True)
    assert compiled.report.totals.cycles == pytest.approx(other.report.totals.cycles, rel=0.01)
    real = ((levels(4) - ZERO) * SCALE).astype(np.float32)
    (found,), (expected,) = (one.run({"x": real}).values() for one in (compiled, other))
    assert np.array_equal(found, expected)
    compiled.save(tmp_path / "project")
    assert match.validate(tmp_path / "project", inputs={"x": real}).equal


def test_what_needs_no_samples() -> None:
    model, samples = network("GRU", "forward", weights_of("GRU", 1)), {"x": np.zeros((STEPS, BATCH, FEATURES), "f")}
    with pytest.raises(OptionError, match="calibrate is for recurrent layers whose inputs the model does not quantize"):
        match.predict(model, "gap9", quantize_recurrent=True, calibrate=samples)
    with pytest.raises(OptionError, match="calibrate gives ranges to what quantize_recurrent makes integers"):
        match.predict(model, "gap9", calibrate=samples)
    with pytest.raises(InputError, match="the inputs given are y; network takes: x"):
        match.predict(model, "gap9", quantize_recurrent=True, calibrate={"y": samples["x"]})


def test_a_network_that_only_fits_with_the_option() -> None:
    """In floating point it needs more than twice the memory."""
    model = network("GRU", "forward", weights_of("GRU", 1))
    with pytest.raises(CapacityError, match="the weights of GRU_t2 have 32 bits; --quantize-recurrent would"):
        match.compile(model, "gap9", cache=False, l2=6 << 10)
    assert match.compile(model, "gap9", cache=False, l2=6 << 10, quantize_recurrent=True).report.memory is UNSET


def test_layers_behind_one_another(tmp_path: Path) -> None:
    """They, and what moves states, are integers from the first quantize to the last dequantize."""
    model = OnnxModel((1, FEATURES, 1, STEPS))
    model.conv(FEATURES, (1, 3), pads=[0, 1, 0, 1])
    model.add("Reshape", model.constant(np.array([1, FEATURES, STEPS])))
    model.add("Transpose", perm=[2, 0, 1])
    for kind, inputs in (("LSTM", FEATURES), ("GRU", UNITS)):
        rows = len(ORDER[kind]) * UNITS
        shapes = (rows, inputs), (rows, UNITS), (2 * rows,)
        constants = [model.constant(model.rng.normal(0, 0.4, (1, *shape))) for shape in shapes]
        more = {"linear_before_reset": 1} if kind == "GRU" else {}
        model.add(kind, *constants, hidden_size=UNITS, **more)
        model.add("Squeeze", model.constant(np.array([1])))
    model.add("Gather", model.constant(np.array(STEPS - 1)), axis=0)
    model.gemm(UNITS, 5)
    path = quantize(model, tmp_path, "QDQ", "QUInt8", per_channel=False)
    compiled = match.compile(path, "gap9", cache=False, fuse=False, quantize_recurrent=True)
    operators = [layer.op for layer in compiled.layers]
    assert operators.count("lstm") == operators.count("gru") == 1
    assert operators.count("dequantize") == 1
    assert "nn.dense" not in operators
    x = np.random.default_rng(1).normal(0, 1, (6, *model.shape)).astype(np.float32)
    (found,), (right,) = compiled.run({"x": x}).values(), run(onnx.load(path), x)
    assert np.abs(found - right).max() < 4.1 * np.diff(np.unique(right)).min()
    assert compiled.validate(samples=2).equal


def test_other_cells_stay_in_floating_point() -> None:
    model = network("GRU", "forward", weights_of("GRU", 1), clip=3.0)
    with pytest.raises(OptionError, match="no plain LSTM or GRU in floating point"):
        match.compile(model, "gap9", cache=False, quantize_recurrent=True)


@pytest.mark.parametrize("given", [{"l1": 1 << 10, "modules": ["cluster"]}, {"modules": ["ne16"]}])
def test_what_no_module_takes_is_a_sentence(given: dict[str, Any]) -> None:
    model = network("LSTM", "forward", weights_of("LSTM", 1))
    with pytest.raises(CapacityError, match=r"makes integers of 'LSTM_t2', an LSTM of 10 units and 6 features"):
        match.compile(model, "gap9", cache=False, quantize_recurrent=True, **given)
