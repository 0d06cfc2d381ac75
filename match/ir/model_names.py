"""What a model calls its tensors."""

from __future__ import annotations

_ADDED = "_QuantizeLinear", "_DequantizeLinear"


def tensor_of(operator: str) -> str:
    """The name of the tensor that an operator computes, by the operator's own name.

    onnxruntime calls the operators that it adds by the tensors that they are for.
    """
    for added in _ADDED:
        operator = operator.removesuffix(added)
    return operator
