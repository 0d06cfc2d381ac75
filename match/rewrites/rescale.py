"""Networks for modules that requantize by shifts alone: the rest of each scale goes into weights and biases.

What comes out is another network, layer by layer close to the given one: `Value.deviation` says how close.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.errors import OptionError
from match.graph.elements import Lookup
from match.graph.pairs import Addition
from match.graph.rewrite import rewrite
from match.graph.sums import Accumulation, Average, Convolution, Dense
from match.graph.value import Graph, Value, computed
from match.ir.deviation import Deviation
from match.ir.dtypes import levels, value_range
from match.ir.layer import Padding
from match.ir.requantization import Int64Array, Requantizer
from match.requantize.folded import fold, line
from match.rewrites.odd_filters import with_odd_filters
from match.rewrites.stored_scales import (
    SIGNED,
    UNSIGNED,
    Stored,
    Tensor,
    is_stored_as_input,
    limits,
    origin,
    stored_scales,
)
from match.target.hardware import MatchTarget

_SAMPLES = 256
"""Sums that an operator is measured with."""

_FINE = 16
"""The shift of an addition whose operands have another scale than the sum."""

Floats = npt.NDArray[np.float64]

_NARROW = "int8", "uint8"
_NOTHING = np.zeros(1)


def rescaled(graph: Graph, target: MatchTarget) -> Graph:
    """A network in integer form, whose convolutions, dense layers and additions need shifts alone.

    Raises:
        OptionError: no module of the target has that form of requantization.
    """
    form = _shift_form(target)
    graph = with_odd_filters(graph)
    rescaling = _Rescaling(stored_scales(graph), form)
    changed = rewrite(graph, rescaling.rule)
    outputs = (rescaling.plain(*pair) for pair in zip(changed.outputs, graph.outputs, strict=True))
    return replace(graph, outputs=tuple(outputs))


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


class _Rescaling:
    """What has been rescaled so far, by the values of the network given; what a value became stands beside it."""

    def __init__(self, stored: Mapping[Tensor, Stored], form: Requantizer) -> None:
        self._stored, self._form = stored, form
        self._written: set[Value] = set()
        self._converted: dict[tuple[Value, bool], Value] = {}

    def rule(self, value: Value, original: Value) -> Value:
        """A value as it is stored, if it is, computed from inputs that are stored so, or as they were."""
        operator = original.operator
        match operator:
            case Accumulation() if original.dtype in _NARROW and self._is_stored(original):
                return self._layer(value, original, operator)
            case Addition():
                return self._addition(value, original, operator)
            case Lookup() if original in self._stored:
                self._written.add(original)
                kept = self._stored[original]
                outputs = kept.of(operator.outputs)
                changed = replace(operator, outputs=outputs, dtype="int8")
                made = _made(value, changed, (self.plain(value.inputs[0], original.inputs[0]),))
                return _measured(made, np.abs(kept.values(outputs) - operator.outputs))
            case _ if is_stored_as_input(operator) and origin(original) in self._written:
                self._written.add(original)
                return replace(value, tensor=replace(value.tensor, dtype=value.inputs[0].dtype))
            case _:
                pairs = zip(value.inputs, original.inputs, strict=True)
                return replace(value, inputs=tuple(self.plain(*pair) for pair in pairs)) if value.inputs else value

    def _is_stored(self, layer: Value) -> bool:
        return layer in self._stored or origin(layer.inputs[0]) in self._stored

    def plain(self, value: Value, original: Value) -> Value:
        """What became of a value, with the numbers that it had."""
        if original not in self._written:
            return value
        kept = self._stored[origin(original)]
        if kept.same and original.dtype == "int8":
            return value
        numbers = np.clip(np.floor(kept.values(levels("int8")) + 0.5), *value_range(original.dtype))
        return self._conversion(value, original, False, numbers.astype(np.int64), original.dtype)

    def _kept(self, value: Value, original: Value) -> Value:
        """What became of a value, as it is stored."""
        kept = self._stored.get(origin(original))
        if kept is None or original in self._written or (kept.same and original.dtype == "int8"):
            return value
        numbers = levels(original.dtype)
        outputs = kept.of(numbers)
        distance = np.abs(kept.values(outputs) - numbers)
        return self._conversion(value, original, True, outputs, "int8", distance)

    def _conversion(
        self, value: Value, original: Value, stored: bool, outputs: Int64Array, dtype: str, distance: Floats = _NOTHING
    ) -> Value:
        """A table on what became of a value; `stored` says whether its result is as the value is stored."""
        if (original, stored) not in self._converted:
            source = original.source if original.operator is not None else ""
            lookup = Lookup(outputs=outputs, dtype=dtype)
            self._converted[original, stored] = _measured(computed(lookup, value, source=source), distance)
        return self._converted[original, stored]

    def _of(self, original: Value) -> Stored:
        return self._stored.get(origin(original)) or Stored(1.0, 0.0, limits(original))

    def _layer(self, value: Value, original: Value, layer: Accumulation) -> Value:
        """A layer whose sums are of stored inputs and become stored outputs."""
        (before,) = original.inputs
        x, y = self._of(before), self._of(original)
        own = layer.requantization
        factor = own.multiplier / 2.0**own.shift
        rows = _rows(layer)
        slope = y.factor / x.factor * factor
        bias = y.factor * (own.bias / 2.0**own.shift - 0.5) + y.offset - slope * x.offset * rows.sum(axis=(1, 2))
        if original in self._stored:
            self._written.add(original)
        if isinstance(layer, (Convolution, Dense)):
            folded = fold(rows * slope[:, None, None], bias, x.clip, y.clip, self._form)
            weights, requantization = folded.weights.astype(np.int64), folded.requantization
            changed: Accumulation = _with_weights(layer, folded.weights, x)
            changed = replace(changed, requantization=requantization, dtype="int8")
        else:
            weights, requantization = rows, line(slope, bias, y.clip)
            dtype = "int8" if original in self._stored else original.dtype
            changed = replace(layer, requantization=requantization, dtype=dtype)
        drawn = _drawn(before, (_SAMPLES, rows[0].size))
        wanted = own(drawn @ rows.reshape(len(rows), -1).T)
        got = y.values(requantization(x.of(drawn) @ weights.reshape(len(rows), -1).T))
        made = _made(value, changed, (self._kept(value.inputs[0], before),))
        return _measured(made, np.abs(got - wanted))

    def _addition(self, value: Value, original: Value, addition: Addition) -> Value:
        """Stored operands added as they are, unless their scales could not be made one."""
        copies = [self._stored.get((original, origin(operand))) for operand in original.inputs]
        parts = [copy or self._of(operand) for copy, operand in zip(copies, original.inputs, strict=True)]
        y = self._of(original)
        self._written.add(original)
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
        changed = Addition(multipliers=(first, second), bias=constant, shift=shift, clip=y.clip, dtype="int8")
        drawn = [_drawn(operand, (_SAMPLES * 16,), seed) for seed, operand in enumerate(original.inputs)]
        wanted = _sum(addition, drawn)
        got = y.values(_sum(changed, [part.of(values) for part, values in zip(parts, drawn, strict=True)]))
        inputs = [
            self._copy(now, operand, copy) if copy else self._kept(now, operand)
            for now, operand, copy in zip(value.inputs, original.inputs, copies, strict=True)
        ]
        return _measured(_made(value, changed, tuple(inputs)), np.abs(got - wanted))

    def _copy(self, value: Value, original: Value, wanted: Stored) -> Value:
        """A tensor at another scale: a depthwise convolution of one pixel."""
        kept, channels = self._of(original), original.shape[3]
        slope = wanted.factor / kept.factor
        real, bias = np.full((channels, 1, 1), slope), np.full(channels, wanted.offset - slope * kept.offset)
        folded = fold(real, bias, kept.clip, wanted.clip, self._form)
        convolution = Convolution(
            weights=folded.weights.reshape(1, 1, channels, 1),
            requantization=folded.requantization,
            dtype="int8",
            strides=(1, 1),
            padding=Padding(),
            dilation=(1, 1),
            groups=channels,
            pad_value=0,
            kernel_layout="HWOI",
        )
        numbers = np.arange(kept.clip[0], kept.clip[1] + 1)
        got = folded.requantization(numbers[:, None] * folded.weights[:1, 0, 0].astype(np.int64))[:, :1]
        made = computed(convolution, self._kept(value, original), source=original.source)
        return _measured(made, np.abs(wanted.values(got) - kept.values(numbers)[:, None]))


def _made(value: Value, operator: Accumulation | Addition | Lookup, inputs: tuple[Value, ...]) -> Value:
    """A value computed by another operator from other inputs."""
    return replace(value, tensor=operator.result(*(x.tensor for x in inputs)), operator=operator, inputs=inputs)


def _measured(value: Value, distance: Floats) -> Value:
    """A value with how far its numbers are from the model's."""
    if not distance.any():
        return value
    return replace(value, deviation=Deviation(float(distance.max()), float(distance.mean())))


def _sum(addition: Addition, operands: list[Int64Array]) -> Int64Array:
    first, second = (m * values for m, values in zip(addition.multipliers, operands, strict=True))
    return addition.requantization((first + second)[:, None])[:, 0]


def _rows(layer: Accumulation) -> Int64Array:
    """What each output channel sums with: (channels, inputs, taps)."""
    channels = layer.requantization.channels
    match layer:
        case Dense():
            return layer.weights[:, :, None].astype(np.int64)
        case Convolution():
            taps = layer.weights.shape[0] * layer.weights.shape[1]
            return layer.weights.reshape(taps, -1, channels).transpose(2, 1, 0).astype(np.int64)
        case Average():
            return np.ones((channels, 1, layer.window[0] * layer.window[1]), np.int64)
        case _:
            raise AssertionError("sums are those of convolutions, dense layers and averages")


def _with_weights(layer: Convolution | Dense, rows: npt.NDArray[np.int8], x: Stored) -> Convolution | Dense:
    if isinstance(layer, Dense):
        return replace(layer, weights=rows[:, :, 0])
    pad_value = int(x.of(np.array(layer.pad_value))) if any(layer.padding) else 0
    return replace(layer, weights=rows.transpose(2, 1, 0).reshape(layer.weights.shape), pad_value=pad_value)


def _drawn(x: Value, size: tuple[int, ...], seed: int = 0) -> Int64Array:
    """Random numbers that a tensor can have, all alike likely."""
    low, high = limits(origin(x))
    return np.random.default_rng(seed).integers(low, high + 1, size)
