"""Weights in fewer bits, layer by layer, where a module is faster with them.

Predicted cycles of a layer depend on its own bits, so that seven predictions, each with one number of bits for all
weights, tell what each layer would save; of layers that a module executes as one, a prediction with each alone in fewer
bits tells the shares. What it would cost is measured: the noise at the outputs with this layer alone
in fewer bits. Then layers become narrower one after the other, always the one that saves most cycles for the noise that
it adds, as long as the whole network, measured anew after each, does not lose more than is allowed. A step that would
lose more is not tried again. That is done twice: beginning with 8 bits for all, and with the fewest that all layers can
have together, since noise does not simply add up; the network with the least predicted cycles is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from match.compilation.stopwatch import Progress
from match.errors import OptionError
from match.ir.layer import WIDEST_WEIGHTS
from match.quantizing.accuracy import classes, computed, sqnr
from match.quantizing.layers import weights_by_output
from match.quantizing.quantizer import NARROWEST, Quantizer
from match.quantizing.samples import Samples
from match.quantizing.schema import Narrowing
from match.report import Report
from match.target.arguments import is_a, shown
from match.validation.exact_session import exact_session

Array = npt.NDArray[Any]
_LOST_SHARE, _LOST_DB = 0.01, 3.0
_SHARED = 4
"""Bits with which it is found out what each layer saves of several that a module executes as one."""


@dataclass(frozen=True)
class Bounds:
    """How much may be lost: a share of the samples that are classified right, or dB of the outputs' SQNR."""

    allowed: float
    labelled: bool

    @classmethod
    def of(cls, loss: Any, labelled: bool) -> Bounds:
        """What is allowed, or what is if nothing is said.

        Raises:
            OptionError: it is no such number.
        """
        if loss is None:
            return cls(_LOST_SHARE if labelled else _LOST_DB, labelled)
        if not is_a(loss, int, float, np.integer, np.floating) or not 0 <= loss < (1 if labelled else np.inf):
            what = (
                "a share of the samples, from 0 to 1" if labelled else "a number of dB from 0, as there are no labels"
            )
            raise OptionError(f"the loss that is allowed is {what}, not {shown(loss)}; give another.")
        return cls(float(loss), labelled)


@dataclass(frozen=True, eq=False)
class _Unit:
    """Weights that may become narrower, by their name.

    `saved` are the predicted cycles that each number of bits saves, `noise` is what it adds to the outputs' power.
    """

    name: str
    saved: Mapping[int, float]
    noise: Mapping[int, float]


def narrowed(
    quantizer: Quantizer,
    bounds: Bounds,
    samples: Samples,
    real: Sequence[Array],
    predict: Callable[[onnx.ModelProto], Report],
    finished: Callable[[onnx.ModelProto], onnx.ModelProto],
    progress: Progress,
) -> tuple[Mapping[str, int], Narrowing]:
    """The bits of each weight, by its name, and what they bring.

    Args:
        quantizer: quantizes the network.
        bounds: what may be lost.
        samples: on which it is measured.
        real: the float model's outputs for these.
        predict: predicts the cycles of a quantized network.
        finished: makes what the quantizer gives a network as it will be compiled.
        progress: is told what is under way.
    """
    trials = _Trials(quantizer, samples, real, finished)
    names = trials.names
    reports: dict[int, Report] = {}
    for bits in range(WIDEST_WEIGHTS, NARROWEST - 1, -1):
        progress(f"predicting weights of {bits} bits")
        reports[bits] = predict(trials.network(dict.fromkeys(names, bits)))
    base = trials.measured(dict.fromkeys(names, WIDEST_WEIGHTS))
    units = list(_units(trials, reports, predict, base, progress))
    search = _Search(trials, units, base, bounds, progress)
    chosen, cycles = dict.fromkeys(names, WIDEST_WEIGHTS), reports[WIDEST_WEIGHTS].totals.cycles
    loss, least = 0.0, cycles
    for start in search.starts():
        found = search.narrowed(start)
        predicted = predict(trials.network(found.bits)).totals.cycles
        if predicted < least:  # layers are not quite independent of each other
            chosen, loss, least = found.bits, found.loss, predicted
    return chosen, Narrowing(cycles_in_8_bits=cycles, allowed=bounds.allowed, loss=loss)


@dataclass(frozen=True, eq=False)
class _Found:
    """Bits of all weights, and what they lose."""

    bits: Mapping[str, int]
    loss: float


@dataclass(frozen=True, eq=False)
class _Search:
    """Layers that may become narrower, and the network that they are part of."""

    trials: _Trials
    units: Sequence[_Unit]
    base: _Measured
    bounds: Bounds
    progress: Progress

    def starts(self) -> Iterator[Mapping[_Unit, int]]:
        """All layers in 8 bits; and in the fewest that all of them can have together, within the bounds."""
        yield dict.fromkeys(self.units, WIDEST_WEIGHTS)
        for bits in range(NARROWEST, WIDEST_WEIGHTS):
            state = {unit: bits if bits in unit.saved else WIDEST_WEIGHTS for unit in self.units}
            if set(state.values()) != {WIDEST_WEIGHTS} and self._loss(state) <= self.bounds.allowed:
                yield state
                return

    def narrowed(self, start: Mapping[_Unit, int]) -> _Found:
        """The bits after all steps that the bounds allow, always that which saves most cycles for its noise."""
        state, loss = dict(start), self._loss(start)
        refused: set[tuple[_Unit, int]] = set()
        while moves := [
            (unit, bits)
            for unit, now in state.items()
            for bits in unit.saved
            if bits < now and unit.saved[bits] > unit.saved.get(now, 0) and (unit, bits) not in refused
        ]:
            narrow = sum(bits < WIDEST_WEIGHTS for bits in state.values())
            self.progress(f"narrowing weights, {narrow} of {len(state)}")
            unit, bits = max(moves, key=lambda move: _worth(*move, state[move[0]]))
            lost = self._loss({**state, unit: bits})
            if lost > self.bounds.allowed:
                refused.add((unit, bits))
            else:
                state[unit], loss = bits, lost
        return _Found(self._bits(state), loss)

    def _bits(self, state: Mapping[_Unit, int]) -> dict[str, int]:
        chosen = dict.fromkeys(self.trials.names, WIDEST_WEIGHTS)
        return chosen | {unit.name: bits for unit, bits in state.items()}

    def _loss(self, state: Mapping[_Unit, int]) -> float:
        return self.trials.measured(self._bits(state)).loss(self.base, self.bounds)


def _worth(unit: _Unit, bits: int, now: int) -> float:
    """Cycles saved for the noise added."""
    added = unit.noise[bits] - unit.noise.get(now, 0.0)
    saved = unit.saved[bits] - unit.saved.get(now, 0)
    return saved / max(added, 1e-12)


@dataclass(frozen=True)
class _Measured:
    """The power of the outputs' noise, their SQNR (infinite without noise), and how many samples are right."""

    noise: float
    sqnr_db: float
    right: int
    samples: int

    def loss(self, base: _Measured, bounds: Bounds) -> float:
        """What is lost against `base`, in the unit of the bounds; nothing where it is better."""
        if bounds.labelled:
            return max(0, base.right - self.right) / self.samples
        return max(0.0, base.sqnr_db - self.sqnr_db)


class _Trials:
    """The network in other bits, measured."""

    def __init__(
        self,
        quantizer: Quantizer,
        samples: Samples,
        real: Sequence[Array],
        finished: Callable[[onnx.ModelProto], onnx.ModelProto],
    ) -> None:
        self._quantizer, self._samples, self._real, self._finished = quantizer, samples, real, finished
        self.outputs = weights_by_output(quantizer.model, self.network({}))
        self.names = tuple(dict.fromkeys(self.outputs.values()))

    def network(self, bits: Mapping[str, int]) -> onnx.ModelProto:
        """The network with weights of so many bits."""
        return self._finished(self._quantizer.quantized(bits))

    def measured(self, bits: Mapping[str, int]) -> _Measured:
        """What it computes."""
        session = exact_session(self.network(bits).SerializeToString())
        found = computed(lambda sample: session.run(None, dict(sample)), self._samples)
        noise = sum(
            float(np.square(one.astype(np.float64) - two).sum()) for one, two in zip(found, self._real, strict=True)
        )
        labels, given = self._samples.labels, classes(found)
        right = 0 if labels is None or given is None else int(np.sum(given == labels))
        ratio = sqnr(self._real, found)
        return _Measured(noise, np.inf if ratio is None else ratio, right, self._samples.count)


def _units(
    trials: _Trials,
    reports: Mapping[int, Report],
    predict: Callable[[onnx.ModelProto], Report],
    base: _Measured,
    progress: Progress,
) -> Iterator[_Unit]:
    """The weights of the network that some module would be faster with if they were narrower.

    What a row of the report saves is that of its weights alone, or each has the share that it saves alone in
    `_SHARED` bits.
    """
    rows = [
        tuple(dict.fromkeys(trials.outputs[name] for name in _narrow(layer, reports) if name in trials.outputs))
        for layer in reports[WIDEST_WEIGHTS].layers
    ]
    cycles = {bits: _cycles(report, trials.outputs) for bits, report in reports.items()}
    total = reports[WIDEST_WEIGHTS].totals.cycles
    count, number = sum(map(len, rows)), 0
    for row in rows:
        alone = dict.fromkeys(row, 1)
        if len(row) > 1:
            alone = {name: max(0, total - predict(trials.network({name: _SHARED})).totals.cycles) for name in row}
        whole = _together(row, cycles[WIDEST_WEIGHTS])
        saved = {bits: whole - _together(row, found) for bits, found in cycles.items() if bits < WIDEST_WEIGHTS}
        for name, share in alone.items():
            number += 1
            progress(f"measuring narrower weights, {number} of {count}")
            useful = {
                bits: cycles * share / sum(alone.values()) for bits, cycles in saved.items() if cycles > 0 and share
            }
            noise = {bits: max(0.0, trials.measured({name: bits}).noise - base.noise) for bits in useful}
            if useful:
                yield _Unit(name, useful, noise)


def _narrow(layer: Any, reports: Mapping[int, Report]) -> list[str]:
    """What the model calls the operators of a layer whose weights some module stores in fewer bits."""
    stored = {
        one.source
        for report in reports.values()
        for each in report.layers
        for one in (each, *each.operators)
        if one.weight_bits is not None and one.weight_bits < WIDEST_WEIGHTS
    }
    return [one.source for one in (layer.operators or (layer,)) if one.source in stored]


def _cycles(report: Report, outputs: Mapping[str, str]) -> list[tuple[frozenset[str], int]]:
    """The weights of each layer, and its predicted cycles."""
    return [
        (frozenset(outputs[one.source] for one in (layer.operators or (layer,)) if one.source in outputs), layer.cycles)
        for layer in report.layers
    ]


def _together(row: Sequence[str], layers: Sequence[tuple[frozenset[str], int]]) -> int:
    """The cycles of all layers that have some of the weights."""
    return sum(cycles for weights, cycles in layers if weights & set(row))
