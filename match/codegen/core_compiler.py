"""What stays on the control core: each operator as one C function, which TVM makes, with its scratch as a parameter."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from match.codegen.minima import LAST_PHASE, minima_of_what_is_there
from match.codegen.narrowed import narrowed
from match.codegen.pieces import pieces_of
from match.codegen.printable import printable
from match.codegen.stages import uses
from match.codegen.steps import Buffer, CoreFunction, Uses
from match.codegen.tvm_source import clean
from match.graph.value import Graph
from match.ir.names import identifiers
from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.graph_writer import core_function
from match.relay.objects import expressions
from match.relay.rewrite import operator_name

_LOWERED = "call_lowered"
_IS_RESHAPE = "relay.reshape_only"

# Operators that TVM has no C for although math.h has them by the same name.
_MATH = ("fabs", "fmod", "trunc")

_TAMING = threading.RLock()
"""What keeps TVM from tuning is for all threads."""


def register_core(targets: Iterable[str]) -> None:
    """For each name in `targets` make TVM know the target ``match/<name>``, and functions of math.h."""
    for name in targets:
        tvm.target.tag.register_tag(f"match/{name}", {"kind": "c", "keys": ["cpu"], "model": name}, override=True)
    _register_math()


@cache
def _register_math() -> None:
    """TVM refuses to be told twice."""
    for name in _MATH:
        tvm.ir.register_intrin_lowering(f"tir.{name}", target="c", f=_math_function)


def _math_function(call: Any) -> Any:
    """A call of the function of math.h of the operator's name, for float32 or float64."""
    name = call.op.name.removeprefix("tir.")
    return tvm.tir.call_pure_extern(call.dtype, name if call.dtype == "float64" else f"{name}f", *call.args)


class CoreCompiler:
    """Compiles operators for the control core of a target by TVM. Equal operators are compiled once."""

    def __init__(self, target: str) -> None:
        """With the name of the target."""
        register_core([target])
        chip = tvm.target.Target(f"match/{target}")
        self._target = tvm.target.Target(chip, host=chip)
        self._found: dict[int, list[tuple[relay.Function, CoreFunction]]] = {}
        self._lowered: dict[int, list[Any]] = {}

    def functions(self, graphs: Sequence[Graph]) -> list[CoreFunction]:
        """Functions that compute the outputs of graphs."""
        operators = list(map(core_function, graphs))
        keys = [int(tvm.ir.structural_hash(operator, map_free_vars=True)) for operator in operators]
        asked: list[tuple[int, relay.Function]] = []
        for key, operator in zip(keys, operators, strict=True):
            known = [*self._found.get(key, ()), *((other, None) for k, other in asked if k == key)]
            if not any(tvm.ir.structural_equal(operator, other) for other, _ in known):
                asked.append((key, operator))
        made = self._compiled([operator for _, operator in asked]) if asked else []
        for (key, operator), function in zip(asked, made, strict=True):
            self._found.setdefault(key, []).append((operator, function))
        return [
            next(function for other, function in self._found[key] if tvm.ir.structural_equal(operator, other))
            for key, operator in zip(keys, operators, strict=True)
        ]

    def code(self, functions: Mapping[str, CoreFunction]) -> str:
        """The C of functions, by their names."""
        module = tvm.IRModule(
            {
                tvm.ir.GlobalVar(name): function.lowered.with_attr("global_symbol", name)
                for name, function in functions.items()
            }
        )
        module = module.with_attr("executor", relay.backend.Executor("aot", {"unpacked-api": True}))
        crt = relay.backend.Runtime("crt", {"system-lib": False})
        # TVM gives variables that are not needed at the same time one name.
        config = {**_config(), "tir.add_lower_pass": [(LAST_PHASE, minima_of_what_is_there)]}
        with tvm.transform.PassContext(opt_level=3, config=config):
            return clean(tvm.build(module, target=self._target, runtime=crt).get_source())

    def _compiled(self, operators: Sequence[relay.Function]) -> list[CoreFunction]:
        names = [f"operator_{number}" for number in range(len(operators))]
        module = tvm.IRModule({relay.GlobalVar(name): one for name, one in zip(names, operators, strict=True)})
        with tamed(), tvm.transform.PassContext(opt_level=3, config=_config()):
            module = self._lower(module)
            combined = [_Combined(module, module[name]) for name in names]
            functions = tvm.IRModule({name: one.function for name, one in zip(names, combined, strict=True)})
            functions = tvm.tir.transform.ConvertSSA()(functions)
        made: list[CoreFunction] = []
        for name, one in zip(names, combined, strict=True):
            function, scratch = _with_scratch(narrowed(functions[name]))
            found = uses(function)
            whole = Uses(0, max((use.last for use in found.values()), default=0))
            times = tuple(found.get(function.buffer_map[one].data, whole) for one in function.params)
            pieces = None if scratch else pieces_of(function)
            function = self._shared(function.with_attr("target", self._target).without_attr("global_symbol"))
            made.append(CoreFunction(function, tuple(one.constants), scratch, times, pieces))
        return made

    def _lower(self, module: tvm.IRModule) -> tvm.IRModule:
        """Each operator as calls of loops."""
        to = relay.transform
        module = to.InferType()(module)
        if any(operator_name(expr).startswith("qnn.") for one in module.functions.values() for expr in post_order(one)):
            module = relay.qnn.transform.CanonicalizeOps()(module)
        module = printable(module)
        config = tvm.target.make_compilation_config(tvm.transform.PassContext.current(), self._target)
        passes = [
            *(to.Legalize(), to.SimplifyInference(), to.CanonicalizeCast(), to.CanonicalizeOps()),
            *(to.FlattenAtrousConv(), to.InferType(), to.PlanDevices(config), to.FuseOps(), to.InferType()),
        ]
        module = tvm.transform.Sequential(passes)(module)
        return tvm.get_global_func("relay.tec.LowerTE")("operator", config)(module)

    def _shared(self, function: Any) -> Any:
        """The function, or an equal one from before."""
        others = self._lowered.setdefault(int(tvm.ir.structural_hash(function)), [])
        for other in others:
            if tvm.ir.structural_equal(function, other):
                return other
        others.append(function)
        return function


@contextmanager
def tamed() -> Generator[None]:
    """Keeps TVM from looking for tuned operators, advising to tune some, and reading its options for every shape."""
    logger, scope, compiler = logging.getLogger("strategy"), tvm.autotvm.GLOBAL_SCOPE, tvm.relay.backend.te_compiler
    with _TAMING:
        level, silent, libinfo, select = logger.level, scope.silent, compiler.libinfo, compiler.select_implementation
        logger.setLevel(logging.ERROR)
        scope.silent = True
        compiler.libinfo = cache(libinfo)
        compiler.select_implementation = partial(select, use_autotvm=False)
        try:
            yield
        finally:
            logger.setLevel(level)
            scope.silent = silent
            compiler.libinfo = libinfo
            compiler.select_implementation = select


def _config() -> dict[str, Any]:
    """C has no vectors; constants are parameters."""
    return {"tir.disable_vectorize": True, "relay.FuseOps.link_params": False}


class _Combined:
    """The loops of an operator as one function; `constants` are what it reads beside its inputs."""

    def __init__(self, module: tvm.IRModule, operator: relay.Function) -> None:
        self.constants: list[npt.NDArray[np.generic]] = []
        self._module = module
        self._body: list[Any] = []
        self._temporary: dict[Any, Any] = {}
        self._values: dict[relay.Expr, list[Any]] = {}
        self._constants: list[Any] = []
        inputs = [self._buffer(parameter.checked_type, "input") for parameter in operator.params]
        for parameter, buffer in zip(operator.params, inputs, strict=True):
            self._values[parameter] = [buffer]
        for expr in expressions(operator):
            if expr not in self._values:
                self._values[expr] = list(self._value(expr))
        outputs = self._outputs(self._values[operator.body])
        body = tvm.tir.SeqStmt(self._body) if len(self._body) > 1 else self._body[0]
        for buffer in self._temporary.values():
            if not all(isinstance(extent, tvm.tir.IntImm) for extent in buffer.shape):
                raise tvm.TVMError("its code takes memory whose size is known only when it runs")
            size = [math.prod(map(int, buffer.shape))]
            body = tvm.tir.Allocate(buffer.data, buffer.dtype, size, tvm.tir.const(1, "bool"), body)
        buffers = [*inputs, *self._constants, *outputs]
        names = [*_numbered("input", inputs), *_numbered("constants", self._constants), *_numbered("output", outputs)]
        handles = [tvm.tir.Var(name, "handle") for name in names]
        self.function = _renamed(tvm.tir.PrimFunc(handles, body, buffer_map=dict(zip(handles, buffers, strict=True))))

    def _value(self, expr: relay.Expr) -> Iterator[Any]:
        if isinstance(expr, relay.Constant):
            self.constants.append(expr.data.numpy())
            self._constants.append(self._buffer(expr.checked_type, "constants"))
            yield self._constants[-1]
        elif isinstance(expr, relay.Tuple):
            for field in expr.fields:
                yield from self._values[field]
        elif isinstance(expr, relay.TupleGetItem):
            yield self._values[expr.tuple_value][expr.index]
        elif isinstance(expr, relay.Call) and expr.op.name == _LOWERED:
            yield from self._called(expr)

    def _called(self, call: relay.Call) -> Iterator[Any]:
        """The tensors that a loop writes."""
        variable, arguments = call.args
        given = self._values[arguments]
        if call.attrs.metadata["relay_attrs"].get(_IS_RESHAPE):
            yield from given
            return
        loop = self._module[variable]
        own = [loop.buffer_map[parameter] for parameter in loop.params]
        made = [self._buffer(buffer, "temporary") for buffer in own[len(given) :]]
        for buffer in made:
            self._temporary[buffer.data] = buffer
        replaced = {before.data: now.data for before, now in zip(own, (*given, *made), strict=True)}
        self._body.append(tvm.tir.stmt_functor.substitute(loop.body, replaced))
        yield from made

    def _outputs(self, results: Sequence[Any]) -> list[Any]:
        """The buffers that the operator writes; what is computed otherwise is copied there."""
        outputs: list[Any] = []
        for result in results:
            if result.data in self._temporary:
                outputs.append(self._temporary.pop(result.data))
            else:
                outputs.append(self._buffer(result, "output"))
                self._body.append(_copied(result, outputs[-1]))
        return outputs

    @staticmethod
    def _buffer(kind: Any, name: str) -> Any:
        return tvm.tir.decl_buffer(kind.shape, kind.dtype, name, scope="global")


def _copied(source: Any, target: Any) -> Any:
    """A loop that copies all elements of one buffer into another one."""
    size = int(np.prod(source.shape, dtype=np.int64))
    element = tvm.tir.Var("element", "int32")
    flat = [tvm.tir.decl_buffer((size,), buffer.dtype, buffer.name, data=buffer.data) for buffer in (source, target)]
    store = tvm.tir.BufferStore(flat[1], tvm.tir.BufferLoad(flat[0], [element]), [element])
    return tvm.tir.For(element, 0, size, tvm.tir.ForKind.SERIAL, store)


def _numbered(name: str, buffers: Sequence[Any]) -> list[str]:
    return [name] if len(buffers) == 1 else [f"{name}_{number}" for number in range(len(buffers))]


def _renamed(function: Any) -> Any:
    """The function with the names of its parameters for the buffers that these are."""
    replaced: dict[Any, Any] = {}
    buffers: dict[Any, Any] = {}
    for handle in function.params:
        before = function.buffer_map[handle]
        buffers[handle] = tvm.tir.decl_buffer(before.shape, before.dtype, handle.name)
        replaced[before.data] = buffers[handle].data
    body = tvm.tir.stmt_functor.substitute(function.body, replaced)
    return tvm.tir.PrimFunc(function.params, body, buffer_map=buffers).with_attr("tir.noalias", True)


def _with_scratch(function: Any) -> tuple[Any, tuple[Buffer, ...]]:
    """The function with all arrays that it allocates as parameters.

    A single element, a sum or a row's largest number, stays a variable, which a C compiler keeps in a register. Behind
    a parameter's address it would be loaded and stored at each step, as it might be an element of the output.
    """
    allocated: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tvm.tir.Allocate) and not _is_variable(node):
            allocated.append(node)

    tvm.tir.stmt_functor.post_order_visit(function.body, visit)
    if not allocated:
        return function, ()
    parameters = {handle: function.buffer_map[handle] for handle in function.params}
    names = identifiers([*(buffer.name for buffer in parameters.values()), *(one.buffer_var.name for one in allocated)])
    scratch: list[Buffer] = []
    replaced: dict[Any, Any] = {}
    for one, name in zip(allocated, names[len(parameters) :], strict=True):
        handle = tvm.tir.Var(name, "handle")
        parameters[handle] = tvm.tir.decl_buffer(one.extents, one.dtype, name)
        replaced[one.buffer_var] = parameters[handle].data
        elements = int(np.prod([int(extent) for extent in one.extents], dtype=np.int64))
        scratch.append(Buffer(name, elements * ((tvm.DataType(one.dtype).bits + 7) // 8)))
    body = tvm.tir.stmt_functor.ir_transform(function.body, None, _without, ["tir.Allocate"])
    body = tvm.tir.stmt_functor.substitute(body, replaced)
    whole = tvm.tir.PrimFunc(list(parameters), body, buffer_map=parameters)
    return whole.with_attr("tir.noalias", True), tuple(scratch)


def _without(allocate: Any) -> Any:
    return None if _is_variable(allocate) else allocate.body


def _is_variable(allocate: Any) -> bool:
    """Whether a single element is allocated."""
    return all(isinstance(extent, tvm.tir.IntImm) and int(extent) == 1 for extent in allocate.extents)
