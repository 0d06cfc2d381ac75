"""A network as calls, places and C functions; layers for TVM's own builds, through ``relay.ext.match``."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from match.codegen.calls import Calls, calls
from match.codegen.control_core import ControlCore, CoreFunction, register_core, tamed
from match.codegen.inside import beside
from match.codegen.layer import generate
from match.codegen.minima import LAST_PHASE, minima_of_what_is_there
from match.codegen.network import LayerSource, Network, Place
from match.codegen.steps import WORKSPACE_ALIGNMENT, lives
from match.dispatch.plan_codec import PLAN_ATTRIBUTE, decode
from match.frontend.model import Model
from match.partitioning.steps import Cut
from match.placement.packing import Item, pack
from match.relay import relay, tvm


def register(targets: Iterable[str]) -> None:
    """Make TVM know ``relay.ext.match`` and, for each name in `targets`, the target ``match/<name>``."""
    register_core(targets)
    if tvm.get_global_func("relay.ext.match", allow_missing=True) is None:
        tvm.register_func("relay.ext.match", layer_module)


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
    with tamed(), tvm.transform.PassContext(opt_level=3, config=pass_config()):
        yield


def with_names_for_c(module: tvm.IRModule) -> tvm.IRModule:
    """The module with an underscore in front of each parameter of "main" that begins with a digit, types inferred.

    TVM's executor names C variables like inputs.
    """
    main = module["main"]
    new = {
        parameter: relay.var(f"_{parameter.name_hint}", parameter.checked_type)
        for parameter in main.params
        if parameter.name_hint[:1].isdigit()
    }
    if not new:
        return module
    parameters = [new.get(parameter, parameter) for parameter in main.params]
    renamed = tvm.IRModule({name: function for name, function in module.functions.items() if name.name_hint != "main"})
    renamed["main"] = relay.Function(parameters, relay.bind(main.body, new), attrs=main.attrs)
    return relay.transform.InferType()(renamed)


def layer_module(function: Any) -> Any:
    """What ``relay.ext.match`` returns for a function: its C, as a module of TVM's; no text where it has no plan."""
    code = (
        generate(decode(str(function.attrs[PLAN_ATTRIBUTE])), alone=True) if PLAN_ATTRIBUTE in function.attrs else "\n"
    )
    return source_module(code, str(function.attrs["global_symbol"]))


def source_module(code: str, symbol: str) -> Any:
    """The C of a function as a module of TVM's."""
    return tvm.runtime._ffi_api.CSourceModuleCreate(code, "c", [symbol], [])


@dataclass(frozen=True, eq=False)
class _CoreCode:
    """The control core's operators, which are printed when they are asked for."""

    core: ControlCore
    functions: Mapping[str, CoreFunction]

    def code(self) -> str:
        return self.core.code(self.functions)


def lower(network: Cut, model: Model, core: ControlCore) -> Network:
    """Compile a network with everything in main memory: layers by their plans, the rest by `core`."""
    found = calls(network, core)
    offsets, peak = _planned(found)
    alignment = max(WORKSPACE_ALIGNMENT, network.target.main_memory.alignment)
    plans = {decision.plan.symbol: decision.plan for decision in network.decisions if decision.plan}
    return Network(
        name=model.name,
        inputs=model.inputs,
        outputs=model.outputs,
        layers=tuple(LayerSource(plans[step.function]) for step in found.steps if step.function in plans),
        steps=found.steps,
        copies=found.copies,
        functions=_CoreCode(core, found.functions),
        places={name: Place(external=False, offset=offset) for name, offset in offsets.items()},
        constants=found.constants,
        operator_constant_bytes=max((one.offset + one.data.nbytes for one in found.constants), default=0),
        workspace_bytes=peak,
        inside=beside(model.inputs, model.outputs, found.steps, found.copies, offsets, peak, alignment),
        rounding=model.rounding,
    )


def _planned(found: Calls) -> tuple[dict[str, int], int]:
    """The offset of each buffer in the workspace, and the bytes of that."""
    alive = lives(found.steps, found.copies)
    items = [Item(life.buffer.name, life.stages.first, life.stages.last, life.buffer.bytes) for life in alive]
    offsets = {str(name): offset for name, offset in pack(items, WORKSPACE_ALIGNMENT, 0).offsets.items()}
    return offsets, max((offsets[life.buffer.name] + life.buffer.bytes for life in alive), default=0)
