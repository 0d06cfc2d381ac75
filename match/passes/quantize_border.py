"""What is left of QNN around the integers: quantize and dequantize at the border, operators without integer form."""

from __future__ import annotations

from dataclasses import dataclass

from match.frontend.model import Rounding
from match.ir.float_border import FloatQuantization
from match.relay import relay, tvm
from match.relay.float_arithmetic import quantized
from match.relay.plain import without_qnn
from match.relay.rewrite import New, dtype, is_call, rewrite, scalar

_TYPES = ("int8", "uint8", "int16")


@dataclass(frozen=True)
class LowerBorder:
    """Writes quantize with the reference's rounding in plain operators and leaves all other QNN operators to TVM."""

    rounding: Rounding

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"; afterwards no QNN operator is left.

        Raises:
            ModelError: TVM cannot express an operator that is left over with its parameters.
        """
        return without_qnn(rewrite(module, self._rule))

    def _rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        if not is_call(call, "qnn.quantize") or dtype(call) not in _TYPES:
            return None
        scale, zero_point = scalar(call.args[1]), scalar(call.args[2])
        if scale is None or zero_point is None or dtype(call.args[0]) != "float32":
            return None
        even = self.rounding == Rounding.ONNXRUNTIME
        return quantized(new(call.args[0]), FloatQuantization(scale, int(zero_point), dtype(call), even))
