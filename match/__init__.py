"""MATCH: quantized neural networks to C for heterogeneous microcontrollers, as a plugin of TVM.

`compile` takes a model file or a Relay module to a `CompiledModel`, which knows its predicted costs, saves a C project
and runs it on this machine, and `predict` to its report, without C. `validate` compares a saved project with its model.
`load` reads a model file alone; `partition` prepares a Relay module for ``tvm.relay.build`` in `pass_context`, which
`build` calls, too; `pass_config` is what TVM's passes are told there, and `shared_files` is C that layers built so
need. `register` gives TVM the pattern table of each module of a target, to cut and build networks by TVM's own passes.
To describe a chip, subclass `MatchTarget` and `HwModule`. `zoo` makes networks to try it all on.

Everything is imported when it is first used: TVM alone takes a second. (lazy_loader would read the names from
a stub file, which a type checker then sees in place of this one.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from match.byoc.register import register
    from match.codegen.backend import pass_config, pass_context
    from match.codegen.shared_text import shared_files
    from match.compiled.model import CompiledModel
    from match.compiler import build, compile, partition, predict, validate  # noqa: A004
    from match.devtools import zoo
    from match.dispatch.plan import LayerDecision
    from match.errors import (
        CapacityError,
        CostModelError,
        InputError,
        MatchError,
        ModelError,
        OptionError,
        OutputError,
        ScheduleError,
        TargetError,
        ToolchainError,
    )
    from match.frontend import Model, load
    from match.ir.layer import Layer
    from match.ir.requantization import Requantization, Requantizer
    from match.mapping.schedule import Schedule
    from match.quantizing.run import QuantizedModel, quantize
    from match.report.compare import Comparison, compare
    from match.sweeping.run import sweep
    from match.target.cost import CostModel, CpuCostModel
    from match.target.hardware import HwModule, MatchTarget, Pattern, Verdict
    from match.target.registry import get_target, target_names
    from match.validation.schema import Validation

__all__ = [
    "CapacityError",
    "Comparison",
    "CompiledModel",
    "CostModel",
    "CostModelError",
    "CpuCostModel",
    "HwModule",
    "InputError",
    "Layer",
    "LayerDecision",
    "MatchError",
    "MatchTarget",
    "Model",
    "ModelError",
    "OptionError",
    "OutputError",
    "Pattern",
    "QuantizedModel",
    "Requantization",
    "Requantizer",
    "Schedule",
    "ScheduleError",
    "TargetError",
    "ToolchainError",
    "Validation",
    "Verdict",
    "build",
    "compare",
    "compile",
    "get_target",
    "load",
    "partition",
    "pass_config",
    "pass_context",
    "predict",
    "quantize",
    "register",
    "shared_files",
    "sweep",
    "target_names",
    "validate",
    "zoo",
]

__version__: str

_HOME = {
    "match.byoc.register": ("register",),
    "match.codegen.backend": ("pass_config", "pass_context"),
    "match.codegen.shared_text": ("shared_files",),
    "match.compiled.model": ("CompiledModel",),
    "match.compiler": ("build", "compile", "partition", "predict", "validate"),
    "match.report.compare": ("Comparison", "compare"),
    "match.validation.schema": ("Validation",),
    "match.target.cost": ("CostModel", "CpuCostModel"),
    "match.errors": (
        "CapacityError",
        "CostModelError",
        "InputError",
        "MatchError",
        "ModelError",
        "OptionError",
        "OutputError",
        "ScheduleError",
        "TargetError",
        "ToolchainError",
    ),
    "match.frontend": ("Model", "load"),
    "match.target.hardware": ("HwModule", "MatchTarget", "Pattern", "Verdict"),
    "match.ir.layer": ("Layer",),
    "match.dispatch.plan": ("LayerDecision",),
    "match.target.registry": ("get_target", "target_names"),
    "match.sweeping.run": ("sweep",),
    "match.quantizing.run": ("QuantizedModel", "quantize"),
    "match.ir.requantization": ("Requantization", "Requantizer"),
    "match.mapping.schedule": ("Schedule",),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "__version__":
        from importlib import metadata  # takes as long as Python's start, in which an interrupt ends in a traceback

        return metadata.version("match-compiler")
    if name == "zoo":
        return import_module("match.devtools.zoo")
    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'match' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
