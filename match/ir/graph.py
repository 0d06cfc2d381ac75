"""A network as operators and the tensors between them, without TVM: what is chosen for, and what reports count."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tensor:
    """Values that one operator hands on to others, or that come from outside."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        """How many values it has."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """What it takes as a dense array; a bool takes a byte."""
        return self.elements * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Operator:
    """What a network computes in one step.

    name: its name in reports. op: what it is called there: a layer's operator, or the Relay names of what TVM makes one
        loop of.
    kind: the operator that the control core's cost model is asked for; with `floating`, one in floating point.
    macs: multiply-accumulates. combined: values that it combines to all of its outputs, by multiplication or not, which
        is what the cost model is asked for; a pool combines the values of its windows, a reduction all that it reads.
    outputs: elements that it computes.
    reads, writes: tensors, as places in the graph's list; each one once.
    source: what the model calls it, empty if that is not known. reference: whether the control core is known to compute
        the reference's numbers. rows: how many pixels a function of a pixel (`BY_PIXEL`) has; 1 of anything else.
    """

    name: str
    op: str
    kind: str
    macs: int
    combined: int
    outputs: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    floating: bool = False
    source: str = ""
    reference: bool = True
    rows: int = 1


@dataclass(frozen=True)
class Graph:
    """A network: operators in an order of execution, the tensors they read and write, and those it hands out.

    What no operator writes comes from outside: inputs of the network, and constants.
    """

    operators: tuple[Operator, ...]
    tensors: tuple[Tensor, ...]
    outputs: tuple[int, ...]
