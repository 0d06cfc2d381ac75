"""TVM's side of code generation: layers enter through ``relay.ext.match``, the network leaves as text and numbers."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

from match.codegen.aot import prepare
from match.codegen.capacity import fits, shortage
from match.codegen.inside import beside
from match.codegen.layer import generate
from match.codegen.minima import LAST_PHASE, minima_of_what_is_there
from match.codegen.network import Call, Constant, LayerSource, Network, WorkspaceBuffer
from match.codegen.steps import CallStep, Reservation, StepReader, parts_of, without_parts
from match.codegen.tvm_source import clean
from match.codegen.typed_once import TypedOnce
from match.codegen.workspace import EXTERNAL, PLANNER, Places, planner, pools
from match.dispatch.plan import LayerPlan
from match.dispatch.plan_codec import IN_PLACE_ATTRIBUTE, PLAN_ATTRIBUTE, decode, decode_in_place
from match.errors import CapacityError
from match.frontend.model import Model
from match.ir.names import identifier
from match.partitioning.pattern.rows import products
from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.rewrite import first_source, operator_name
from match.target.hardware import MatchTarget

# Bytes to which TVM aligns what it places in the workspace and among the constants: the largest element has eight.
WORKSPACE_ALIGNMENT = 8
CONSTANT_ALIGNMENT = 8

# Passes that cost seconds and find nothing in a network in integer form, or that change layouts or arithmetic.
_UNWANTED = (
    "AlterOpLayout",
    "EliminateCommonSubexpr",
    "FastMath",
    "FoldConstant",
    "FoldScaleAxis",
    "SimplifyExpr",
    "SimplifyExprPostAlterOp",
    "qnn.Legalize",
)

_ONE_AT_A_TIME = threading.RLock()
"""TVM finds the planner of memory by its name: that of one network in all threads."""

_CALL = re.compile(r"MATCH_CALL\(\d+, (\w+)\(")

# Operators that TVM has no C for although math.h has them by the same name.
_MATH = ("fabs", "fmod", "trunc")


def register(targets: Iterable[str]) -> None:
    """Make TVM know ``relay.ext.match`` and, for each name in `targets`, the target ``match/<name>``."""
    for name in targets:
        tvm.target.tag.register_tag(f"match/{name}", {"kind": "c", "keys": ["cpu"], "model": name}, override=True)
    if tvm.get_global_func("relay.ext.match", allow_missing=True) is None:
        tvm.register_func("relay.ext.match", _layer_module)
        for name in _MATH:
            tvm.ir.register_intrin_lowering(f"tir.{name}", target="c", f=_math_function)


def pass_config() -> dict[str, Any]:
    """The `config` of the `tvm.transform.PassContext` in which TVM builds a network for the control core.

    C has no vectors; all buffers are in one workspace; minima read what is in memory (`minima_of_what_is_there`).
    """
    return {
        "tir.add_lower_pass": [(LAST_PHASE, minima_of_what_is_there)],
        "tir.disable_vectorize": True,
        "tir.usmp.enable": True,
    }


@contextmanager
def pass_context() -> Generator[None]:
    """The `tvm.transform.PassContext` in which TVM builds a network for the control core, see `pass_config`.

    TVM does not advise to tune the operators meanwhile: it tunes for other machines.
    """
    with _ONE_AT_A_TIME, _tamed(), tvm.transform.PassContext(opt_level=3, config=pass_config()):
        yield


@dataclass(frozen=True, eq=False)
class Built:
    """A network, and its calls in the order of execution."""

    network: Network
    steps: tuple[CallStep, ...]


def build(module: tvm.IRModule, target: MatchTarget, model: Model) -> Network:
    """Compile a partitioned network that fits the main memory as it is.

    Raises:
        CapacityError: if constants and activations do not fit the target's main memory.
    """
    network = lower(module, target, model).network
    if not fits(network, target):
        raise CapacityError(shortage(network, target))
    return network


def lower(module: tvm.IRModule, target: MatchTarget, model: Model, places: Places | None = None) -> Built:
    """Compile a partitioned network: layers by their plans, the rest by TVM for the control core.

    Args:
        module: the network.
        target: the chip.
        model: where it came from.
        places: of all buffers, by TVM's names for them; without, TVM plans the workspace.

    Raises:
        CapacityError: if the places are not those of the network's buffers.
    """
    register([target.name])
    plans = {
        plan.symbol: plan
        for variable, function in module.functions.items()
        if variable.name_hint != "main" and PLAN_ATTRIBUTE in function.attrs
        for plan in [_plan(function)]
    }
    in_place = {
        found.symbol: found
        for variable, function in module.functions.items()
        if variable.name_hint != "main" and IN_PLACE_ATTRIBUTE in function.attrs
        for found in [decode_in_place(str(function.attrs[IN_PLACE_ATTRIBUTE]))]
    }
    config = pass_config() | {"tir.usmp.custom_algorithm": PLANNER}
    options = {
        "interface-api": "c",
        "unpacked-api": True,
        "workspace-byte-alignment": WORKSPACE_ALIGNMENT,
        "constant-byte-alignment": CONSTANT_ALIGNMENT,
    }
    reader = StepReader()
    chip = tvm.target.Target(f"match/{target.name}")
    context = tvm.transform.PassContext(
        opt_level=3, disabled_pass=list(_UNWANTED), config=config, instruments=[reader, TypedOnce()]
    )
    with _ONE_AT_A_TIME, _tamed(), planner(reader, places, in_place) as offsets, context:
        library = relay.build(
            prepare(module),
            target=chip,
            executor=relay.backend.Executor("aot", options),
            runtime=relay.backend.Runtime("crt"),
            mod_name=identifier(model.name),
            **pools(places, chip),
        )
    alignment = max(WORKSPACE_ALIGNMENT, target.main_memory.alignment)
    steps = without_parts(reader.steps, in_place, parts_of(reader.steps, in_place))
    network = _network(library, plans, in_place, model, steps, offsets, alignment)
    network = replace(network, buffers=tuple(_buffers(steps, offsets)))
    return Built(network, steps)


def _buffers(steps: Sequence[CallStep], offsets: Mapping[str, int]) -> Iterator[WorkspaceBuffer]:
    """What lies in the workspace, each from the first to the last call that touches it."""
    touched: dict[Reservation, list[int]] = {}
    for number, step in enumerate(steps):
        for buffer in (*step.arguments, *step.own):
            if buffer is not None:
                touched.setdefault(buffer, []).append(number)
    for buffer, calls in touched.items():
        yield WorkspaceBuffer(buffer.name, buffer.bytes, offsets[buffer.name], calls[0], calls[-1])


def _plan(function: Any) -> LayerPlan:
    return decode(str(function.attrs[PLAN_ATTRIBUTE]))


def _layer_module(function: Any) -> Any:
    """What ``relay.ext.match`` returns for a function: its C, as a module of TVM's; no text where it has no plan."""
    code = generate(_plan(function), alone=True) if PLAN_ATTRIBUTE in function.attrs else "\n"
    return tvm.runtime._ffi_api.CSourceModuleCreate(code, "c", [function.attrs["global_symbol"]], [])


def _math_function(call: Any) -> Any:
    """A call of the function of math.h of the operator's name, for float32 or float64."""
    name = call.op.name.removeprefix("tir.")
    return tvm.tir.call_pure_extern(call.dtype, name if call.dtype == "float64" else f"{name}f", *call.args)


class _Pool(NamedTuple):
    """A block of memory that the network is given, "constants", "workspace" or `EXTERNAL`, and the constants in it."""

    name: str
    bytes: int
    constants: tuple[Constant, ...]


def _pools(metadata: Any) -> list[_Pool]:
    """The pools in the order in which the network takes them."""
    found: list[_Pool] = []
    for pool in sorted(metadata.pool_inputs.values(), key=lambda pool: int(pool.pool_var_idx)):
        info = pool.pool_info
        if isinstance(info, tvm.ir.memory_pools.ConstantPoolInfo):
            constants = (
                Constant(str(one.name_hint), int(one.byte_offset), one.data.numpy()) for one in info.constant_info_array
            )
            found.append(_Pool("constants", int(pool.allocated_size), tuple(constants)))
        else:
            name = EXTERNAL if str(info.pool_name) == EXTERNAL else "workspace"
            found.append(_Pool(name, int(pool.allocated_size), ()))
    return found


def _network(
    library: Any,
    plans: dict[str, LayerPlan],
    in_place: Collection[str],
    model: Model,
    steps: Sequence[CallStep],
    offsets: Mapping[str, int],
    alignment: int,
) -> Network:
    main = f"tvmgen_{identifier(model.name)}___tvm_main__"
    source = next(part.get_source() for part in library.lib.imported_modules if main in _functions(part))
    operators = clean(source, in_place)
    pools = _pools(library.executor_codegen_metadata)
    constants = [constant for pool in pools for constant in pool.constants]
    sizes = {"constants": 0, "workspace": 0} | {pool.name: pool.bytes for pool in pools}
    return Network(
        name=model.name,
        inputs=model.inputs,
        outputs=model.outputs,
        layers=tuple(
            LayerSource(plans[symbol]) for symbol in sorted(plans, key=lambda symbol: operators.index(f" {symbol}("))
        ),
        calls=tuple(_call(function, plans, library.function_metadata) for function in _CALL.findall(operators)),
        operators=operators,
        main=main,
        pools=tuple(pool.name for pool in pools),
        constants=tuple(sorted(constants, key=lambda constant: constant.offset)),
        operator_constant_bytes=sizes["constants"],
        workspace_bytes=sizes["workspace"],
        inside=beside(model.inputs, model.outputs, steps, offsets, sizes["workspace"], alignment),
        rounding=model.rounding,
    )


def _call(function: str, plans: Mapping[str, LayerPlan], metadata: Any) -> Call:
    """A call of the network's `main`; TVM keeps the Relay of every function that it makes itself."""
    if function in plans:
        return Call(function, source=plans[function].source)
    if function not in metadata:
        return Call(function)
    expressions = [expr for _, relays in metadata[function].relay_primfuncs.items() for expr in post_order(relays)]
    operators = tuple(expr for expr in expressions if isinstance(expr, relay.Call))
    found = products(operators)
    source = first_source(reversed(operators))
    return Call(function, tuple(map(operator_name, operators)), found[1] if found else 0, source)


def _functions(part: Any) -> list[str]:
    return [str(name) for name in part.get_function("get_func_names")()]


@contextmanager
def _tamed() -> Generator[None]:
    """Keeps TVM from looking for tuned operators, advising to tune some, and reading its options for every shape."""
    logger, scope, compiler = logging.getLogger("strategy"), tvm.autotvm.GLOBAL_SCOPE, tvm.relay.backend.te_compiler
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
