"""Weights in fewer bits, layer by layer, where a module is faster with them.

Predicted cycles of a layer depend on its own bits, so that seven predictions, each with one number of bits for all
weights, tell what each layer would save. What it would cost is measured: the noise at the outputs with this layer alone
in fewer bits. Then layers become narrower one after the other, always the one that saves most cycles for the noise that
it adds, as long as the whole network, measured anew after each, does not lose more than is allowed. A step that would
lose more is not tried again.
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
    """Weights that become narrower together, as a module executes their layers as one.

    `saved` are the predicted cycles that each number of bits saves, `noise` is what it adds to the outputs' power.
    """

    weights: tuple[str, ...]
    saved: Mapping[int, int]
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
    chosen = dict.fromkeys(names, WIDEST_WEIGHTS)
    base = trials.measured(chosen)
    units = list(_units(trials, reports, base, progress))
    state, loss = dict.fromkeys(units, WIDEST_WEIGHTS), 0.0
    refused: set[tuple[_Unit, int]] = set()
    while moves := [
        (unit, bits)
        for unit, now in state.items()
        for bits in unit.saved
        if bits < now and unit.saved[bits] > unit.saved.get(now, 0) and (unit, bits) not in refused
    ]:
        progress(f"narrowing weights, {sum(bits < WIDEST_WEIGHTS for bits in state.values())} of {len(units)}")
        unit, bits = max(moves, key=lambda move: _worth(*move, state[move[0]]))
        trial = {**chosen, **dict.fromkeys(unit.weights, bits)}
        lost = trials.measured(trial).loss(base, bounds)
        if lost > bounds.allowed:
            refused.add((unit, bits))
            continue
        chosen, loss = trial, lost
        state[unit] = bits
    cycles = reports[WIDEST_WEIGHTS].totals.cycles
    if loss and predict(trials.network(chosen)).totals.cycles >= cycles:  # layers are not quite independent
        chosen, loss = dict.fromkeys(names, WIDEST_WEIGHTS), 0.0
    return chosen, Narrowing(cycles_in_8_bits=cycles, allowed=bounds.allowed, loss=loss)


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


def _units(trials: _Trials, reports: Mapping[int, Report], base: _Measured, progress: Progress) -> Iterator[_Unit]:
    """The layers of the network in 8 bits that a module would execute faster with narrower weights."""
    rows = [
        tuple(dict.fromkeys(trials.outputs[name] for name in _narrow(layer, reports) if name in trials.outputs))
        for layer in reports[WIDEST_WEIGHTS].layers
    ]
    rows = [row for row in rows if row]
    cycles = {bits: _cycles(report, trials.outputs) for bits, report in reports.items()}
    for number, row in enumerate(rows, 1):
        progress(f"measuring narrower weights, {number} of {len(rows)}")
        whole = _together(row, cycles[WIDEST_WEIGHTS])
        saved = {bits: whole - _together(row, found) for bits, found in cycles.items() if bits < WIDEST_WEIGHTS}
        useful = {bits: count for bits, count in saved.items() if count > 0}
        noise = {bits: max(0.0, trials.measured(dict.fromkeys(row, bits)).noise - base.noise) for bits in useful}
        if useful:
            yield _Unit(row, useful, noise)


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
