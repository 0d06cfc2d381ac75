"""Integer ONNX: networks whose operators compute with integers as they stand, without quantization parameters.

This is how the tools of the PULP community export (NEMO, Quantlab, PLiNIO): a convolution or dense layer with integer
weights, then Mul, Add, Div, Floor and Clip, or one RequantShift, which bring its sums back to 8 bits. The files do not
agree on types; what counts is content. Weights are signed bytes, whether stored as int8, as uint8 with the same bits,
or as floats; an input that is declared float holds integers from 0 to 255. The arithmetic is that of integers of any
size: a division is by a power of two and rounds down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from match.errors import ModelError
from match.frontend.model import Tensor
from match.frontend.onnx_graph import Array, Node, read_constants, read_nodes
from match.frontend.relay import tensor
from match.relay import relay, tvm

_ADD_ATTRIBUTES = frozenset(
    f"{side}_{part}" for side in ("in1", "in2", "out") for part in ("mul", "add", "shift", "n_levels", "rq")
)
_PRECISIONS = ("weight_bits", "bias_bits", "out_bits", "mult_bits", "add_bits")
_WINDOW = ("kernel_shape", "pads", "strides", "dilations", "auto_pad", "ceil_mode", "count_include_pad")
_SIGNED, _UNSIGNED = (-128, 127), (0, 255)


@dataclass(frozen=True, eq=False)
class _Value:
    """A tensor, NCHW or (N, C), of 8 bits or, on the way there, int64; `divisor` is a division whose rounding follows.

    `mean_of` is the type of 8 bits that it is an average of, and so fits once it is rounded; empty for other values.
    """

    expr: relay.Expr
    shape: tuple[int, ...]
    dtype: str = "int64"
    divisor: int = 1
    mean_of: str = ""


def is_integer_dialect(graph: Any) -> bool:
    """Whether a graph without quantization operators brings sums back to few bits by itself."""
    operators = {node.op_type for node in graph.node}
    if any(name.startswith("Q") or name == "DequantizeLinear" for name in operators):
        return False
    requantizes = "RequantShift" in operators or {"Div", "Floor", "Clip"} <= operators
    return requantizes and bool(operators & {"Conv", "Gemm", "MatMul"})


def from_integer_onnx(
    graph: Any, inputs: tuple[Tensor, ...], path: Path
) -> tuple[tvm.IRModule, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The network as Relay with integer operators, types inferred; its inputs and outputs with the types they have.

    Raises:
        ModelError: an operator or attribute is unknown, or computes what is no integer arithmetic of 8 bits.
    """
    importer = _Importer(graph, path)
    tensors = tuple(given if given.dtype in ("int8", "uint8") else replace(given, dtype="uint8") for given in inputs)
    parameters = [relay.var(given.name, shape=given.shape, dtype=given.dtype) for given in tensors]
    for given, parameter in zip(tensors, parameters, strict=True):
        importer.values[given.name] = _Value(parameter, given.shape, given.dtype)
    for node in read_nodes(graph, path):
        importer.add(node)
    results = [importer.result(value.name) for value in graph.output]
    body = results[0] if len(results) == 1 else relay.Tuple(results)
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(parameters, body)))
    kind = module["main"].ret_type
    kinds = kind.fields if isinstance(kind, tvm.ir.TupleType) else [kind]
    outputs = tuple(tensor(value.name, type_, str(path)) for value, type_ in zip(graph.output, kinds, strict=True))
    return module, tensors, outputs


class _Importer:
    """Turns nodes into Relay one after the other."""

    def __init__(self, graph: Any, path: Path) -> None:
        self.values: dict[str, _Value] = {}
        self._constants = read_constants(graph)
        self._path = path
        self._handlers: Mapping[str, tuple[Callable[[Node], _Value], tuple[str, ...]]] = {
            "Conv": (self._conv, ("group", *_WINDOW, *_PRECISIONS)),
            "Gemm": (self._gemm, ("alpha", "beta", "transA", "transB", *_PRECISIONS)),
            "MatMul": (self._matmul, _PRECISIONS),
            "Mul": (self._mul, _PRECISIONS),
            "Add": (self._add, (*_ADD_ATTRIBUTES, "out_signed", *_PRECISIONS)),
            "Div": (self._div, _PRECISIONS),
            "Floor": (self._floor, ()),
            "Clip": (self._clip, ("min", "max", *_PRECISIONS)),
            "Relu": (self._relu, _PRECISIONS),
            "RequantShift": (self._requant_shift, ("div", "signed", "n_levels_out", *_PRECISIONS)),
            "Cast": (self._same, ("to",)),
            "Identity": (self._same, ()),
            "MaxPool": (self._max_pool, (*_WINDOW, "storage_order")),
            "AveragePool": (self._average_pool, _WINDOW),
            "GlobalAveragePool": (self._global_average_pool, ()),
            "Pad": (self._pad, ("pads", "mode", "value")),
            "Flatten": (self._flatten, ("axis",)),
            "Reshape": (self._reshape, ("allowzero",)),
        }

    def add(self, node: Node) -> None:
        """Define a node's output."""
        if node.op not in self._handlers:
            raise self._error(node, "is no operator of integer networks; replace it in the model")
        handler, attributes = self._handlers[node.op]
        node.check_attributes(attributes, self._path)
        self.values[node.output] = handler(node)

    def result(self, name: str) -> relay.Expr:
        """An output of the network: of 8 bits, or of 32 where nothing brings it back to 8."""
        if name not in self.values:
            raise ModelError(f"{self._path} has the output {name!r}, which nothing computes; export the model again")
        value = _rounded(self.values[name])
        return relay.cast(value.expr, value.mean_of or "int32") if value.dtype == "int64" else value.expr

    def _error(self, node: Node, problem: str) -> ModelError:
        return ModelError(f"{self._path} has {node.what}, which {problem}")

    # ---- operands ----

    def _tensor(self, node: Node, position: int = 0) -> _Value:
        name = node.inputs[position] if position < len(node.inputs) else ""
        if name in self._constants:
            raise self._error(node, "computes a constant; fold it when exporting the model")
        if name not in self.values:
            raise self._error(node, f"reads {name!r}, which nothing computes; export the model again")
        return self.values[name]

    def _attribute(self, node: Node, name: str) -> Any:
        if name not in node.attributes:
            raise self._error(node, f"has no attribute {name!r}; export the model again")
        return node.attributes[name]

    def _bytes(self, node: Node) -> _Value:
        """The node's first operand, of 8 bits."""
        value = self._tensor(node)
        if value.mean_of:
            return replace(value, expr=relay.cast(_rounded(value).expr, value.mean_of), dtype=value.mean_of, divisor=1)
        if value.dtype == "int64":
            raise self._error(node, "reads sums that nothing has brought back to 8 bits; requantize them first")
        return value

    def _wide(self, node: Node, position: int = 0) -> _Value:
        """An operand as int64, for arithmetic."""
        value = replace(self._tensor(node, position), mean_of="")
        return value if value.dtype == "int64" else replace(value, expr=relay.cast(value.expr, "int64"), dtype="int64")

    def _constant(self, node: Node, position: int) -> Array | None:
        return self._constants.get(node.inputs[position]) if position < len(node.inputs) else None

    def _integers(self, node: Node, array: Array) -> Array:
        whole = np.rint(array.astype(np.float64))
        if not np.array_equal(whole, array) or np.any(np.abs(whole) >= 2.0**62):
            raise self._error(node, "has a constant that is no integer; export the integer network")
        return whole.astype(np.int64)

    def _parameter(self, node: Node, array: Array, like: _Value) -> relay.Expr:
        """An integer constant that is broadcast: one number, or one for each channel."""
        values = self._integers(node, array)
        channels = like.shape[1]
        per_channel = values.size == channels == max(values.shape, default=1)
        if values.size == 1:
            return _int64(int(values.reshape(-1)[0]))
        if not per_channel:
            raise self._error(node, f"has a constant of shape {list(array.shape)}, not one number or one per channel")
        return _int64(values.reshape(channels, *[1] * (len(like.shape) - 2)))

    def _weights(self, node: Node) -> Array:
        array = self._constant(node, 1)
        if array is None:
            raise self._error(node, "multiplies two tensors; only constant weights are supported")
        if array.dtype == np.uint8:
            return array.view(np.int8)
        values = self._integers(node, array)
        if values.size and (values.min() < _SIGNED[0] or values.max() > _SIGNED[1]):
            raise self._error(node, "has weights that 8 bits do not hold; quantize it to 8 bits or fewer")
        return values.astype(np.int8)

    # ---- layers ----

    def _conv(self, node: Node) -> _Value:
        x, weights = self._bytes(node), self._weights(node)
        if len(x.shape) != 4 or weights.ndim != 4:
            raise self._error(node, "is not two-dimensional; only 2D convolutions are supported")
        groups, (strides, pads, dilations) = int(node.attributes.get("group", 1)), self._window(node)
        extents = self._extents(x, weights.shape[2:], strides, pads, dilations)
        sums = relay.nn.conv2d(
            x.expr,
            relay.const(weights),
            strides=strides,
            padding=pads,
            dilation=dilations,
            groups=groups,
            channels=weights.shape[0],
            kernel_size=weights.shape[2:],
            out_dtype="int32",
        )
        return self._with_bias(node, _Value(relay.cast(sums, "int64"), (x.shape[0], weights.shape[0], *extents)))

    def _gemm(self, node: Node) -> _Value:
        attributes = node.attributes
        if attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0 or attributes.get("transA", 0):
            raise self._error(node, "scales or transposes its input; only x * w + b is supported")
        return self._dense(node, transposed=bool(attributes.get("transB", 0)))

    def _matmul(self, node: Node) -> _Value:
        return self._dense(node, transposed=False)

    def _dense(self, node: Node, *, transposed: bool) -> _Value:
        x, weights = self._bytes(node), self._weights(node)
        if len(x.shape) != 2 or weights.ndim != 2:
            raise self._error(node, "is no product of a vector and a matrix; flatten its input")
        weights = weights if transposed else weights.T
        sums = relay.nn.dense(x.expr, relay.const(np.ascontiguousarray(weights)), units=len(weights), out_dtype="int32")
        return self._with_bias(node, _Value(relay.cast(sums, "int64"), (x.shape[0], len(weights))))

    def _with_bias(self, node: Node, sums: _Value) -> _Value:
        bias = self._constant(node, 2)
        return sums if bias is None else replace(sums, expr=relay.add(sums.expr, self._parameter(node, bias, sums)))

    def _window(self, node: Node) -> tuple[list[int], list[int], list[int]]:
        """Strides, pads (top, left, bottom, right) and dilations."""
        attributes = node.attributes
        if attributes.get("auto_pad", "NOTSET") != "NOTSET" or attributes.get("ceil_mode", 0):
            raise self._error(node, "leaves its padding to the runtime; export explicit pads")
        strides, pads = attributes.get("strides", [1, 1]), attributes.get("pads", [0, 0, 0, 0])
        return list(strides), list(pads), list(attributes.get("dilations", [1, 1]))

    # ---- arithmetic on the way back to 8 bits ----

    def _mul(self, node: Node) -> _Value:
        position = 1 if self._constant(node, 1) is not None else 0
        factor, x = self._constant(node, position), self._wide(node, 1 - position)
        if factor is None:
            raise self._error(node, "multiplies two tensors; only constant factors are supported")
        values = self._integers(node, factor)
        if x.divisor > 1 and not np.any(values % x.divisor):
            values, x = values // x.divisor, replace(x, divisor=1)
        x = _rounded(x)
        return replace(x, expr=relay.multiply(x.expr, self._parameter(node, values, x)))

    def _add(self, node: Node) -> _Value:
        if any(name in node.attributes for name in _ADD_ATTRIBUTES):
            return self._requantized_add(node)
        position = 1 if self._constant(node, 1) is not None else 0
        term = self._constant(node, position)
        if term is None:
            a, b = (_rounded(self._wide(node, side)) for side in (0, 1))
            if a.shape != b.shape:
                raise self._error(node, f"adds tensors of shapes {list(a.shape)} and {list(b.shape)}; make them equal")
            return replace(a, expr=relay.add(a.expr, b.expr))
        x = self._wide(node, 1 - position)
        # Behind a division the term is in units of the quotient: 0.5 there makes it round half up.
        return replace(x, expr=relay.add(x.expr, self._parameter(node, term * x.divisor, x)))

    def _requantized_add(self, node: Node) -> _Value:
        """Quantlab's addition: each operand and the sum go through a RequantShift of their own, given as attributes."""
        for name in sorted(_ADD_ATTRIBUTES):
            self._attribute(node, name)
        narrow = [self._tensor(node, position) for position in (0, 1)]
        if narrow[0].shape != narrow[1].shape:
            shapes = " and ".join(str(list(value.shape)) for value in narrow)
            raise self._error(node, f"adds tensors of shapes {shapes}; make them equal")
        parts: list[relay.Expr] = []
        for position, side in enumerate(("in1", "in2")):
            x = _rounded(self._wide(node, position))
            if node.attributes[f"{side}_rq"]:
                x = self._requantized_side(node, side, x)
                x = replace(x, expr=relay.clip(x.expr, *self._levels(node, side, narrow[position].dtype == "int8")))
            parts.append(x.expr)
        total = replace(narrow[0], expr=relay.add(*parts), dtype="int64")
        if node.attributes["out_rq"]:
            total = self._requantized_side(node, "out", total)
        signed = bool(node.attributes.get("out_signed", any(value.dtype == "int8" for value in narrow)))
        return self._clipped(node, total, *self._levels(node, "out", signed))

    def _levels(self, node: Node, side: str, signed: bool) -> tuple[int, int]:
        levels = int(node.attributes[f"{side}_n_levels"])
        return (-(levels // 2), levels // 2 - 1) if signed else (0, levels - 1)

    def _requantized_side(self, node: Node, side: str, x: _Value) -> _Value:
        mul, add, shift = (int(node.attributes[f"{side}_{part}"]) for part in ("mul", "add", "shift"))
        scaled = relay.add(relay.multiply(x.expr, _int64(mul)), _int64(add + ((1 << shift) >> 1)))
        return replace(x, expr=relay.right_shift(scaled, _int64(shift)))

    def _div(self, node: Node) -> _Value:
        x, divisor = self._wide(node), self._constant(node, 1)
        if divisor is None or divisor.size != 1:
            raise self._error(node, "divides by something else than one constant; use a power of two")
        number = int(self._integers(node, divisor).reshape(-1)[0])
        if number < 1 or number & (number - 1):
            raise self._error(node, f"divides by {number}; only powers of two are supported")
        return replace(x, divisor=x.divisor * number)

    def _floor(self, node: Node) -> _Value:
        return _rounded(self._tensor(node))

    def _clip(self, node: Node) -> _Value:
        bounds: list[int] = []
        for position, name in enumerate(("min", "max"), 1):
            bound = self._constant(node, position)
            bound = np.asarray(node.attributes[name]) if bound is None and name in node.attributes else bound
            if bound is None or bound.size != 1:
                raise self._error(node, f"has no constant {name}; clip to the range of the activations")
            bounds.append(int(self._integers(node, bound).reshape(-1)[0]))
        return self._clipped(node, _rounded(self._wide(node)), bounds[0], bounds[1])

    def _relu(self, node: Node) -> _Value:
        x = self._tensor(node)
        if x.dtype == "int64":
            return replace(x, expr=relay.maximum(x.expr, _int64(0)))
        return x if x.dtype == "uint8" else self._clipped(node, self._wide(node), 0, _SIGNED[1])

    def _clipped(self, node: Node, x: _Value, low: int, high: int) -> _Value:
        """The value saturated to 8 bits: unsigned if nothing is below 0, else signed."""
        if not (0 <= low <= high <= _UNSIGNED[1] or _SIGNED[0] <= low <= high <= _SIGNED[1]):
            raise self._error(node, f"clips to {low} .. {high}, which 8 bits do not hold; use 8 bits or fewer")
        dtype = "uint8" if low >= 0 else "int8"
        return replace(x, expr=relay.cast(relay.clip(x.expr, low, high), dtype), dtype=dtype)

    def _requant_shift(self, node: Node) -> _Value:
        """Quantlab's requantization, which rounds half up without saying so: floor((x * mul + add) / div + 1/2)."""
        x = _rounded(self._wide(node))
        mul, add = self._constant(node, 1), self._constant(node, 2)
        if mul is None or add is None:
            raise self._error(node, "has no constant multiplier or summand; export the model again")
        div, signed, levels = (
            int(np.asarray(self._attribute(node, name)).reshape(-1)[0]) for name in ("div", "signed", "n_levels_out")
        )
        if div < 1 or div & (div - 1):
            raise self._error(node, f"divides by {div}; only powers of two are supported")
        scaled = relay.add(relay.multiply(x.expr, self._parameter(node, mul, x)), self._parameter(node, add, x))
        halved = replace(x, expr=relay.add(scaled, _int64(div >> 1)), divisor=div)
        low, high = (-(levels // 2), levels // 2 - 1) if signed else (0, levels - 1)
        return self._clipped(node, _rounded(halved), low, high)

    def _same(self, node: Node) -> _Value:
        return self._tensor(node)

    # ---- pooling and shapes ----

    def _max_pool(self, node: Node) -> _Value:
        x, window = self._bytes(node), tuple(self._attribute(node, "kernel_shape"))
        strides, pads, dilations = self._window(node)
        if node.attributes.get("storage_order", 0):
            raise self._error(node, "stores its result column by column; use the default order")
        pooled = relay.nn.max_pool2d(x.expr, window, strides, dilations, pads)
        return replace(x, expr=pooled, shape=(*x.shape[:2], *self._extents(x, window, strides, pads, dilations)))

    def _average_pool(self, node: Node) -> _Value:
        x, window = self._bytes(node), tuple(self._attribute(node, "kernel_shape"))
        strides, pads, dilations = self._window(node)
        if any(pads) or any(step != 1 for step in dilations):
            raise self._error(node, "averages over padding or with gaps; only whole windows are supported")
        return self._averaged(x, window, strides)

    def _global_average_pool(self, node: Node) -> _Value:
        x = self._bytes(node)
        return self._averaged(x, x.shape[2:], [1, 1])

    def _averaged(self, x: _Value, window: tuple[int, ...], strides: list[int]) -> _Value:
        """Window sums, still to be divided by the size of the window."""
        count, wide = math.prod(window), relay.cast(x.expr, "int32")
        if window == x.shape[2:]:
            sums, extents = relay.sum(wide, axis=(2, 3), keepdims=True), [1, 1]
        else:
            # The mean of values multiplied by the window's size is their sum: no remainder is left.
            scaled = relay.multiply(wide, relay.const(count, "int32"))
            sums = relay.nn.avg_pool2d(scaled, window, strides)
            extents = self._extents(x, window, strides, [0] * 4, [1, 1])
        return _Value(relay.cast(sums, "int64"), (*x.shape[:2], *extents), divisor=count, mean_of=x.dtype)

    @staticmethod
    def _extents(
        x: _Value, window: Sequence[int], strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int]
    ) -> list[int]:
        """Rows and columns that a window makes of a map."""
        return [
            (size + pads[axis] + pads[axis + 2] - (window[axis] - 1) * dilations[axis] - 1) // strides[axis] + 1
            for axis, size in enumerate(x.shape[2:])
        ]

    def _pad(self, node: Node) -> _Value:
        x, attributes = self._bytes(node), node.attributes
        pads, value = self._constant(node, 1), self._constant(node, 2)
        pads = np.asarray(attributes.get("pads", ())) if pads is None else pads
        filled = float(np.asarray(attributes.get("value", 0.0)) if value is None else value.reshape(-1)[0])
        rank = len(x.shape)
        if attributes.get("mode", "constant") != "constant" or pads.size != 2 * rank or filled:
            raise self._error(node, "pads with something else than zeros; only zeros are supported")
        widths = [(int(pads[axis]), int(pads[axis + rank])) for axis in range(rank)]
        shape = tuple(size + before + behind for size, (before, behind) in zip(x.shape, widths, strict=True))
        return replace(x, expr=relay.nn.pad(x.expr, widths, relay.const(0, x.dtype)), shape=shape)

    def _flatten(self, node: Node) -> _Value:
        x = _rounded(self._tensor(node))
        if node.attributes.get("axis", 1) != 1:
            raise self._error(node, "does not flatten from axis 1 on; only that is supported")
        return self._reshaped(x, (x.shape[0], math.prod(x.shape[1:])))

    def _reshape(self, node: Node) -> _Value:
        x, target = _rounded(self._tensor(node)), self._constant(node, 1)
        if target is None:
            raise self._error(node, "reshapes to a computed shape; export the model with static shapes")
        wanted = [x.shape[axis] if extent == 0 else int(extent) for axis, extent in enumerate(target.reshape(-1))]
        if -1 in wanted:
            wanted[wanted.index(-1)] = math.prod(x.shape) // -math.prod(wanted)
        if math.prod(wanted) != math.prod(x.shape):
            raise self._error(node, f"reshapes {list(x.shape)} to {wanted}, which has another size; correct it")
        return self._reshaped(x, tuple(wanted))

    @staticmethod
    def _reshaped(x: _Value, shape: tuple[int, ...]) -> _Value:
        return x if shape == x.shape else replace(x, expr=relay.reshape(x.expr, shape), shape=shape)


def _rounded(value: _Value) -> _Value:
    """The value with an outstanding division carried out, rounded down."""
    if value.divisor == 1:
        return value
    shift = value.divisor.bit_length() - 1
    if value.divisor == 1 << shift:
        expr = relay.right_shift(value.expr, _int64(shift))
    else:
        expr = relay.floor_divide(value.expr, _int64(value.divisor))
    return replace(value, expr=expr, divisor=1)


def _int64(values: Any) -> relay.Expr:
    return relay.const(np.asarray(values, np.int64), dtype="int64")
