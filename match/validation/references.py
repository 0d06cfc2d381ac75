"""What a network is to compute: TFLite Micro, onnxruntime, or its integer form executed by TVM on this PC."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from match.errors import InputError, ToolchainError
from match.frontend.model import Model, Rounding
from match.graph.elements import Dequantize
from match.graph.moves import Move
from match.graph.value import Graph, Value
from match.ir.moves import REARRANGEMENTS
from match.passes.pipeline import integer_network
from match.relay import relay
from match.relay.execute import Executable
from match.relay.graph_writer import write_graph
from match.relay.rewrite import is_call, scalar
from match.validation.border import Run, adapted, in_steps, of_batch
from match.validation.buffers_inside import with_buffers_inside
from match.validation.exact_session import (
    activation_types,
    exact_session,
    multiplies_signed_exactly,
    with_own_weights,
)
from match.validation.micro import EndedError, MicroProcess, RefusedError
from match.validation.schema import Reference
from match.validation.undefined import undefined

Array = npt.NDArray[Any]
_INSTALL = "`pip install 'match-compiler[validate]'` installs it"


def reference(model: Model) -> tuple[Reference, Run]:
    """What the model's integers are, by the format of its file; of a model with states step by step, from the first on.

    Raises:
        ToolchainError: if the package that runs such files is not installed, or cannot run this one.
    """
    if model.data is None or model.rounding is Rounding.INTEGER:
        return "integer network", integers(model, integer_network(model))
    if model.original is not None:
        name, run = reference(model.original)
        if model.batch != model.original.batch:
            return name, of_batch(model, run)
        return name, (adapted if model.states == model.original.states else in_steps)(model, model.original, run)
    if model.rounding is Rounding.TFLITE:
        return "TFLite Micro", _tflite_micro(model, model.data)
    return "onnxruntime", _onnxruntime(model, model.data)


def caveat(model: Model) -> str | None:
    """A sentence on why outputs may differ from the reference though the C is right; None if there is no reason."""
    model = model.original or model
    if model.rounding is Rounding.TFLITE and model.data is not None:
        return undefined(model.data, model.name)
    if model.rounding is not Rounding.ONNXRUNTIME or model.data is None:
        return None
    if "int8" not in activation_types(model.data) or _signed(model.data):
        return None
    return (
        "Of networks with int8 activations onnxruntime leaves some operators in floating point here, those "
        "around tensors that several operators read; what these compute may be a step off the network's integers, on "
        "either side. Of the same network with uint8 activations it computes all in integers."
    )


def steps(model: Model) -> tuple[float | None, ...]:
    """For each output the distance of neighbouring values; None for what float operators compute."""
    if isinstance(model.network, Graph):
        return tuple(map(_step_of, model.network.handed_out))
    body = model.network["main"].body
    tensors = list(body.fields) if isinstance(body, relay.Tuple) else [body]
    return tuple(_step(expr, tensor.dtype) for expr, tensor in zip(tensors, model.outputs, strict=False))


def _step_of(value: Value) -> float | None:
    if np.dtype(value.dtype).kind != "f":
        return 1.0
    while isinstance(value.operator, Move):
        value = value.inputs[0]
    return float(value.operator.scale) if isinstance(value.operator, Dequantize) else None


def _step(expr: Any, dtype: str) -> float | None:
    if np.dtype(dtype).kind != "f":
        return 1.0
    while is_call(expr, *REARRANGEMENTS):
        expr = expr.args[0]
    if not is_call(expr, "qnn.dequantize"):
        return None
    scale = scalar(expr.args[1])
    return None if scale is None else float(scale)


def _tflite_micro(model: Model, data: bytes) -> Run:
    try:
        whole = with_buffers_inside(data)
    except ImportError as error:
        raise ToolchainError(f"TFLite Micro is the reference of {model.name} and is missing; {_INSTALL}.") from error
    if not sys.executable or getattr(sys, "frozen", False):
        raise ToolchainError("TFLite Micro is run by a Python interpreter, and this program has none beside it.")
    try:
        process = MicroProcess(whole, keeps=bool(model.states))
    except EndedError as error:
        raise _ended_by_micro(model, "loads", "a condition on scales or shapes that its kernels check") from error
    except RefusedError as error:
        raise _refused_by_micro(model, error) from error

    def run(inputs: list[Array]) -> list[Array]:
        try:
            return process.outputs(inputs, len(model.outputs))
        except EndedError as error:
            raise _ended_by_micro(model, "computes", "a condition on these inputs that a kernel checks") from error
        except RefusedError as error:  # some kernels look at types when they compute
            raise _refused_by_micro(model, error) from error

    return run


def _ended_by_micro(model: Model, doing: str, what: str) -> ToolchainError:
    return ToolchainError(
        f"TFLite Micro ends the process that {doing} {model.name}: {what} does not hold. Use a version that runs it, "
        "or compare outputs by other means."
    )


def _refused_by_micro(model: Model, error: Exception) -> ToolchainError:
    return ToolchainError(
        f"TFLite Micro cannot run {model.name}: {_line(error)}; on stderr it names the operator that it has no kernel "
        "for, or whose kernel refuses the tensors. Use a version that runs it, or compare outputs by other means."
    )


def _onnxruntime(model: Model, data: bytes) -> Run:
    try:
        separate = with_own_weights(data)
        session = exact_session(separate, signed=_signed(data))
    except ImportError as error:
        raise ToolchainError(f"onnxruntime is the reference of {model.name} and is missing; {_INSTALL}.") from error
    except Exception as error:  # pybind11 classes of onnxruntime's own, which share no public base
        raise ToolchainError(f"onnxruntime cannot run {model.name}: {_line(error)}; use a newer one.") from error
    names = [tensor.name for tensor in model.inputs]
    outputs = [tensor.name for tensor in model.outputs]

    def run(inputs: list[Array]) -> list[Array]:
        given = dict(zip(names, inputs, strict=True))
        with suppress(Exception):
            return session.run(outputs, given)
        # It fuses layers of inputs with a scale for each channel to kernels that take one scale, and fails at these.
        try:
            return exact_session(separate, signed=_signed(data), fused=False).run(outputs, given)
        except Exception as error:  # such as places that a table does not have
            raise InputError(
                f"onnxruntime cannot compute {model.name} from these inputs: {_line(error)}; give some that it takes "
                "(--input)."
            ) from error

    return run


def _signed(data: bytes) -> bool:
    """Whether the reference computes int8 activations as int8.

    It does where this PC's products of them are exact, but for a network with activations of both types: onnxruntime
    would leave operators between the two in floating point.
    """
    return activation_types(data) == frozenset({"int8"}) and multiplies_signed_exactly()


def integers(model: Model, network: Graph) -> Run:
    """The model by its network in integer form, or by what that became."""
    executable = Executable(write_graph(network).module)
    names = [*(tensor.name for tensor in model.inputs), *(x.source for x in network.inputs[len(network.given) :])]
    held = list(network.states)

    def run(inputs: list[Array]) -> list[Array]:
        outputs = executable(dict(zip(names, [*inputs, *held], strict=True)))
        held[:] = outputs[len(outputs) - len(held) :]
        return outputs[: len(outputs) - len(held)]

    return run


def _line(error: Exception) -> str:
    message = str(error).rpartition("Status Message: ")[2]  # onnxruntime's codes stand in front of it
    return " ".join(message.split())[:160].rstrip(" .")
