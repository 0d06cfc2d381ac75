"""Networks in integer form that earlier compilations made, found by the network that they were made of."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from match.compilation.stopwatch import Passed, unread
from match.files.kept import Kept, content, sources
from match.frontend.model import Model
from match.graph.stored import loaded, stored
from match.graph.value import Graph
from match.passes.pipeline import integer_network

STATIONS = "ir", "arithmetic", "graph", "quantized", "rewrites", "relay", "passes"
"""Packages of the compiler whose sources decide what becomes of a network."""

MOST_NETWORKS = 40
SUFFIX = ".network"


def kept_integer_network(
    model: Model,
    activations: Literal["uint8"] | None,
    folder: Path | None,
    *,
    exact: bool = True,
    quantize_recurrent: bool = False,
    passed: Passed = unread,
) -> Graph:
    """`integer_network`, read from the folder if an earlier compilation left it there, else left there for the next.

    Where passes are read (`passed`) it is made anew; so are those of a graph, which takes no longer than to find them.
    """
    if folder is None or passed is not unread or isinstance(model.network, Graph):
        return integer_network(model, activations, exact=exact, quantize_recurrent=quantize_recurrent, passed=passed)
    from match.relay.graph_reader import RelayFunction

    kept = Kept(folder, SUFFIX, MOST_NETWORKS)
    name = _name(model, activations, exact, quantize_recurrent)
    found = kept.look_up(name)
    if found is not None:
        return loaded(found, RelayFunction.of)
    network = integer_network(model, activations, exact=exact, quantize_recurrent=quantize_recurrent)
    kept.store([(name, stored(network))])
    return network


def _name(model: Model, activations: str | None, *asked: bool) -> str:
    """A digest of the network, of what was asked for, and of what makes integer form of it."""
    from match.relay import tvm

    compiler = hashlib.sha256(b"".join(map(content, sources(Path(__file__).parents[1], STATIONS)))).hexdigest()
    network = hashlib.sha256(tvm.ir.save_json(model.module).encode()).hexdigest()
    described = (compiler, tvm.__version__, np.__version__, network, model.rounding, activations, asked)
    return hashlib.sha256(msgspec.json.encode(described)).hexdigest()
