"""Integer ONNX dialects against their arithmetic computed from the definition."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import match
from match.frontend import Model, Rounding, load
from match.graph.maximum import Maximum
from match.graph.moves import Move
from match.graph.pairs import Addition
from match.graph.sums import Accumulation, Convolution, Dense
from match.graph.text import text
from match.graph.value import Graph
from match.passes.pipeline import integer_network
from tests.frontend.integer_reference import run
from tests.frontend.refusals import refused

pytestmark = pytest.mark.cc

SAMPLES = 10


@dataclass
class Network:
    """Nodes one after the other; `x` is the last tensor."""

    shape: tuple[int, ...]
    kind: int = TensorProto.UINT8
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    x: str = "input"
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(
        self, op: str, *constants: Any, inputs: list[str] | None = None, domain: str = "", **attributes: Any
    ) -> str:
        names = inputs if inputs is not None else [self.x, *(self.constant(array) for array in constants)]
        self.x = f"t{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(op, names, [self.x], name=f"{op}_{len(self.nodes)}", domain=domain, **attributes)
        )
        return self.x

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info("input", self.kind, self.shape)],
            [helper.make_tensor_value_info(self.x, TensorProto.FLOAT, None)],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)])

    def weights(self, *shape: int, dtype: Any = np.float32) -> Any:
        return self.rng.integers(-128, 128, shape).astype(dtype)


def nemo() -> Network:
    """Floats that hold integers: kappa, lambda, a common multiplier, a power of two; a scaled residual addition."""
    net = Network((1, 3, 8, 8), TensorProto.FLOAT)

    def layer(*shape: int, bias: bool = False, **attributes: Any) -> str:
        constants = [net.weights(*shape)]
        if bias:
            constants.append(net.rng.integers(-900, 900, shape[0]).astype(np.float32))
        net.add("Conv", *constants, kernel_shape=shape[2:], **attributes)
        net.add("Mul", net.rng.integers(1, 200, (1, shape[0], 1, 1)).astype(np.float32))
        net.add("Add", net.rng.integers(-(2**18), 2**18, (1, shape[0], 1, 1)).astype(np.float32))
        net.add("Mul", np.float32(3))
        net.add("Div", np.float32(2**16))
        net.add("Floor")
        return net.add("Clip", min=0.0, max=255.0)

    first = layer(8, 3, 3, 3, pads=[1, 1, 1, 1], bias=True)
    second = layer(8, 1, 3, 3, pads=[1, 1, 1, 1], group=8)
    a = net.add("Mul", inputs=[first, net.constant(np.float32(40))])
    b = net.add("Mul", inputs=[second, net.constant(np.float32(23))])
    net.add("Add", inputs=[a, b])
    net.add("Div", np.float32(64))
    net.add("Floor")
    net.add("Clip", min=0.0, max=255.0)
    net.add("AveragePool", kernel_shape=[2, 2], strides=[2, 2])
    net.add("Floor")
    net.add("Flatten")
    net.add("Gemm", net.weights(10, 128), net.rng.integers(-99, 99, 10).astype(np.float32), transB=1)
    return net


def quantlab() -> Network:
    """RequantShift with its implicit half, an addition with requantization in attributes, a scaled average."""
    net = Network((1, 4, 6, 6))

    def requantize(channels: int, signed: bool = False) -> str:
        def number(value: int) -> Any:
            return numpy_helper.from_array(np.array([value], np.float32))

        mul = net.rng.integers(1, 90, (channels, 1, 1)).astype(np.float32)
        add = net.rng.integers(-(2**15), 2**15, (channels, 1, 1)).astype(np.float32)
        levels = {"div": number(2**14), "signed": number(signed), "n_levels_out": number(256)}
        return net.add("RequantShift", mul, add, domain="PACTOps", **levels)

    net.add("Conv", net.weights(6, 4, 3, 3, dtype=np.int8), kernel_shape=[3, 3], weight_bits=8, bias_bits=32)
    first = requantize(6)
    net.add("Conv", net.weights(6, 6, 1, 1, dtype=np.int8), kernel_shape=[1, 1])
    second = requantize(6)
    sides: dict[str, Any] = {
        "in1_mul": 77, "in1_add": -3, "in1_shift": 7, "in1_n_levels": 256, "in1_rq": 1,
        "in2_mul": 101, "in2_add": 5, "in2_shift": 7, "in2_n_levels": 256, "in2_rq": 1,
        "out_mul": 3, "out_add": -100, "out_shift": 2, "out_n_levels": 256, "out_rq": 1, "out_signed": 1,
    }  # fmt: skip
    net.add("Add", inputs=[first, second], **sides, add_bits=8)
    net.add("GlobalAveragePool")
    net.add("Mul", np.float32(48))
    net.add("Add", np.float32(7))
    net.add("Div", np.float32(32))
    net.add("Floor")
    net.add("Clip", min=-128.0, max=127.0)
    net.add("Flatten")
    net.add("MatMul", net.weights(6, 5))
    return net


def plinio() -> Network:
    """Weights as unsigned bytes that are signed, casts everywhere, sums that stay 32 bits at the end."""
    net = Network((1, 2, 7, 5))
    net.add("Conv", net.weights(8, 2, 3, 2).astype(np.int8).view(np.uint8), kernel_shape=[3, 2], strides=[2, 1])
    net.add("Cast", to=TensorProto.INT32)
    net.add("Mul", net.rng.integers(1, 50, (1, 8, 1, 1)).astype(np.int32))
    net.add("Add", net.rng.integers(-9999, 9999, (1, 8, 1, 1)).astype(np.int32))
    net.add("Div", np.array([2**13], np.int32))
    net.add("Floor")
    net.add("Clip", min=0.0, max=255.0)
    net.add("Cast", to=TensorProto.UINT8)
    net.add("MaxPool", kernel_shape=[2, 2], strides=[1, 1])
    net.add("Flatten")
    net.add("MatMul", net.weights(8 * 2 * 3, 4).astype(np.int8).view(np.uint8))
    net.add("Cast", to=TensorProto.INT32)
    net.add("Add", net.rng.integers(-9999, 9999, (1, 4)).astype(np.int32))
    return net


def compared(proto: onnx.ModelProto, path: Any, numerics: str = "exact", samples: int = SAMPLES) -> match.CompiledModel:
    model = load(path)
    assert model.rounding == Rounding.INTEGER
    rng = np.random.default_rng(1)
    inputs = {
        tensor.name: rng.integers(0, 256, (samples, *tensor.shape)).astype(tensor.dtype) for tensor in model.inputs
    }
    compiled = match.compile(path, "gap9", numerics=numerics, fuse=False)
    outputs = compiled.run(inputs)
    for sample in range(samples):
        wanted = run(proto, {name: array[sample] for name, array in inputs.items()})
        for name, array in wanted.items():
            np.testing.assert_array_equal(outputs[name][sample], array)
    return compiled


def read(network: Network, folder: Path) -> Model:
    path = folder / "network.onnx"
    onnx.save(network.model(), path)
    return load(path)


@pytest.mark.parametrize("network", [nemo, quantlab, plinio])
def test_dialects(network, tmp_path):
    net = network()
    proto = net.model()
    path = tmp_path / "network.onnx"
    onnx.save(proto, path)
    compiled = compared(proto, path)
    layers = [layer for layer in compiled.layers if layer.op in ("conv2d", "depthwise_conv2d", "add", "avg_pool2d")]
    assert layers
    assert all(candidate.schedule for layer in layers for candidate in layer.candidates[:1]), "the cluster takes each"


@pytest.mark.parametrize(
    "name",
    ["keyword_spotting", "anomaly_detection", pytest.param("visual_wake_words", marks=pytest.mark.sweep)],
)
def test_plinio_networks(models_dir, name):
    path = models_dir / f"{name}.onnx"
    compared(onnx.load(path), path, samples=50)


def broken(tmp_path, change) -> str:
    net = plinio()
    change(net)
    path = tmp_path / "broken.onnx"
    onnx.save(net.model(), path)
    return refused(path)


def change_attribute(net: Network, op: str, **attributes: Any) -> None:
    node = next(node for node in net.nodes if node.op_type == op)
    for name, value in attributes.items():
        kept = [attribute for attribute in node.attribute if attribute.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(name, value)])


def test_unknown_attributes_are_named(tmp_path):
    sentence = broken(tmp_path, lambda net: change_attribute(net, "MaxPool", dither=1))
    assert "MaxPool (MaxPool_8) with the attribute 'dither'" in sentence


def test_unknown_operators_are_named(tmp_path):
    assert "Sin (Sin_13), which is no operator of integer networks" in broken(tmp_path, lambda net: net.add("Sin"))


def test_additions_name_what_is_missing(tmp_path):
    def change(net: Network) -> None:
        net.add("Add", inputs=[net.x, net.x], in1_mul=3)

    assert "has no attribute 'in1_add'" in broken(tmp_path, change)


@pytest.mark.parametrize(
    ("op", "position", "array", "sentence"),
    [
        ("Div", 0, np.array([1000], np.int32), "divides by 1000; only powers of two"),
        (
            "Mul",
            0,
            np.full((1, 3, 1, 1), 2, np.int32),
            r"constant of shape [1, 3, 1, 1], not one number or one per channel",
        ),
        ("Mul", 0, np.full((1, 8, 1, 1), 0.5, np.float32), "has a constant that is no integer"),
        ("Conv", 0, np.full((8, 2, 3, 2), 200, np.int32), "weights that 8 bits do not hold"),
    ],
)
def test_wrong_constants(tmp_path, op, position, array, sentence):
    def change(net: Network) -> None:
        node = next(node for node in net.nodes if node.op_type == op)
        net.constants = [tensor for tensor in net.constants if tensor.name != node.input[1 + position]]
        net.constants.append(numpy_helper.from_array(array, node.input[1 + position]))

    assert sentence in broken(tmp_path, change)


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [
        ({"op": "Clip", "min": -1.0, "max": 300.0}, "clips to -1 .. 300"),
        ({"op": "Conv", "auto_pad": "SAME_UPPER"}, "leaves its padding to the runtime"),
        ({"op": "MaxPool", "ceil_mode": 1}, "leaves its padding to the runtime"),
    ],
)
def test_wrong_attributes(tmp_path, attributes, sentence):
    values = dict(attributes)
    op = values.pop("op")
    assert sentence in broken(tmp_path, lambda net: change_attribute(net, op, **values))


@pytest.mark.parametrize(
    ("op", "attributes", "sentence"),
    [
        ("Conv", {"group": 2}, "has filters of shape [8, 2, 3, 2] in 2 groups for a map of 2 channels"),
        ("Conv", {"dilations": [9, 1]}, "has windows that are larger than its map"),
        ("Conv", {"pads": [-1, 0, 0, 0]}, "has strides, pads or dilations of no map"),
        ("MaxPool", {"kernel_shape": [5, 2]}, "has windows that are larger than its map"),
    ],
)
def test_what_does_not_fit_its_map(tmp_path, op, attributes, sentence):
    assert sentence in broken(tmp_path, lambda net: change_attribute(net, op, **attributes))


def test_weights_of_another_size(tmp_path):
    def change(net: Network) -> None:
        net.constants = [each for each in net.constants if each.name != net.nodes[-3].input[1]]
        net.constants.append(numpy_helper.from_array(net.weights(47, 4, dtype=np.int8), net.nodes[-3].input[1]))

    assert "has weights of shape [47, 4] for 48 elements" in broken(tmp_path, change)


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [
        ({"in1_shift": -1}, "shifts by -1; only shifts by 0 to 62"),
        ({"out_n_levels": 0}, "has out_n_levels of 0, which leaves no integer"),
    ],
)
def test_wrong_additions(tmp_path, attributes, sentence):
    net = quantlab()
    change_attribute(net, "Add", **attributes)
    path = tmp_path / "broken.onnx"
    onnx.save(net.model(), path)
    assert sentence in refused(path)


def test_operators_of_unknown_domains_are_named(tmp_path):
    sentence = broken(tmp_path, lambda net: net.add("Relu", domain="com.example"))
    assert "Relu (Relu_13), which is of the domain 'com.example', which is unknown" in sentence


def test_quantlabs_domain_has_its_own_operators_alone(tmp_path):
    sentence = broken(tmp_path, lambda net: net.add("Relu", domain="PACTOps"))
    assert "Relu (Relu_13), which is of the domain 'PACTOps'" in sentence


@pytest.mark.parametrize(
    ("name", "changed"),
    [(b"kernel_shape", b"\xffernel_shape"), (b"RequantShift", b"Requant\nhift"), (b"PACTOps", b"PACT\xffps")],
)
def test_names_that_are_no_text(name, changed, tmp_path):
    path = tmp_path / "broken.onnx"
    path.write_bytes(quantlab().model().SerializeToString().replace(name, changed))
    assert "is truncated or corrupt" in refused(path)


def graph_text(model: Model) -> str:
    assert isinstance(model.network, Graph)
    return text(model.network)


@pytest.mark.parametrize("domain", ["", "ai.onnx", "PACTOps"])
def test_domains_of_a_requant_shift(domain, tmp_path):
    """Quantlab writes it in its own domain, or, for Deeploy, in none."""
    net = quantlab()
    for node in net.nodes:
        node.domain = domain if node.op_type == "RequantShift" else node.domain
    assert graph_text(read(net, tmp_path)) == graph_text(read(quantlab(), tmp_path))


@pytest.mark.parametrize("network", [nemo, quantlab, plinio])
def test_a_network_is_the_graph(network, tmp_path):
    """What makes 8 bits of sums is one operator, which is called as the layer, and maps have their channels last."""
    model = read(network(), tmp_path)
    assert isinstance(model.network, Graph)
    values = integer_network(model).values
    layers = [value for value in values if isinstance(value.operator, Accumulation | Addition | Maximum)]
    sums = [value for value in layers if value.dtype == "int32"]
    assert len(sums) == 1  # the last layer's, which are handed out
    depthwise = [each for each in values if isinstance(each.operator, Convolution) and each.operator.depthwise]
    assert len(depthwise) == (network is nemo)
    ops = [node.op_type for node in network().nodes]
    weighted = [value.source for value in layers if isinstance(value.operator, Convolution | Dense)]
    assert [name.partition("_")[0] for name in weighted] == [op for op in ops if op in ("Conv", "Gemm", "MatMul")]
    moves = [value for value in values if isinstance(value.operator, Move)]
    assert sum(isinstance(move.operator, Move) and move.operator.turns for move in moves) <= 1
    assert {move.source.partition("_")[0] for move in moves} <= {"", "Flatten"}


def test_a_map_of_one_channel_is_only_seen_in_another_way(tmp_path):
    """Which is no operator of the model."""
    net = Network((1, 1, 6, 5))
    net.add("Conv", net.weights(4, 1, 3, 3), kernel_shape=[3, 3])
    net.add("Div", np.float32(2**8))
    net.add("Floor")
    net.add("Clip", min=0.0, max=255.0)
    values = integer_network(read(net, tmp_path)).values
    first, *_ = (value for value in values if isinstance(value.operator, Move))
    assert isinstance(first.operator, Move)
    assert (first.source, first.operator.turns) == ("", False)


def test_maps_that_are_handed_out_have_channels_first(tmp_path):
    net = plinio()
    net.nodes = net.nodes[:9]
    net.x = net.nodes[-1].output[0]
    (output,) = read(net, tmp_path).outputs
    assert (output.shape, output.layout, output.dtype) == ((1, 8, 2, 3), "NCHW", "uint8")


def test_sums_are_not_read_as_bytes(tmp_path):
    def change(net: Network) -> None:
        net.add("MatMul", net.weights(4, 4, dtype=np.int8))

    assert "reads sums that nothing has brought back to 8 bits" in broken(tmp_path, change)


def test_an_open_batch_is_1(tmp_path: Path) -> None:
    path, fixed = tmp_path / "open.onnx", nemo().model()
    onnx.save(fixed, path)
    expected = load(path)
    fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    onnx.save(fixed, path)
    found = load(path)
    assert found.rounding is Rounding.INTEGER
    assert graph_text(found) == graph_text(expected)
    assert [len(one.notes) for one in (expected, found)] == [0, 1]
