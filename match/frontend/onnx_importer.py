"""Operators of ONNX that TVM's importer reads for the graph: each alone, a model of one operator."""

from __future__ import annotations

import contextlib
import sys
import types
import warnings
from collections.abc import Generator, Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from match.errors import ModelError
from match.frontend import onnx_problems
from match.frontend.onnx_graph import Array, opset_of
from match.frontend.reasons import reason, sentence
from match.frontend.relay import bind
from match.graph.rewrite import on_inputs
from match.graph.value import Value
from match.relay import relay, tvm
from match.relay.graph_reader import read_graph
from match.relay.integer_steps import read_step
from match.relay.objects import main_function
from match.relay.plain import without_qnn
from match.relay.real_readers import read_reals


def known_operators(opset: int) -> Set[str]:
    """The operators of a version of ONNX's that TVM imports."""
    converters: dict[str, Any] = relay.frontend.onnx._get_convert_map(opset)
    return converters.keys()


def imported(
    node: Any, read: Mapping[str, Value], constants: Mapping[str, Array], opset: int, path: Path
) -> tuple[Value, ...]:
    """What an operator of a file makes of tensors and constants, by their names.

    Raises:
        ModelError: TVM's importer cannot read it.
    """
    module, params = converted(_alone(node, read, constants, opset), path)
    main = main_function(without_qnn(bind(module, params, str(path))))
    graph = read_graph(main, fragment=read_step, rest=read_reals).graph
    return on_inputs(graph, [read[x.source] for x in graph.inputs])


def _alone(node: Any, read: Mapping[str, Value], constants: Mapping[str, Array], opset: int) -> Any:
    """A model of the operator alone."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    kept = [own for own in node.attribute if own.name != "reduction" or own.s != b"none"]  # which TVM does not know
    del copy.attribute[:]
    copy.attribute.extend(kept)
    graph = onnx.helper.make_graph(
        [copy],
        node.name or node.output[0],
        [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(x.dtype)), x.shape)
            for name, x in read.items()
        ],
        [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name],
        [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])


def converted(proto: Any, path: Path) -> tuple[tvm.IRModule, Any]:
    """What TVM's importer makes of a model: Relay and its parameters.

    Raises:
        ModelError: the importer cannot read it.
    """
    importer = relay.frontend.onnx.GraphProto({}, "float32", True, {})
    try:
        with _environment(), importer as graph:
            module, params = graph.from_onnx(proto.graph, opset_of(proto))
        if any(name.startswith("dyn.") for name in relay.analysis.list_op_freqs(module)):
            module = relay.transform.DynamicToStatic()(module)
        return relay.transform.FoldConstant()(module), params
    except tvm.error.OpNotImplemented as error:
        operators = str(error).strip().splitlines()[-1].rpartition(":")[2].split(",")
        named = sorted(name.strip() for name in operators if name.strip())
        raise ModelError(sentence(path, onnx_problems.uses(named or ["an operator"]))) from error
    except tvm.error.DiagnosticError:
        raise  # `tvm_failures` knows what was said
    except (AssertionError, ValueError, KeyError, NotImplementedError, tvm.TVMError) as error:
        raise ModelError(f"{path} has something TVM's ONNX importer does not support: {reason(error)}") from error


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
