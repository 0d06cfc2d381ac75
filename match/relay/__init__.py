"""TVM, imported in one place.

TVM looks for tuning logs on the network while it is imported; `TOPHUB_LOCATION` tells it not to. It makes a folder for
data of its own tests in the user's home, which may not be writable; `TEST_DATA_ROOT_PATH` names one that is there.
Every module that works on Relay imports `tvm` and `relay` from here, and no core type does, so that `import match`
stays fast.

TVM has one table of all operators, which it fills when it is imported. Operators of MATCH are added here, at the same
time: whoever reads a network from a file, TVM itself included, looks them up there, and cannot be asked to add them
first.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

os.environ.setdefault("TOPHUB_LOCATION", "NONE")
os.environ.setdefault("TEST_DATA_ROOT_PATH", tempfile.gettempdir())

import tvm
from tvm import relay

__all__ = ["GRU", "GRU_RESET_FIRST", "LSTM", "relay", "tvm"]

LSTM = "match.lstm"
GRU = "match.gru"
GRU_RESET_FIRST = "match.gru_reset_first"
"""The operators of the modules `lstm` and `gru` beside this one: TVM knows their types alone."""

_LAYER_ARGUMENTS = ("x", "input_weights", "state_weights", "offsets", "scales", "own", "moved", "zero")


def _layer_type(types: Any, _attributes: Any) -> Any:
    """The states of all steps, in the type of the zero point."""
    x, weights, *_, zero = types[: len(_LAYER_ARGUMENTS)]
    return relay.TensorType((*x.shape[:2], weights.shape[1]), zero.dtype)


def _declare(name: str, arguments: tuple[str, ...], result: Any) -> None:
    """An operator of tensors and what finds the type of its result."""
    registry = relay.op.op
    registry.register(name)
    operator = registry.get(name)
    operator.set_num_inputs(len(arguments))
    for argument in arguments:
        operator.add_argument(argument, "Tensor", "")
    operator.add_type_rel(name.title().replace(".", "").replace("_", ""), result)
    registry.register_pattern(name, registry.OpPattern.OPAQUE)
    registry.register_stateful(name, True)  # else TVM would compute one of constants by itself


for _name in (LSTM, GRU, GRU_RESET_FIRST):
    _declare(_name, _LAYER_ARGUMENTS, _layer_type)
