"""Networks for modules that requantize by shifts alone: the rest of each scale goes into weights and biases.

What comes out is another network, layer by layer close to the given one: `Rescaled` says how close.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from match.errors import OptionError
from match.ir.dtypes import value_range
from match.ir.requantization import Requantizer
from match.passes.moved import Moved
from match.passes.odd_filters import with_odd_filters
from match.passes.stored_scales import MOVES, SIGNED, UNSIGNED, Stored, Tensor, origin, stored_scales, values
from match.relay import integer_form, relay, tvm
from match.relay.objects import operands
from match.relay.operators import Accumulation, Addition, Average, Convolution, Dense
from match.relay.readers import read_addition, read_layer, read_lookup
from match.relay.rewrite import New, dtype, is_call, named, rewrite, shape
from match.requantize.folded import fold, line
from match.target.hardware import MatchTarget

_SAMPLES = 256
"""Sums that an operator is measured with."""

_FINE = 16
"""The shift of an addition whose operands have another scale than the sum."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rescaled:
    """A network in integer form, types inferred, and the operators in it that compute something else than before."""

    module: tvm.IRModule
    moved: Mapping[relay.Expr, Moved]


def _shift_form(target: MatchTarget) -> Requantizer:
    """The form of requantization of a target's modules that shifts alone; of sums without a bias there is another."""
    for module in target.modules:
        for form in module.requantizers:
            if not form.multiplier_bits and form.bias_bits and {SIGNED, UNSIGNED} <= set(form.clips):
                return form
    raise OptionError(
        f"rescale is for modules that requantize by shifts alone, and {target.name} has none among those asked for; "
        "leave it out."
    )


def rescaled_for(module: tvm.IRModule, target: MatchTarget) -> Rescaled:
    """A network in integer form, whose convolutions, dense layers and additions need shifts alone.

    Raises:
        OptionError: no module of the target has that form of requantization.
    """
    form = _shift_form(target)
    module = with_odd_filters(module)
    rescaling = _Rescaling(stored_scales(module), form)
    outputs: list[relay.Expr] = []

    def output(expr: relay.Expr, new: New) -> relay.Expr:
        outputs.append(rescaling.plain(expr, new))
        return outputs[-1]

    typed = rewrite(module, rescaling.rule, output)
    body = typed["main"].body
    before = _calls(relay.Tuple(outputs) if isinstance(body, relay.Tuple) else outputs[0])
    pairs = zip(before, _calls(body), strict=True)  # inferring types keeps the order of operators
    return Rescaled(typed, {after: rescaling.moved[call] for call, after in pairs if call in rescaling.moved})


class _Rescaling:
    """What has been rescaled so far; `moved` is by new expression."""

    def __init__(self, stored: Mapping[Tensor, Stored], form: Requantizer) -> None:
        self.moved: dict[relay.Expr, Moved] = {}
        self._stored, self._form = stored, form
        self._written: set[relay.Expr] = set()
        self._converted: dict[tuple[relay.Expr, bool], relay.Expr] = {}

    def rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        layer, addition = read_layer(call), read_addition(call)
        if layer is not None and (call in self._stored or origin(layer.x) in self._stored):
            return self._layer(call, layer, new)
        if addition is not None:
            return self._addition(call, addition, new)
        lookup = read_lookup(call)
        if lookup is not None and call in self._stored:
            self._written.add(call)
            kept = self._stored[call]
            outputs = kept.of(lookup.outputs)
            built = replace(lookup, outputs=outputs, dtype="int8").build(self.plain(lookup.x, new))
            return self._named(built, call, np.abs(kept.values(outputs) - lookup.outputs))
        if is_call(call, *MOVES) and origin(call) in self._stored and origin(call) in self._written:
            self._written.add(call)
            return relay.Call(call.op, [new(call.args[0]), *map(new, call.args[1:])], call.attrs)
        if any(self._is_written(tensor) for argument in call.args for tensor in (argument, *operands(argument))):
            arguments = [self.plain(argument, new) for argument in call.args]
            return relay.Call(call.op, arguments, call.attrs, call.type_args, call.span)
        return None

    def plain(self, expr: relay.Expr, new: New) -> relay.Expr:
        """The replacement of an expression with the values that it had."""
        if isinstance(expr, relay.Tuple):
            return relay.Tuple([self.plain(field, new) for field in expr.fields])
        if not self._is_written(expr):
            return new(expr)
        kept = self._stored[origin(expr)]
        if kept.same and dtype(expr) == "int8":
            return new(expr)
        levels = np.arange(-128, 128)
        table = np.clip(np.floor(kept.values(levels) + 0.5), *value_range(dtype(expr))).astype(np.int64)
        return self._conversion(expr, False, lambda: integer_form.lookup(new(expr), table, "int8", dtype(expr)))

    def _kept(self, expr: relay.Expr, new: New) -> relay.Expr:
        """The replacement of an expression as it is stored."""
        kept = self._stored.get(origin(expr))
        if kept is None or self._is_written(expr) or (kept.same and dtype(expr) == "int8"):
            return new(expr)
        levels = np.arange(256) + value_range(dtype(expr))[0]
        outputs = kept.of(levels)
        built = self._conversion(expr, True, lambda: integer_form.lookup(new(expr), outputs, dtype(expr), "int8"))
        self._measure(built, np.abs(kept.values(outputs) - levels))
        return built

    def _is_written(self, expr: relay.Expr) -> bool:
        return expr in self._written

    def _conversion(self, expr: relay.Expr, stored: bool, build: Callable[[], relay.Expr]) -> relay.Expr:
        if (expr, stored) not in self._converted:
            self._converted[expr, stored] = named(build(), expr)
        return self._converted[expr, stored]

    def _of(self, expr: relay.Expr) -> Stored:
        return self._stored.get(origin(expr)) or Stored(1.0, 0.0, values(expr))

    def _layer(self, call: relay.Call, layer: Accumulation, new: New) -> relay.Expr:
        """A layer whose sums are of stored inputs and become stored outputs."""
        x, y = self._of(layer.x), self._of(call)
        own = layer.requantization
        factor = own.multiplier / 2.0**own.shift
        rows = _rows(layer)
        slope = y.factor / x.factor * factor
        bias = y.factor * (own.bias / 2.0**own.shift - 0.5) + y.offset - slope * x.offset * rows.sum(axis=(1, 2))
        if call in self._stored:
            self._written.add(call)
        if isinstance(layer, Average):
            weights, requantization = rows, line(slope, bias, y.clip)
            changed: Accumulation = replace(layer, requantization=requantization, dtype=self._type(call))
        else:
            folded = fold(rows * slope[:, None, None], bias, x.clip, y.clip, self._form)
            weights, requantization = folded.weights.astype(np.int64), folded.requantization
            changed = _with_weights(layer, folded.weights, x)
            changed = replace(changed, requantization=requantization, dtype="int8")
        drawn = _drawn(layer.x, (_SAMPLES, rows[0].size))
        wanted = own(drawn @ rows.reshape(len(rows), -1).T)
        got = y.values(requantization(x.of(drawn) @ weights.reshape(len(rows), -1).T))
        return self._named(changed.build(self._kept(layer.x, new)), call, np.abs(got - wanted))

    def _type(self, call: relay.Call) -> str:
        return "int8" if call in self._stored else dtype(call)

    def _addition(self, call: relay.Call, addition: Addition, new: New) -> relay.Expr:
        """Stored operands added as they are, unless their scales could not be made one."""
        copies = [self._stored.get((call, origin(operand))) for operand in addition.operands]
        parts = [copy or self._of(operand) for copy, operand in zip(copies, addition.operands, strict=True)]
        y = self._of(call)
        self._written.add(call)
        slopes = [
            y.factor * multiplier / 2.0**addition.shift / part.factor
            for part, multiplier in zip(parts, addition.multipliers, strict=True)
        ]
        bias = y.factor * (addition.bias / 2.0**addition.shift - 0.5) + y.offset
        bias -= sum(slope * part.offset for slope, part in zip(slopes, parts, strict=True))
        equal = np.allclose(slopes, 1.0, atol=0.01)
        shift = 0 if equal and abs(bias) < 1.0 else _FINE
        first, second = (round(slope * 2**shift) for slope in slopes)
        constant = 0 if shift == 0 else round((bias + 0.5) * 2**shift)
        changed = Addition(
            addition.operands, multipliers=(first, second), bias=constant, shift=shift, clip=y.clip, dtype="int8"
        )
        drawn = [_drawn(operand, (_SAMPLES * 16,), seed) for seed, operand in enumerate(addition.operands)]
        wanted = _sum(addition, drawn)
        got = y.values(_sum(changed, [part.of(values) for part, values in zip(parts, drawn, strict=True)]))
        first_x, second_x = (
            self._copy(operand, copy, new) if copy else self._kept(operand, new)
            for operand, copy in zip(addition.operands, copies, strict=True)
        )
        return self._named(changed.build(first_x, second_x), call, np.abs(got - wanted))

    def _copy(self, expr: relay.Expr, wanted: Stored, new: New) -> relay.Expr:
        """A tensor at another scale: a depthwise convolution of one pixel."""
        kept, channels = self._of(expr), shape(expr)[3]
        slope = wanted.factor / kept.factor
        real, bias = np.full((channels, 1, 1), slope), np.full(channels, wanted.offset - slope * kept.offset)
        folded = fold(real, bias, kept.clip, wanted.clip, self._form)
        built = integer_form.conv2d(
            self._kept(expr, new),
            folded.weights.reshape(1, 1, channels, 1),
            folded.requantization,
            "int8",
            x_dtype="int8",
            groups=channels,
            kernel_layout="HWOI",
        )
        levels = np.arange(kept.clip[0], kept.clip[1] + 1)
        got = folded.requantization(levels[:, None] * folded.weights[:1, 0, 0].astype(np.int64))[:, :1]
        return self._named(built, expr, np.abs(wanted.values(got) - kept.values(levels)[:, None]))

    def _named(self, built: relay.Expr, expr: relay.Expr, distance: Floats) -> relay.Expr:
        result = named(built, expr)
        self._measure(result, distance)
        return result

    def _measure(self, built: relay.Expr, distance: Floats) -> None:
        if distance.any():
            self.moved[built] = Moved(float(distance.max()), float(distance.mean()))


def _sum(addition: Addition, operands: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    first, second = (m * values for m, values in zip(addition.multipliers, operands, strict=True))
    return addition.requantization((first + second)[:, None])[:, 0]


def _rows(layer: Accumulation) -> npt.NDArray[np.int64]:
    """What each output channel sums with: (channels, inputs, taps)."""
    channels = layer.requantization.channels
    if isinstance(layer, Average):
        return np.ones((channels, 1, layer.window[0] * layer.window[1]), np.int64)
    if isinstance(layer, Dense):
        return layer.weights[:, :, None].astype(np.int64)
    taps = layer.weights.shape[0] * layer.weights.shape[1]
    return layer.weights.reshape(taps, -1, channels).transpose(2, 1, 0).astype(np.int64)


def _with_weights(layer: Convolution | Dense, rows: npt.NDArray[np.int8], x: Stored) -> Convolution | Dense:
    if isinstance(layer, Dense):
        return replace(layer, weights=rows[:, :, 0])
    pad_value = int(x.of(np.array(layer.pad_value))) if any(layer.padding) else 0
    return replace(
        layer, weights=rows.transpose(2, 1, 0).reshape(layer.weights.shape), pad_value=pad_value, x_dtype="int8"
    )


def _drawn(x: relay.Expr, size: tuple[int, ...], seed: int = 0) -> npt.NDArray[np.int64]:
    """Random values of a tensor, all alike likely."""
    low, high = values(origin(x))
    return np.random.default_rng(seed).integers(low, high + 1, size)


def _calls(body: relay.Expr) -> list[relay.Call]:
    calls: list[relay.Call] = []

    def visit(node: Any) -> None:
        if isinstance(node, relay.Call):
            calls.append(node)

    relay.analysis.post_order_visit(body, visit)
    return calls
