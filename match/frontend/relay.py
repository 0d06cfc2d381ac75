"""Relay passed directly, and the checks and clean-up that every front end's Relay goes through."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from match.errors import ModelError
from match.frontend.failures import diagnostics
from match.frontend.index_ranges import with_index_ranges
from match.frontend.model import Model, ModelTensor, Rounding
from match.frontend.reasons import reason
from match.frontend.relay_functions import as_one_function
from match.relay import relay, tvm
from match.relay.rewrite import New, is_call, named, rewrite, shape

_NARROW, _WIDE = frozenset({"int8", "uint8"}), frozenset({"int16", "uint16"})


def from_relay(
    module: tvm.IRModule | relay.Function,
    params: Mapping[str, Any] | None = None,
    *,
    name: str = "model",
) -> Model:
    """A network that is in Relay already, with QNN operators or in integer form, also one of several functions.

    A function is the "main" of a module.

    It is what TVM's importer makes of a TFLite file: TFLite Micro's arithmetic is meant, not that of TVM's own
    executor. `params` maps parameters of "main" to arrays (NumPy or TVM); what is left are the
    inputs. Outputs are called "output", or "output_0", "output_1", ... where there are several.

    Raises:
        ModelError: the module has no "main", a parameter is given that it does not declare so, or the network has no
            inputs, two of one name or dynamic shapes, is ill-typed or is not quantized.
    """
    if isinstance(module, relay.Function):
        module = tvm.IRModule.from_expr(module)
    what = f"the Relay module {name!r}"
    main = as_one_function(module, what)
    arrays = _arrays({} if params is None else params, main, what)
    bound = bind(tvm.IRModule.from_expr(main), arrays, what)
    check_quantized(bound, what, "give it quantized operators (relay.qnn), or compile the quantized file it comes from")
    main = bound["main"]
    inputs = tuple(tensor(parameter.name_hint, parameter.checked_type, what) for parameter in main.params)
    if not inputs:
        raise ModelError(f'{what} has no input: its "main" computes constants alone; make what changes its parameter')
    types = list(main.ret_type.fields) if isinstance(main.ret_type, tvm.ir.TupleType) else [main.ret_type]
    names = ["output"] if len(types) == 1 else [f"output_{index}" for index in range(len(types))]
    outputs = tuple(tensor(*pair, what) for pair in zip(names, types, strict=True))
    digest = hashlib.sha256(tvm.ir.save_json(bound).encode()).hexdigest()
    return Model(name, digest, bound, with_index_ranges(inputs, bound), outputs, Rounding.TFLITE)


def _arrays(params: Any, main: relay.Function, what: str) -> dict[str, npt.NDArray[Any]]:
    """Values of parameters as arrays of the types that a function declares.

    Raises:
        ModelError: a value is none of a parameter's, or two parameters have one name.
    """
    if not isinstance(params, Mapping):
        raise ModelError(f"{what} takes params as arrays by the names of parameters, not {type(params).__name__}")
    given = cast("Mapping[str, Any]", params)
    names = [str(parameter.name_hint) for parameter in main.params]
    twice = next((name for name in names if names.count(name) > 1 or not name), None)
    if twice is not None:
        found = f"{names.count(twice)} parameters called {twice!r}" if twice else "a parameter without a name"
        raise ModelError(f'{what} has {found} in "main"; give each a name of its own')
    unknown = next((name for name in given if name not in names), None)
    if unknown is not None:
        raise ModelError(f'{what} has no parameter {unknown!r}; params may name those of its "main"')
    kinds = {str(parameter.name_hint): parameter.type_annotation for parameter in main.params}
    return {name: _array(name, value, kinds[name], what) for name, value in given.items()}


def _array(name: str, value: Any, kind: Any, what: str) -> npt.NDArray[Any]:
    array = np.asarray(value.numpy() if isinstance(value, tvm.nd.NDArray) else value)
    if not isinstance(kind, tvm.ir.TensorType):
        return array
    declared, shape = (
        str(kind.dtype),
        [int(extent) if isinstance(extent, tvm.tir.IntImm) else None for extent in kind.shape],
    )
    fits = len(shape) == array.ndim and all(
        own in (None, extent) for own, extent in zip(shape, array.shape, strict=True)
    )
    if array.dtype.name != declared or not fits:
        extents = ["?" if extent is None else extent for extent in shape]
        raise ModelError(
            f"{what} declares the parameter {name!r} as {declared} {extents}, but params has {array.dtype.name} "
            f"{list(array.shape)}; convert it"
        )
    return array.astype(declared)


def bind(module: tvm.IRModule, params: Mapping[str, Any], what: str) -> tvm.IRModule:
    """The module with its weights as constants and all types inferred.

    Raises:
        ModelError: the module is ill-typed, or the shape of a tensor depends on data; `what` begins the sentence.
    """
    arrays = {key: value if isinstance(value, tvm.nd.NDArray) else tvm.nd.array(value) for key, value in params.items()}
    main = relay.build_module.bind_params_by_name(module["main"], arrays)
    with diagnostics() as said:
        try:
            bound = relay.transform.InferType()(tvm.IRModule.from_expr(main))
        except tvm.TVMError as error:
            advice = "check it with relay.transform.InferType"
            raise ModelError(f"{what} is ill-typed Relay ({said[0] if said else reason(error)}); {advice}") from error
    check_shapes(bound, what)
    return rewrite(bound, _broadcast) if "broadcast_to" in relay.analysis.list_op_freqs(bound) else bound


def _broadcast(call: relay.Call, new: New) -> relay.Expr | None:
    """A broadcast that is one, to extents of 32 bits: of larger ones TVM's pooling makes sums of 64 bits."""
    if not is_call(call, "broadcast_to"):
        return None
    x, extents = new(call.args[0]), shape(call)
    return x if extents == shape(call.args[0]) else named(relay.broadcast_to(x, list(extents)), call)


def check_shapes(module: tvm.IRModule, what: str) -> None:
    """Refuse operators whose outputs have no elements, or as many as the data say, and branches that the data choose.

    Dynamic inputs have errors of their own.

    Raises:
        ModelError: there is one; `what` begins the sentence.
    """
    dynamic: list[str] = []
    chosen: list[str] = []
    empty: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, relay.If):
            chosen.append("If" if node.span is None else f"If (at {node.span.source_name.name})")
        if not isinstance(node, relay.Call):
            return
        if relay.ty.is_dynamic(node.checked_type):
            inputs = [argument.checked_type for argument in node.args]
            if not any(map(relay.ty.is_dynamic, inputs)):
                dynamic.append(_called(node))
        elif any(int(extent) <= 0 for kind in _tensors(node.checked_type) for extent in kind.shape):
            empty.append(_called(node))

    relay.analysis.post_order_visit(module["main"].body, visit)
    if empty:
        raise ModelError(f"{what} uses {empty[0]}, whose output has no elements; remove it from the model")
    if chosen:
        advice = "export the model with the branch that is taken"
        raise ModelError(f"{what} uses {chosen[0]}, whose branch the data choose; {advice}")
    if dynamic:
        advice = "replace it in the model"
        raise ModelError(f"{what} uses {dynamic[0]}, whose output has a shape that depends on the data; {advice}")


def tensor(name: str, type_: Any, what: str) -> ModelTensor:
    """An input or output, described by its Relay type.

    Raises:
        ModelError: it is no tensor, or its shape is dynamic.
    """
    if not isinstance(type_, tvm.ir.TensorType):
        raise ModelError(f"{what} has the input or output {name!r} that is no tensor; only tensors are supported")
    shape = list(type_.shape)
    if not all(isinstance(extent, tvm.tir.IntImm) for extent in shape):
        raise ModelError(f"{what} has a dynamic shape at {name!r}; fix every dimension before compiling")
    if not all(map(int, shape)):
        raise ModelError(f"{what} has the input or output {name!r} with a dimension of 0; nothing is in such a tensor")
    return ModelTensor(name, tuple(int(extent) for extent in shape), str(type_.dtype))


def _called(call: Any) -> str:
    """An operator in an error, with its place in the model if that is known."""
    name = str(call.op.name) if isinstance(call.op, tvm.ir.Op) else "a function"
    return name if call.span is None else f"{name} (at {call.span.source_name.name})"


def _tensors(kind: Any) -> list[Any]:
    """The types of the tensors in a value's type."""
    return list(kind.fields) if isinstance(kind, tvm.ir.TupleType) else [kind]


def check_quantized(module: tvm.IRModule, what: str, advice: str) -> None:
    """Refuse a network that computes in floating point alone.

    Raises:
        ModelError: no operator of the network works on 8-bit integers; `what` begins the sentence, `advice` ends it.
    """
    read = set[str]()

    def visit(node: Any) -> None:
        if isinstance(node, relay.Call) and read.isdisjoint(_NARROW):
            types = [kind for argument in node.args for kind in _tensors(argument.checked_type)]
            read.update(str(kind.dtype) for kind in types if isinstance(kind, tvm.ir.TensorType))

    relay.analysis.post_order_visit(module["main"], visit)
    if read.isdisjoint(_NARROW):
        wide = not read.isdisjoint(_WIDE)
        kind = "is quantized to 16 bits, not 8" if wide else "is a float model: nothing in it is quantized"
        raise ModelError(f"{what} {kind}; {advice}")
