"""Layers for TVM's own builds, through ``relay.ext.match``."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from match.codegen.core_compiler import register_core, tamed
from match.codegen.layer import generate
from match.codegen.minima import LAST_PHASE, minima_of_what_is_there
from match.dispatch.plan_codec import PLAN_ATTRIBUTE, decode
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
    plan = decode(str(function.attrs[PLAN_ATTRIBUTE])) if PLAN_ATTRIBUTE in function.attrs else None
    code = "\n" if plan is None else generate(plan, alone=True, own_scratch=True)
    return source_module(code, str(function.attrs["global_symbol"]))


def source_module(code: str, symbol: str) -> Any:
    """The C of a function as a module of TVM's."""
    return tvm.runtime._ffi_api.CSourceModuleCreate(code, "c", [symbol], [])
