"""TVM's ONNX importer, with what it needs around it and without its detours.

For every node it lists all converters; after every node it folds constants in the whole network so far and infers all
types anew, some of them several times, and it compiles programs: for each zero point that it casts, for the shapes
around each product of matrices. A network of a hundred layers takes a minute that way. At the end it makes static what
is dynamic, which takes as long where nothing is.
"""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import types
import warnings
from collections.abc import Callable, Generator, Iterable, Set
from functools import cache, partial
from typing import Any

import numpy as np
import onnx

from match.frontend.onnx_einsum import einsum
from match.frontend.onnx_elementwise import CONVERTERS
from match.frontend.onnx_fusions import REAL_NUMBERS
from match.frontend.onnx_graph import opset_of
from match.frontend.onnx_normalization import NORMALIZATIONS
from match.frontend.onnx_qlinear import QLINEAR, one_number, zero_points
from match.frontend.onnx_recurrent import gru, lstm
from match.frontend.onnx_reductions import REDUCTIONS
from match.frontend.onnx_resize import resize, resize_before_modes
from match.frontend.onnx_resized_axes import resized_axes
from match.frontend.onnx_transposed import conv_transpose
from match.relay import relay, tvm
from match.relay.integer_form import real_sums
from match.relay.objects import operands
from match.relay.places import placed
from match.relay.qnn import real_constant
from match.relay.rewrite import constant

Product = Callable[[relay.Expr, relay.Expr], relay.Expr]
"""Multiplies a matrix, or a tensor of matrices, by a transposed one."""

_importer, _common = relay.frontend.onnx, relay.frontend.common
_original_converters = _importer._get_convert_map
_SCATTERING = "Scatter", "ScatterElements", "ScatterND"
_ONE_AT_A_TIME = threading.Lock()
"""The importer has other operators for as long as it runs, in all threads."""


def import_onnx(proto: onnx.ModelProto) -> tuple[tvm.IRModule, dict[str, Any]]:
    """The Relay module of a model, and the parameters that are no constants in it.

    Raises:
        tvm.TVMError: or one of several other exceptions that say what in the model is not supported.
    """
    quicker = {
        "_op": _operators(),
        "_get_convert_map": cache(_converters),
        "fold_constant": _fold,
        "infer_type": _infer_type,
        "infer_shape": _infer_shape,
        "matmul_out_dtype": _product,
        "qmatmul": _quantized_product,
        "normalize_gather_indices": _from_the_front,
        "set_span": _placed,
        "QuantizeLinear": _QuantizeLinear,
        "DequantizeLinear": _DequantizeLinear,
        "LogSoftmax": _LogSoftmax,
        "LpPool": _LpPool,
        "Resize": _Resize,
        "Slice": _Slice,
        "Upsample": _Upsample,
        "LSTM": _Lstm,
        "GRU": _Gru,
    }
    importer = _importer.GraphProto({}, "float32", True, {})
    with _ONE_AT_A_TIME, _environment(), _replaced(_importer, quicker), importer as graph:
        module, params = graph.from_onnx(proto.graph, opset_of(proto))
    if any(name.startswith("dyn.") for name in relay.analysis.list_op_freqs(module)):
        module = relay.transform.DynamicToStatic()(module)
    return relay.transform.FoldConstant()(module), params


def known_operators(opset: int) -> Set[str]:
    """The operators of a version of ONNX's that are converted."""
    return _converters(opset).keys()


def _converters(opset: int) -> dict[str, Any]:
    """What converts each operator of a version of ONNX's."""
    original: dict[str, Any] = _original_converters(opset)
    scattering = {name: partial(_scattered, original[name]) for name in _SCATTERING if name in original}
    own = {**CONVERTERS, **QLINEAR, **NORMALIZATIONS, **REDUCTIONS, **scattering, "Einsum": einsum}
    own[REAL_NUMBERS] = _real_numbers
    own["ConvTranspose"] = partial(conv_transpose, original["ConvTranspose"])
    gathering = {"Gather": partial(_gathered, original["Gather"])}
    if "GatherND" in original:
        gathering["GatherND"] = partial(_gathered_each, original["GatherND"])
    return {**original, **own, **gathering}


def _real_numbers(inputs: Any, attr: dict[str, Any], params: Any) -> relay.Expr:
    """A tensor, marked: the reference computes in floating point what reads it."""
    return real_sums(inputs[0])


def _gathered(convert: Callable[..., relay.Expr], inputs: Any, attr: dict[str, Any], params: Any) -> relay.Expr:
    """A Gather. One that takes all elements of a vector in their order is a reshape: exporters write views so."""
    places = constant(inputs[1])
    extents: tuple[Any, ...] = tuple(_infer_shape(inputs[0]))
    if places is not None and len(extents) == 1 and np.array_equal(places.reshape(-1), np.arange(int(extents[0]))):
        return relay.reshape(inputs[0], places.shape)
    return convert(inputs, attr, params)


def _gathered_each(convert: Callable[..., relay.Expr], inputs: Any, attr: dict[str, Any], params: Any) -> relay.Expr:
    """A GatherND. Its places may count from the end of an axis, where TVM's own reads what lies before the tensor."""
    x, places = inputs
    known = constant(places)
    if known is not None:
        first = int(attr.get("batch_dims", 0))
        extents = np.array(_infer_shape(x)[first : first + known.shape[-1]])
        places = relay.const(np.where(known < 0, known + extents, known).astype(known.dtype))
    return convert([x, places], attr, params)


def _scattered(convert: Callable[..., relay.Expr], inputs: Any, attr: dict[str, Any], params: Any) -> relay.Expr:
    """A Scatter. The reduction "none" replaces elements; TVM does that where no reduction is named."""
    if attr.get("reduction") == b"none":
        del attr["reduction"]
    return convert(inputs, attr, params)


def _operators() -> Any:
    """TVM's operators; some of them make a constant of constants at once, for which TVM would compile a program."""
    original = _importer._op

    def cast(data: relay.Expr, dtype: str) -> relay.Expr:
        array = constant(data)
        return original.cast(data, dtype) if array is None else relay.const(array.astype(dtype), dtype)

    def multiply(lhs: relay.Expr, rhs: relay.Expr) -> relay.Expr:
        left, right = constant(lhs), constant(rhs)
        return original.multiply(lhs, rhs) if left is None or right is None else relay.const(left * right)

    return types.SimpleNamespace(**{**vars(original), "cast": cast, "multiply": multiply})


def _fold(node: relay.Expr, module: Any = None) -> relay.Expr:
    """Constants alone: what depends on an input is folded at the end, all at once."""
    return node if _reads_input(node) else _common.fold_constant(node, module)


def _reads_input(node: relay.Expr) -> bool:
    """Whether a node depends on an input: operators before it, which have a place in the model, are folded else."""
    pending = [node]
    while pending:
        expr = pending.pop()
        if isinstance(expr, relay.Call) and isinstance(expr.op, tvm.ir.Op):
            if expr.span is not None:
                return True
            pending += operands(expr)
        elif not isinstance(expr, relay.Constant):
            return isinstance(expr, relay.Var) or bool(relay.analysis.free_vars(node))
    return False


def _infer_type(node: relay.Expr, module: Any = None) -> relay.Expr:
    """The node with its type, found from those of the nodes that it reads."""
    if module is not None:
        return _common.infer_type(node, module)
    relay.transform.InferTypeLocal(node)
    return node


def _infer_shape(node: relay.Expr, module: Any = None) -> Any:
    """The shape of a tensor, the type of anything else."""
    inferred = _infer_type(node, module).checked_type
    return _common.get_const_tuple(inferred.shape) if hasattr(inferred, "shape") else inferred


_original_span = _importer.set_span


def _placed(converted: Any, name: str) -> Any:
    """What a node was converted to, or one of its inputs, with the node's name."""
    if not isinstance(converted, relay.Expr):
        return _original_span(converted, name)
    return placed(converted, relay.Span(relay.SourceName(name), 0, 0, 0, 0))


_original_places = _importer.normalize_gather_indices


def _from_the_front(data: relay.Expr, indices: relay.Expr, axis: int) -> relay.Expr:
    """Places along an axis, counted from its front: negative ones are from its end. Constants stay constants."""
    places = constant(indices)
    if places is None:
        return _original_places(data, indices, axis)
    extent = _infer_shape(data)[axis]
    return relay.const(np.where(places < 0, places + extent, places).astype(places.dtype))


_original_product, _original_quantized_product = _importer.matmul_out_dtype, _importer.qmatmul


def _product(inputs: list[relay.Expr], out_dtype: str) -> relay.Expr:
    """MatMul of tensors."""
    a, b = inputs
    written = _of_matrices(
        a,
        b,
        lambda a, b: relay.nn.dense(a, b, out_dtype=out_dtype),
        lambda a, b: relay.nn.batch_matmul(a, b, out_dtype=out_dtype),
    )
    return _original_product(inputs, out_dtype) if written is None else written


def _quantized_product(a: relay.Expr, b: relay.Expr, *arithmetic: Any) -> relay.Expr:
    """MatMulInteger of tensors: zero points and scales, outputs of a dense layer, dtype."""
    *quantization, _, dtype = arithmetic
    written = _of_matrices(
        a,
        b,
        lambda a, b: relay.qnn.op.dense(a, b, *arithmetic),
        lambda a, b: relay.qnn.op.batch_matmul(a, b, *quantization, dtype),
    )
    return _original_quantized_product(a, b, *arithmetic) if written is None else written


def _of_matrices(a: relay.Expr, b: relay.Expr, dense: Product, batched: Product) -> relay.Expr | None:
    """The product of two tensors of matrices; None for two matrices, for vectors, and for unknown shapes.

    `dense` multiplies all matrices of `a` by one matrix, `batched` each matrix of `a` by one of `b`. Both take their
    second operand transposed.
    """
    left, right = _infer_shape(a), _infer_shape(b)
    known = all(isinstance(extent, int) for extent in (*left, *right))
    if not known or min(len(left), len(right)) < 2 or len(left) == len(right) == 2:
        return None
    if len(right) == 2:
        batch, product = left[:-2], dense(relay.reshape(a, (-1, left[-1])), relay.transpose(b))
    else:
        batch = np.broadcast_shapes(left[:-2], right[:-2])
        a, b = (_stacked(x, shape, batch) for x, shape in ((a, left), (b, right)))
        product = batched(a, relay.transpose(b, (0, 2, 1)))
    return relay.reshape(product, (*batch, left[-2], right[-1]))


def _stacked(x: relay.Expr, shape: tuple[int, ...], batch: tuple[int, ...]) -> relay.Expr:
    """Matrices, repeated up to the shape `batch` of matrices, as a tensor of three axes."""
    if shape[:-2] != batch:
        x = relay.broadcast_to(x, (*batch, *shape[-2:]))
    return x if len(batch) == 1 else relay.reshape(x, (-1, *shape[-2:]))


class ScaleError(Exception):
    """An operator whose scales or zero points are neither one nor one for each place of an axis; the text is both."""


def _axis(kind: str, x: relay.Expr, parameters: Iterable[relay.Expr], attributes: Any) -> int:
    """The axis that scales and zero points lie along."""
    extents, axis = _infer_shape(x), int(attributes.get("axis", 1))
    if len(extents) < 2:
        return 0
    for shape in map(_infer_shape, parameters):
        along = extents[axis] if -len(extents) <= axis < len(extents) else None
        if math.prod(shape) != 1 and shape != (along,):
            name = attributes["tvm_custom"]["name"]
            raise ScaleError(f"{kind} ({name}) with scales or zero points {list(shape)} along axis {axis} of {extents}")
    return axis % len(extents)


class _QuantizeLinear(_importer.OnnxOpConverter):
    """QuantizeLinear since opset 10; the axis came with 13."""

    @classmethod
    def _impl_v10(cls, inputs: Any, attributes: Any, _params: Any) -> relay.Expr:
        x, scale, zero_point = inputs
        dtype = _infer_type(zero_point).checked_type.dtype
        axis = _axis("QuantizeLinear", x, (scale, zero_point), attributes)
        return relay.qnn.op.quantize(x, one_number(scale), one_number(zero_points(zero_point)), axis, dtype)


class _DequantizeLinear(_importer.OnnxOpConverter):
    """DequantizeLinear since opset 10; the axis came with 13."""

    @classmethod
    def _impl_v10(cls, inputs: Any, attributes: Any, _params: Any) -> relay.Expr:
        x, scale, zero_point = inputs
        axis = _axis("DequantizeLinear", x, (scale, zero_point), attributes)
        return relay.qnn.op.dequantize(x, one_number(scale), one_number(zero_points(zero_point)), axis)


_OriginalLpPool = _importer.LpPool


class _LpPool(_importer.OnnxOpConverter):
    """LpPool of magnitudes: TVM's own takes the values themselves, whose odd powers have signs."""

    @classmethod
    def _impl_v1(cls, inputs: Any, attributes: Any, params: Any) -> relay.Expr:
        return _OriginalLpPool._impl_v1([relay.abs(inputs[0])], attributes, params)


_OriginalSlice = _importer.Slice


class _Slice(_importer.OnnxOpConverter):
    """Slice since opset 10, at once where its numbers are constants: TVM compiles a program that counts the axes."""

    @classmethod
    def _impl_v1(cls, inputs: Any, attributes: Any, params: Any) -> relay.Expr:
        return _OriginalSlice._impl_v1(inputs, attributes, params)

    @classmethod
    def _impl_v10(cls, inputs: Any, attributes: Any, params: Any) -> relay.Expr:
        x, extents = inputs[0], _infer_shape(inputs[0])
        first, last, axes, steps = (None if expr is None else constant(expr) for expr in [*inputs[1:], None, None][:4])
        unknown = any(expr is not None and not isinstance(expr, relay.Constant) for expr in inputs[1:])
        static = not unknown and all(isinstance(extent, int) for extent in extents)
        if not static or first is None or last is None or axes is None or np.any(axes >= len(extents)):
            return _OriginalSlice._impl_v10(inputs, attributes, params)
        counted = [int(axis) % len(extents) for axis in axes]
        strides = [1] * len(counted) if steps is None else steps.tolist()
        return relay.strided_slice(x, first.tolist(), last.tolist(), strides, axes=counted)


class _LogSoftmax(_importer.OnnxOpConverter):
    """LogSoftmax without the logarithm of a probability, which may be too small for a number; the axis is one since 13.

    Before that the axes from it on were.
    """

    @classmethod
    def _impl_v1(cls, inputs: Any, attributes: Any, _params: Any) -> relay.Expr:
        (x,) = inputs
        extents = _infer_shape(x)
        first = int(attributes.get("axis", 1)) % len(extents)
        rows = relay.reshape(x, (math.prod(extents[:first]), -1))
        return relay.reshape(_log_probabilities(rows, 1), extents)

    @classmethod
    def _impl_v13(cls, inputs: Any, attributes: Any, _params: Any) -> relay.Expr:
        (x,) = inputs
        return _log_probabilities(x, int(attributes.get("axis", -1)) % len(_infer_shape(x)))


def _log_probabilities(x: relay.Expr, axis: int) -> relay.Expr:
    distance = relay.subtract(x, relay.max(x, axis, keepdims=True))
    return relay.subtract(distance, relay.log(relay.sum(relay.exp(distance), axis, keepdims=True)))


_OriginalResize = _importer.Resize


class _Resize(_importer.OnnxOpConverter):
    """Resize of any axes: TVM's own takes quotients of sizes for scales, and changes all axes but the first two."""

    @classmethod
    def _impl_v10(cls, inputs: Any, attributes: Any, _params: Any) -> relay.Expr:
        return _resize_by_scales(inputs[0], _numbers(inputs[1]), attributes)

    @classmethod
    def _impl_v11(cls, inputs: Any, attributes: Any, params: Any) -> relay.Expr:
        x, (roi, scales, sizes) = inputs[0], [*inputs[1:], None][:3]
        extents = _infer_shape(x)
        numbers = [int(axis) % len(extents) for axis in attributes.get("axes", range(len(extents)))]
        axes = resized_axes(extents, numbers, _numbers(scales), _numbers(sizes))
        written = _interpolated_integers(x, attributes, lambda x: resize(x, extents, axes, attributes))
        if written is not None:
            return written
        after = [axes[number].after if number in axes else extent for number, extent in enumerate(extents)]
        regular = all(axis.factor * axis.before == axis.after for axis in axes.values())
        if "axes" in attributes or not regular or not 3 <= len(extents) <= 5 or after[:2] != list(extents[:2]):
            raise _not_implemented("Resize", attributes)
        return _OriginalResize.v11_13_common([x, roi], relay.const(np.array(after)), attributes, params)


class _Upsample(_importer.OnnxOpConverter):
    """Upsample, which has become Resize."""

    @classmethod
    def _impl_v7(cls, inputs: Any, attributes: Any, _params: Any) -> relay.Expr:
        scales = np.array(attributes["scales"]) if "scales" in attributes else _numbers(inputs[1])
        return _resize_by_scales(inputs[0], scales, attributes)


def _resize_by_scales(x: relay.Expr, scales: Any, attributes: Any) -> relay.Expr:
    extents = _infer_shape(x)
    axes = resized_axes(extents, range(len(extents)), scales, None)
    written = _interpolated_integers(x, attributes, lambda x: resize_before_modes(x, extents, axes, attributes))
    if written is None:
        raise _not_implemented("Resize", attributes)
    return written


def _interpolated_integers(
    x: relay.Expr, attributes: Any, convert: Callable[[relay.Expr], relay.Expr | None]
) -> relay.Expr | None:
    """A Resize. Of integers between which it interpolates, numbers are resized, as in QDQ files: runtimes cut them off.

    Raises:
        tvm.error.OpNotImplemented: the integers do not have 8 bits, or the mode is another one than linear.
    """
    mode, dtype = attributes.get("mode", b"nearest"), _infer_type(x).checked_type.dtype
    if mode == b"nearest" or dtype.startswith("float"):
        return convert(x)
    if mode != b"linear" or dtype not in ("int8", "uint8"):
        raise _not_implemented("Resize", attributes, f" on {dtype}")
    one, zero = relay.const(np.float32(1)), relay.const(0)
    numbers = convert(relay.qnn.op.dequantize(x, one, zero))
    return None if numbers is None else relay.qnn.op.quantize(numbers, one, zero, out_dtype=dtype)


def _not_implemented(kind: str, attributes: Any, where: str = "") -> Exception:
    """The error for an operator with attributes that nothing here computes."""
    mode = attributes.get("mode", b"").decode()
    name = attributes["tvm_custom"]["name"]
    return tvm.error.OpNotImplemented(f"not implemented: {kind} ({name}) of mode {mode!r}{where}")


def _numbers(expr: relay.Expr | None) -> Any:
    """The numbers of a constant, which may be dequantized, of what is computed of constants, or of nothing.

    Raises:
        tvm.error.OpNotImplemented: they depend on the network's inputs.
    """
    if expr is None:
        return None
    numbers = real_constant(_common.fold_constant(expr))
    if numbers is None:
        raise tvm.error.OpNotImplemented("not implemented: Resize to a size that depends on the inputs")
    return numbers


class _Lstm(_importer.LSTM):
    """LSTM as one operator, if it is a plain one."""

    @classmethod
    def _impl_common(cls, inputs: Any, attr: Any, layout: int) -> relay.Expr:
        original: Any = super()
        found = lstm(inputs, attr)
        return original._impl_common(inputs, attr, layout) if found is None else found


class _Gru(_importer.GRU):
    """GRU as one operator, if it is a plain one."""

    @classmethod
    def _impl_common(cls, inputs: Any, attr: Any, layout: int) -> relay.Expr:
        original: Any = super()
        found = gru(inputs, attr)
        return original._impl_common(inputs, attr, layout) if found is None else found


@contextlib.contextmanager
def _replaced(module: Any, functions: dict[str, Any]) -> Generator[None]:
    """A module has these functions in place of its own of the same names, for as long as this lasts."""
    originals = {name: getattr(module, name) for name in functions}
    for name, function in functions.items():
        setattr(module, name, function)
    try:
        yield
    finally:
        for name, function in originals.items():
            setattr(module, name, function)


@contextlib.contextmanager
def _environment() -> Generator[None]:
    """What TVM's importer expects around it, for as long as it runs.

    It reads the type table of `onnx.mapping`, which onnx dropped in 1.19, and warns of what is checked here.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        if not hasattr(onnx, "mapping"):
            mapping: Any = types.ModuleType("onnx.mapping")
            codes = onnx.helper.get_all_tensor_dtypes()
            mapping.TENSOR_TYPE_TO_NP_TYPE = {code: onnx.helper.tensor_dtype_to_np_dtype(code) for code in codes}
            sys.modules["onnx.mapping"] = mapping
            stack.callback(sys.modules.pop, "onnx.mapping")
        yield
