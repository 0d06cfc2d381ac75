"""Runs Relay on this machine: what every pass is compared through.

`executable` is the way for networks in integer form, which NumPy computes without a build. `Compiled` is for what TVM
has to compute: operators in floating point, and tests of how TVM compiles what a pass writes.
"""

from __future__ import annotations

import functools
import logging
import unittest.mock
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from match.graph.value import Graph
from match.relay import relay, tvm
from match.relay.build import UNWANTED
from match.relay.graph_writer import write_graph
from tests import relay_numpy

Arrays = list[npt.NDArray]
Program = Callable[[Mapping[str, npt.NDArray]], Arrays]
"""From a value for each input, by its name, to the outputs."""

MOST_FUSED = 10
"""Operators in one function: TVM takes seconds to lower a function of hundreds that read the same value."""


class Compiled:
    """A network compiled for this machine."""

    def __init__(self, module: Graph | tvm.IRModule, optimization: int = 1) -> None:
        for name in ("autotvm", "te_compiler"):
            logging.getLogger(name).setLevel(logging.ERROR)
        from tvm.contrib.graph_executor import GraphModule

        # TVM reads its own build options anew for every shape it lowers, which takes half the time of a build.
        compiler = tvm.relay.backend.te_compiler
        with (
            unittest.mock.patch.object(compiler, "libinfo", functools.cache(compiler.libinfo)),
            tvm.transform.PassContext(
                opt_level=optimization, config={"relay.FuseOps.max_depth": MOST_FUSED}, disabled_pass=list(UNWANTED)
            ),
        ):
            library = relay.build(written(module), "llvm -opt-level=0")
        self._executor = GraphModule(library["default"](tvm.cpu()))

    def __call__(self, inputs: Mapping[str, npt.NDArray]) -> Arrays:
        self._executor.run(**inputs)
        return [self._executor.get_output(index).numpy() for index in range(self._executor.get_num_outputs())]


def executable(network: Graph | tvm.IRModule) -> Program:
    """What computes the outputs of a network as Relay: NumPy if it knows all operators, else TVM's code."""
    module = written(network)
    return partial(relay_numpy.outputs, module) if relay_numpy.knows(module) else Compiled(module)


def written(network: Graph | tvm.IRModule) -> tvm.IRModule:
    """A network as a Relay module."""
    return write_graph(network).module if isinstance(network, Graph) else network


def random_values(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> npt.NDArray:
    """Values over the whole range of an integer type, or standard normal ones."""
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max + 1, tuple(shape)).astype(dtype)
    return rng.normal(0, 1, tuple(shape)).astype(dtype)


def assert_same_outputs(before: tvm.IRModule, after: tvm.IRModule, samples: int = 4, seed: int = 0) -> None:
    """Both modules give the same outputs for the same random inputs."""
    first, second = executable(before), executable(after)
    rng = np.random.default_rng(seed)
    distinct: set[float] = set()
    for _ in range(samples):
        inputs = {
            parameter.name_hint: random_values(
                rng, [int(extent) for extent in parameter.checked_type.shape], str(parameter.checked_type.dtype)
            )
            for parameter in before["main"].params
        }
        for expected, found in zip(first(inputs), second(inputs), strict=True):
            np.testing.assert_array_equal(found, expected)
            distinct |= set(np.unique(expected).tolist())
    assert len(distinct) > 8, "the test's outputs hardly vary, so that it proves nothing"
