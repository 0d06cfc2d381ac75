"""Softmax, logistic, tanh and hard swish against TFLite Micro, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tflite
from hypothesis import given, settings
from hypothesis import strategies as st

from match.arithmetic import tflite_functions
from match.arithmetic.interface import QuantizedType
from match.frontend.model import Model
from match.frontend.relay import from_relay
from match.frontend.tflite import from_tflite
from match.passes.pipeline import integer_network
from match.relay import relay
from match.relay.rewrite import dtype, is_8bit, operator_name
from tests.integer_relay import integer_relay
from tests.passes.running import executable
from tests.passes.tflite_models import Micro, TfliteModel

pytestmark = pytest.mark.tvm

EVERY_VALUE = np.arange(-128, 128, dtype=np.int8)

# Width of a row, scale and beta.
SOFTMAXES = [
    (2, 0.05, 1.0),
    (10, 0.1, 1.0),
    (12, 0.0173, 2.7),
    (511, 1e-6, 1.0),
    (1000, 0.4, 1.0),
]


def unary(name: str, quantizations: tuple[float, int, float, int]) -> bytes:
    scale, zero_point, output_scale, output_zero_point = quantizations
    model = TfliteModel()
    x = model.tensor((1, 256), "int8", scale, zero_point)
    output = model.tensor((1, 256), "int8", output_scale, output_zero_point)
    model.operator(name, [x], output)
    return model.build([x], [output])


@st.composite
def numbers_of(draw: st.DrawFn, name: str) -> tuple[float, int, float, int]:
    """Scale and zero point of the input, then of the output."""

    def power_of_two(low: float, high: float) -> float:
        return float(np.float32(2 ** draw(st.floats(low, high))))

    scale, zero_point = power_of_two(-20, 6), draw(st.integers(-128, 127))
    if name == "LOGISTIC":
        return scale, zero_point, 1 / 256, -128
    if name == "TANH":
        return scale, zero_point, 1 / 128, 0
    return scale, zero_point, float(np.float32(scale * power_of_two(-6, 12))), draw(st.integers(-128, 127))


@pytest.mark.parametrize("name", ["LOGISTIC", "TANH", "HARD_SWISH"])
def test_tables(name: str) -> None:
    """Every input, for scales from where the function is a line to where it is a step."""
    distinct: set[int] = set()

    @settings(max_examples=150)
    @given(numbers_of(name))
    def property_holds(numbers: tuple[float, int, float, int]) -> None:
        scale, zero_point, output_scale, output_zero_point = numbers
        x = QuantizedType(np.float32(scale), zero_point, "int8")
        output = QuantizedType(np.float32(output_scale), output_zero_point, "int8")
        found = getattr(tflite_functions, name.lower())(x, output)
        (expected,) = Micro(unary(name, numbers), 1)(EVERY_VALUE.reshape(1, 256))
        np.testing.assert_array_equal(found, expected.reshape(-1))
        distinct.update(expected.reshape(-1).tolist())

    property_holds()
    assert len(distinct) > 250


def test_a_factor_whose_last_bit_depends_on_the_precision() -> None:
    """In single precision the ratio of the scales is just between two mantissas of 15 bits."""
    numbers = (1.0, 0, 1.3195079565048218, 0)
    x, output = (QuantizedType(np.float32(scale), 0, "int8") for scale in numbers[::2])
    (expected,) = Micro(unary("HARD_SWISH", numbers), 1)(EVERY_VALUE.reshape(1, 256))
    np.testing.assert_array_equal(tflite_functions.hard_swish(x, output), expected.reshape(-1))


def from_tvm(data: bytes, path: Path) -> Model:
    """The network as TVM imports it, which users may pass on as Relay."""
    module, params = relay.frontend.from_tflite(tflite.Model.GetRootAs(data, 0))
    return from_relay(module, params, name=path.stem)


@pytest.mark.parametrize("read", [from_tflite, from_tvm])
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("LOGISTIC", (0.043, -7, 1 / 256, -128)),
        ("TANH", (0.021, 15, 1 / 128, 0)),
        ("HARD_SWISH", (0.0431, -20, 0.0257, -113)),
    ],
)
def test_a_function_of_a_network_is_one_table(
    name: str, numbers: tuple[float, int, float, int], read: Callable[[bytes, Path], Model]
) -> None:
    data = unary(name, numbers)
    model = read(data, Path("test.tflite"))
    (expected,) = Micro(data, 1)(EVERY_VALUE.reshape(1, 256))
    for activations in (None, "uint8"):
        module = integer_relay(model, activations)
        assert [call for call in calls(module) if dtype(call) != "int32"] == calls(module)[-1:]
        (found,) = executable(module)({model.inputs[0].name: EVERY_VALUE.reshape(1, 256)})
        np.testing.assert_array_equal(found, expected)


def test_uint8_has_the_same_numbers_128_higher() -> None:
    x = QuantizedType(np.float32(0.05), 3, "int8")
    functions = (
        (tflite_functions.logistic, QuantizedType(np.float32(1 / 256), -128, "int8")),
        (tflite_functions.tanh, QuantizedType(np.float32(1 / 128), 0, "int8")),
        (tflite_functions.hard_swish, QuantizedType(np.float32(0.03), 5, "int8")),
    )
    for function, output in functions:
        signed, unsigned = function(x, output), function(higher(x), higher(output))
        assert signed is not None
        assert unsigned is not None
        np.testing.assert_array_equal(unsigned, signed + 128)


def higher(values: QuantizedType) -> QuantizedType:
    return QuantizedType(values.scale, values.zero_point + 128, "uint8")


def test_other_scales_at_the_output_are_not_defined() -> None:
    x = QuantizedType(np.float32(0.05), 3, "int8")
    assert tflite_functions.logistic(x, QuantizedType(np.float32(1 / 255), -128, "int8")) is None
    assert tflite_functions.tanh(x, QuantizedType(np.float32(1 / 128), 1, "int8")) is None
    assert tflite_functions.hard_swish(x, QuantizedType(np.float32(1e-4), 0, "int8")) is None


def rows(width: int) -> npt.NDArray[np.int8]:
    """Rows of noise over the whole range and narrower ones, of extremes, and of one value.

    TFLite Micro ends the program where the exponentials of a row add up to 512 or more: wide ones have no narrow noise.
    """
    rng = np.random.default_rng(width)
    wide: list[npt.NDArray[Any]] = [
        *rng.integers(-128, 128, (4, width)),
        np.where(rng.random(width) < 0.3, 127, -128),
        np.where(np.arange(width) == width // 2, 127, -128),
    ]
    narrow: list[npt.NDArray[Any]] = [
        *(np.clip(rng.normal(rng.integers(-90, 90), spread, width), -128, 127) for spread in (2, 8, 20, 50)),
        *(np.full(width, value) for value in (127, -128, 5)),
    ]
    return np.stack(wide if width > 511 else [*wide, *narrow]).astype(np.int8)


def softmaxes(networks: list[tuple[int, float, float]]) -> tuple[bytes, list[npt.NDArray[np.int8]]]:
    model = TfliteModel()
    samples = [rows(width) for width, _, _ in networks]
    inputs: list[int] = []
    outputs: list[int] = []
    for (_, scale, beta), sample in zip(networks, samples, strict=True):
        inputs.append(model.tensor(sample.shape, "int8", scale, 9))
        outputs.append(model.tensor(sample.shape, "int8", 1 / 256, -128))
        model.operator("SOFTMAX", [inputs[-1]], outputs[-1], "SoftmaxOptions", beta=beta)
    return model.build(inputs, outputs), samples


def test_softmax() -> None:
    data, samples = softmaxes(SOFTMAXES)
    model = from_tflite(data, Path("test.tflite"))
    found = executable(integer_network(model))({x.name: value for x, value in zip(model.inputs, samples, strict=True)})
    expected = Micro(data, len(SOFTMAXES))(*samples)
    for network, one, other in zip(SOFTMAXES, expected, found, strict=True):
        np.testing.assert_array_equal(other, one, str(network))
    assert len(set(np.concatenate([one.reshape(-1) for one in expected]).tolist())) > 60


def test_rows_whose_sums_tflite_micro_refuses() -> None:
    """Each of more than 512 equal values has less than half a step."""
    widths = (513, 1024, 4095)
    model = TfliteModel()
    inputs = [model.tensor((2, width), "int8", 0.1, 0) for width in widths]
    outputs = [model.tensor((2, width), "int8", 1 / 256, -128) for width in widths]
    for x, output in zip(inputs, outputs, strict=True):
        model.operator("SOFTMAX", [x], output, "SoftmaxOptions", beta=1.0)
    network = from_tflite(model.build(inputs, outputs), Path("test.tflite"))
    samples = [np.full((2, width), [[-128], [127]], np.int8) for width in widths]
    values = {x.name: sample for x, sample in zip(network.inputs, samples, strict=True)}
    for output in executable(integer_network(network))(values):
        assert (output == -128).all()


def test_softmax_of_a_map_stored_unsigned() -> None:
    """Along the last of four axes, with beta, between operators that take uint8: no table but that at the border."""
    model = TfliteModel()
    x = model.tensor((1, 4, 6, 7), "int8", 0.05, 3)
    pooled = model.tensor((1, 2, 3, 7), "int8", 0.05, 3)
    soft = model.tensor((1, 2, 3, 7), "int8", 1 / 256, -128)
    output = model.tensor((1, 1, 1, 7), "int8", 1 / 256, -128)
    model.operator(
        "MAX_POOL_2D", [x], pooled, "Pool2DOptions", padding=1, filterHeight=2, filterWidth=2, strideH=2, strideW=2
    )
    model.operator("SOFTMAX", [pooled], soft, "SoftmaxOptions", beta=1.5)
    model.operator(
        "MAX_POOL_2D", [soft], output, "Pool2DOptions", padding=1, filterHeight=2, filterWidth=3, strideH=2, strideW=3
    )
    data = model.build([x], [output])
    network = from_tflite(data, Path("test.tflite"))
    module = integer_relay(network, "uint8")
    assert [(operator_name(call), dtype(call)) for call in calls(module) if is_8bit(call)] == [
        ("take", "uint8"),
        ("nn.max_pool2d", "uint8"),
        ("max", "uint8"),
        ("cast", "uint8"),
        ("nn.max_pool2d", "uint8"),
        ("take", "int8"),
    ]
    run, reference = executable(module), Micro(data, 1)
    for value in np.random.default_rng(3).integers(-128, 128, (20, 1, 4, 6, 7)).astype(np.int8):
        np.testing.assert_array_equal(run({network.inputs[0].name: value})[0], reference(value)[0])


def test_a_long_row_stays_in_floating_point() -> None:
    data, _ = softmaxes([(4096, 0.1, 1.0)])
    assert "nn.softmax" in map(operator_name, calls(integer_relay(from_tflite(data, Path("test.tflite")))))


def calls(module: Any) -> list[relay.Call]:
    found: list[relay.Call] = []

    def visit(node: Any) -> None:
        if isinstance(node, relay.Call):
            found.append(node)

    relay.analysis.post_order_visit(module["main"].body, visit)
    return found
