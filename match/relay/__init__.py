"""TVM, imported in one place.

TVM looks for tuning logs on the network while it is imported; `TOPHUB_LOCATION` tells it not to. It makes a folder for
data of its own tests in the user's home, which may not be writable; `TEST_DATA_ROOT_PATH` names one that is there.
Every module that works on Relay imports `tvm` and `relay` from here, and no core type does, so that `import match`
stays fast.

TVM has one table of all operators, which it fills when it is imported. The operator of MATCH is added here, at the same
time: whoever reads a network from a file, TVM itself included, looks it up there and cannot be asked to add it first.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

os.environ.setdefault("TOPHUB_LOCATION", "NONE")
os.environ.setdefault("TEST_DATA_ROOT_PATH", tempfile.gettempdir())

import tvm
from tvm import relay

__all__ = ["LSTM", "relay", "tvm"]

LSTM = "match.lstm"
"""The operator of `match.relay.lstm`, of which TVM knows types alone."""

_LSTM_ARGUMENTS = ("x", "input_weights", "state_weights", "offsets", "scales", "cell", "zero")


def _lstm_type(types: Any, _attributes: Any) -> Any:
    """The states of all steps, in the type of the zero point."""
    x, weights, *_, zero = types[: len(_LSTM_ARGUMENTS)]
    return relay.TensorType((*x.shape[:2], weights.shape[1]), zero.dtype)


def _declare_lstm() -> None:
    registry = relay.op.op
    registry.register(LSTM)
    operator = registry.get(LSTM)
    operator.set_num_inputs(len(_LSTM_ARGUMENTS))
    for name in _LSTM_ARGUMENTS:
        operator.add_argument(name, "Tensor", "")
    operator.add_type_rel("MatchLstm", _lstm_type)
    registry.register_pattern(LSTM, registry.OpPattern.OPAQUE)
    registry.register_stateful(LSTM, True)  # else TVM would compute one of constants by itself


_declare_lstm()
