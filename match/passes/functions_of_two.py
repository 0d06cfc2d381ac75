"""An element-wise function of two 8-bit tensors of Relay in one of the forms of `match.quantized.functions_of_two`."""

from __future__ import annotations

from match.graph.value import Value
from match.ir.graph import Tensor
from match.ir.requantization import Int64Array
from match.quantized import functions_of_two
from match.relay import relay
from match.relay.fragments import relay_of


def function_of_two(
    a: relay.Expr,
    b: relay.Expr,
    outputs: Int64Array,
    dtypes: tuple[str, str],
    slopes: tuple[float, float],
    clip: tuple[int, int],
    dtype: str,
    *,
    exact: bool = True,
    real: bool = False,
) -> relay.Expr:
    """The function of expressions, typed or not, of tensors of `dtypes`; other arguments are as there.

    Args:
        a: the first tensor.
        b: the second one.
        outputs: for every pair of levels, shape (256, 256).
        dtypes: of the two tensors.
        slopes: what an output grows by with each of them.
        clip: what outputs are clipped to.
        dtype: of the outputs.
        exact: False takes a plane within one step where there is one, before tables.
        real: the outputs may themselves be a step off the reference's (`match.relay.integer_form.real_sums`).
    """
    first, second = (Value(Tensor((1,), each)) for each in dtypes)  # forms are the same for all shapes
    form = functions_of_two.function_of_two(
        first, second, outputs, slopes, clip, dtype, close=not exact, exact=not real
    )
    return relay_of(form, {first: a, second: b})
