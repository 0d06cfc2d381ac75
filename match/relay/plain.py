"""QNN operators as what TVM makes of them."""

from __future__ import annotations

from match.errors import ModelError
from match.relay import relay, tvm


def qnn_operators(module: tvm.IRModule) -> list[str]:
    """Names of the module's QNN operators."""
    return sorted(name for name in map(str, relay.analysis.list_op_freqs(module)) if name.startswith("qnn."))


def without_qnn(module: tvm.IRModule) -> tvm.IRModule:
    """A module without QNN operators, types inferred.

    Raises:
        ModelError: TVM cannot express one with its parameters.
    """
    names = qnn_operators(module)
    if not names:
        return module
    try:
        with tvm.target.Target("c"):  # a requantization in floating point asks what the processor can do
            return relay.qnn.transform.CanonicalizeOps()(relay.transform.InferType()(module))
    except tvm.TVMError as error:
        what = f"the model's {', '.join(names)} cannot be compiled with these parameters; change them"
        raise ModelError(what) from error
