"""A network as one C function of its tensors, which has main memory for as long as it runs."""

from __future__ import annotations

from match.codegen.c_text import comment, render, values, wrap
from match.codegen.layer import prototype
from match.codegen.literal_text import c_type, numbers
from match.codegen.main_text import MainText
from match.codegen.network import Network
from match.codegen.steps import CONSTANT_ALIGNMENT
from match.target.hardware import TargetApi


def function_text(network: Network, symbol: str, api: TargetApi | None = None) -> str:
    """The C of ``int32_t symbol(const void *input_0, ..., void *output_0, ...)``, which calls the network's layers.

    The network has everything in main memory, where `api` reserves what it needs beside its inputs and outputs; one
    that needs nothing and has no layers can do without.
    """
    inputs = [f"input_{number}" for number in range(len(network.inputs))]
    outputs = [f"output_{number}" for number in range(len(network.outputs))]
    context = {
        "network": network,
        "symbol": symbol,
        "api": api,
        "main": MainText(network, [*(f"(void *){name}" for name in inputs), *outputs]),
        "parameters": ", ".join([*(f"const void *{name}" for name in inputs), *(f"void *{name}" for name in outputs)]),
        "arguments": ", ".join([*inputs, *outputs]),
        "constant_alignment": CONSTANT_ALIGNMENT,
        "c_type": c_type,
        "comment": comment,
        "numbers": numbers,
        "prototype": prototype,
        "values": values,
    }
    return wrap(render("function.c.mako", **context))
