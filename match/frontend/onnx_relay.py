"""ONNX files as Relay, imported by TVM."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from match.errors import ModelError
from match.frontend import onnx_problems
from match.frontend.model import ModelTensor
from match.frontend.onnx_fusions import mark_real_numbers
from match.frontend.onnx_graph import with_fields
from match.frontend.onnx_importer import ScaleError, import_onnx
from match.frontend.onnx_network import OnnxNetwork
from match.frontend.reasons import reason, sentence
from match.frontend.relay import bind, check_quantized
from match.relay import relay, tvm


def imported(network: OnnxNetwork, path: Path) -> tvm.IRModule:
    """A network as Relay with QNN operators, types inferred.

    Raises:
        ModelError: the importer cannot read it, or nothing in it is quantized.
    """
    marked = with_fields(network.written)
    mark_real_numbers(marked.graph, network.fusions)
    module, params = _converted(marked, path)
    bound = bind(_in_order(module, network.inputs), params, str(path))
    check_quantized(bound, str(path), onnx_problems.QUANTIZE)
    return bound


def shapes_of(module: tvm.IRModule) -> list[tuple[int, ...]]:
    """The shapes of what a network returns."""
    returned = module["main"].ret_type
    types = list(returned.fields) if isinstance(returned, tvm.ir.TupleType) else [returned]
    return [tuple(int(extent) for extent in kind.shape) for kind in types]


def _converted(proto: Any, path: Path) -> tuple[tvm.IRModule, Any]:
    """What TVM's importer makes of a model: Relay and its parameters.

    Raises:
        ModelError: the importer cannot read it.
    """
    try:
        return import_onnx(proto)
    except tvm.error.OpNotImplemented as error:
        operators = str(error).strip().splitlines()[-1].rpartition(":")[2].split(",")
        named = sorted(name.strip() for name in operators if name.strip())
        raise ModelError(sentence(path, onnx_problems.uses(named or ["an operator"]))) from error
    except ScaleError as error:
        raise ModelError(f"{path} has {error}; export it again") from error
    except tvm.error.DiagnosticError:
        raise  # `tvm_failures` knows what was said
    except (AssertionError, ValueError, KeyError, NotImplementedError, tvm.TVMError) as error:
        raise ModelError(f"{path} has something TVM's ONNX importer does not support: {reason(error)}") from error


def _in_order(module: tvm.IRModule, inputs: Sequence[ModelTensor]) -> tvm.IRModule:
    """The module with the parameters of "main" in the order of the graph's inputs, then weights left as parameters."""
    main = module["main"]
    position = {tensor.name: index for index, tensor in enumerate(inputs)}
    parameters = sorted(main.params, key=lambda parameter: position.get(parameter.name_hint, len(position)))
    return tvm.IRModule.from_expr(relay.Function(parameters, main.body))
