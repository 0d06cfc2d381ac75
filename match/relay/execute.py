"""Relay executed on this PC by TVM."""

from __future__ import annotations

import functools
import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy.typing as npt

from match.relay import relay, tvm
from match.relay.build import UNWANTED

_LOGGERS = ("autotvm", "te_compiler", "strategy")


class Executable:
    """A Relay module compiled for this PC, without optimizations, which would take longer than they save."""

    def __init__(self, module: tvm.IRModule) -> None:
        """With "main", types inferred, whose parameters are the inputs."""
        # LLVM takes no vector for the variable that the pass makes of an expression that occurs twice.
        alone = {"tir.disable_cse_tir": True}
        with _quiet(), tvm.transform.PassContext(opt_level=1, disabled_pass=list(UNWANTED), config=alone):
            library = relay.build(module, "llvm -opt-level=0")
        self._executor: Any = tvm.contrib.graph_executor.GraphModule(library["default"](tvm.cpu()))

    def __call__(self, inputs: Mapping[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        """The outputs for one sample."""
        self._executor.run(**inputs)
        return [self._executor.get_output(index).numpy() for index in range(self._executor.get_num_outputs())]


@contextmanager
def _quiet() -> Generator[None]:
    """Keeps TVM from advising to tune operators, and from reading its build options anew for every shape."""
    compiler = relay.backend.te_compiler
    libinfo, levels = compiler.libinfo, [logging.getLogger(name).level for name in _LOGGERS]
    scope = tvm.autotvm.GLOBAL_SCOPE
    silent = scope.silent
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    scope.silent = True
    compiler.libinfo = functools.cache(libinfo)
    try:
        yield
    finally:
        compiler.libinfo = libinfo
        scope.silent = silent
        for name, level in zip(_LOGGERS, levels, strict=True):
            logging.getLogger(name).setLevel(level)
