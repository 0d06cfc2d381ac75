"""The whole way: a float model and data in, a quantized model out, and what it costs in accuracy and cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from os import PathLike
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import onnx

from match.compilation.stopwatch import Progress, unheard
from match.compiler import compile as compile_model
from match.compiler import predict
from match.dispatch.plan import CPU
from match.errors import MatchError, OptionError
from match.files import npz
from match.files.npz import LABELS
from match.files.output import check_file, whole_file
from match.frontend import load
from match.quantizing.accuracy import check_labels, computed, summary
from match.quantizing.activations import with_joined_activations, with_plain_relus
from match.quantizing.bits import Bounds, narrowed
from match.quantizing.form import Form, form_for
from match.quantizing.layers import MOST_SAMPLES, layer_errors, left_out
from match.quantizing.prepared import Prepared, prepare, session, weighted
from match.quantizing.quantizer import FLOATING, Quantizer, calibrate
from match.quantizing.samples import Pixels, Samples, read_samples
from match.quantizing.schema import CoreLayer, Floating, FormSummary, Narrowing, Quantization, RunSummary
from match.report import Report
from match.target.arguments import check_progress, check_truth, is_a, path_of, shown, whole_number
from match.target.hardware import MatchTarget
from match.target.registry import get_target
from match.validation.references import reference

CALIBRATED, MEASURED = 200, 1000
"""The most samples that ranges are found with, and that accuracies are measured with, if nothing else is said."""

_LAYOUT = "layout"
"""What reports call a layer that the model does not have: a tensor laid out anew for a module."""


@dataclass(frozen=True, eq=False)
class QuantizedModel:
    """A quantized network: the model, what was found about it, and the samples that it was measured with."""

    model: onnx.ModelProto
    result: Quantization
    samples: Samples

    def __repr__(self) -> str:
        result = self.result
        return f"<QuantizedModel {result.network} for {result.target}: {result.cycles:,} cycles predicted>"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model as an ONNX file, whole or not at all.

        Raises:
            OutputError: it cannot be written.
        """
        data = self.model.SerializeToString()
        with whole_file(path_of(path, "the file of a model")) as unfinished:
            unfinished.write_bytes(data)

    def save_samples(self, path: str | PathLike[str]) -> None:
        """Write the inputs and labels that it was measured with as an .npz file, which `match validate` takes.

        Raises:
            OutputError: it cannot be written.
        """
        labels = {} if self.samples.labels is None else {LABELS: self.samples.labels}
        npz.write(path_of(path, "the file of samples"), {**self.samples.inputs, **labels})


def quantize(
    model: str | PathLike[str] | onnx.ModelProto,
    data: Any,
    target: str | MatchTarget = "gap9",
    *,
    output: str | PathLike[str] | None = None,
    test: Any = None,
    labels: str | PathLike[str] | npt.NDArray[Any] | None = None,
    calibration: int = CALIBRATED,
    samples: int = MEASURED,
    mean: Sequence[float] = (0.0,),
    std: Sequence[float] = (1.0,),
    leave_one_out: bool = False,
    weight_bits: int | Literal["auto"] = 8,
    loss: float | None = None,
    jobs: int | None = None,
    cache: bool | str | PathLike[str] = True,
    progress: Progress = unheard,
) -> QuantizedModel:
    """Quantize a float model as a target likes it, and measure what that costs.

    Args:
        model: path of a float ONNX file, or the model itself. A batch that it leaves open is 1.
        data: samples to find the ranges of tensors with: the path of an .npz file with an array for each input, of a
            folder of .npy arrays or of images; an array, a mapping of arrays, or an iterable of arrays or mappings.
        target: name of an installed target, or a target.
        output: file to `QuantizedModel.save` the model to.
        test: samples to measure with, in the same forms; none: `data`.
        labels: the class of each of these: the name of an array in the .npz file, a path of an .npy, .npz or text file,
            or an array; none: the array "labels" of the .npz file, if there is one.
        calibration: the most samples of `data` that are used, evenly spread.
        samples: the most samples that it is measured with, evenly spread.
        mean: what is taken off the pixels of images, which are from 0 to 1: a number for each channel, or one.
        std: what they are divided by then.
        leave_one_out: whether to measure what the outputs would gain if each layer alone were in floating point.
        weight_bits: 2 to 8, or "auto": in each layer as few as save predicted cycles within the loss that is allowed.
        loss: with "auto" the share of samples that may no more be classified right, by default 0.01; without labels
            the dB that the outputs may lose of their SQNR, by default 3.
        jobs: processes that search for schedules at a time; none: one for each processor.
        cache: whether to keep what compilations find, or the folder for it.
        progress: is told what is under way.

    Raises:
        MatchError: one of its subclasses, which says in a sentence what is wrong with the model, the data or an
            argument.
    """
    check_progress(progress)
    check_truth(leave_one_out, "leave_one_out is whether each layer is left out once")
    if output is not None:
        check_file(path_of(output, "the file of a model"))
    bits = _checked_bits(weight_bits)
    calibrated = whole_number(calibration, "the number of samples to calibrate with", 1)
    measured = whole_number(samples, "the number of samples to measure with", 1)
    chip = get_target(target)
    progress("reading the model")
    prepared = prepare(model)
    progress("reading the data")
    pixels = Pixels(_numbers(mean, "mean"), _numbers(std, "std"))
    if 0 in pixels.std:
        raise OptionError("std has 0, by which nothing can be divided; give another number.")
    given = read_samples(data, prepared.inputs, labels if test is None else None, pixels)
    tested = given if test is None else read_samples(test, prepared.inputs, labels, pixels, "the test data")
    tested = tested.spread(measured)
    bounds = Bounds.of(loss, tested.labels is not None) if bits is None else None
    if bounds is None and loss is not None:
        raise OptionError('a loss is allowed to narrower weights alone; give weight_bits="auto", too.')
    run = session(prepared.proto.SerializeToString(), prepared.name)
    real = computed(
        lambda sample: run.run(None, dict(sample)), tested, lambda state: progress(f"running the float model, {state}")
    )
    check_labels(prepared.name, real, tested.labels, "the data" if test is None else "the test data")
    work = _Work(prepared, chip, tested, real, jobs, cache, progress)
    quantizer, notes = _calibrated(prepared, form_for(chip), given.spread(calibrated), progress)
    made = work.quantized(
        quantizer, bits, bounds, leave_one_out, (*prepared.notes, *notes), min(calibrated, given.count)
    )
    if output is not None:
        made.save(output)
    return made


def _checked_bits(weight_bits: Any) -> int | None:
    """How many bits weights have; None: they are to be found."""
    if weight_bits == "auto":
        return None
    if not is_a(weight_bits, int, np.integer) or not 2 <= weight_bits <= 8:
        raise OptionError(f'weight_bits are 2 to 8 or "auto", not {shown(weight_bits)}; give one of these.')
    return int(weight_bits)


def _numbers(given: Any, what: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(number) for number in np.asarray(given, np.float64).reshape(-1))
    except (TypeError, ValueError) as error:
        raise OptionError(f"{what} is a number for each channel, not {shown(given)}; give 1 or 3.") from error
    if not numbers or not np.isfinite(numbers).all():
        raise OptionError(f"{what} is a number for each channel, not {shown(given)}; give 1 or 3.")
    return numbers


def _calibrated(model: Prepared, form: Form, samples: Samples, progress: Progress) -> tuple[Quantizer, tuple[str, ...]]:
    """A quantizer for a form, and what was changed in the model for it."""
    notes = ()
    if form.powers_of_two:
        proto, changed = with_plain_relus(model.proto)
        if changed:
            notes = (f"{changed} clips from 0 to a number are ReLUs now: the target's modules clip where 8 bits end.",)
            model = replace(model, proto=proto)
    return calibrate(model, form, samples.inputs, progress), notes


@dataclass(frozen=True, eq=False)
class _Work:
    """What is measured, on what, and who is told."""

    model: Prepared
    target: MatchTarget
    samples: Samples
    real: list[npt.NDArray[Any]]
    jobs: int | None
    cache: bool | str | PathLike[str]
    progress: Progress

    def quantized(
        self,
        quantizer: Quantizer,
        bits: int | None,
        bounds: Bounds | None,
        leave_one_out: bool,
        notes: tuple[str, ...],
        calibrated: int,
    ) -> QuantizedModel:
        """The network in so many bits, and all that is measured of it."""
        names = [name for _, name, _ in weighted(quantizer.model.proto)]
        chosen: Mapping[str, int] = dict.fromkeys(names, bits or 8)
        narrowing: Narrowing | None = None
        if bounds is not None:
            chosen, narrowing = narrowed(
                quantizer, bounds, self.samples, self.real, self._predict, with_joined_activations, self.progress
            )
        self.progress("quantizing")
        proto = with_joined_activations(quantizer.quantized(chosen))
        few = self.samples.spread(MOST_SAMPLES)
        self.progress("comparing layers")
        layers = layer_errors(self.model, proto, few, chosen)
        if leave_one_out:
            layers = left_out(self.model, proto, layers, few, self.progress)
        runs, report = self._runs(proto)
        classes = None if self.samples.labels is None else self.real[0][0].size
        result = Quantization(
            generator=f"match {metadata.version('match-compiler')}",
            network=self.model.name,
            target=self.target.name,
            form=FormSummary(
                quantizer.form.activations,
                quantizer.form.symmetric,
                quantizer.form.per_channel,
                quantizer.form.powers_of_two,
                quantizer.form.one_scale_for_addends,
            ),
            calibrated=calibrated,
            samples=self.samples.count,
            cycles=report.totals.cycles,
            milliseconds=1e3 * report.totals.cycles / self.target.clock_hz,
            runs=runs,
            layers=layers,
            floating=_floating(quantizer.model.proto),
            control_core=tuple(_on_core(report)),
            notes=notes,
            classes=classes,
            narrowing=narrowing,
        )
        return QuantizedModel(proto, result, self.samples)

    def _predict(self, proto: onnx.ModelProto) -> Report:
        return predict(proto, self.target, jobs=self.jobs, cache=self.cache)

    def _runs(self, proto: onnx.ModelProto) -> tuple[tuple[RunSummary, ...], Report]:
        """All ways to compute the network and, without labels, those that need no C; the report of the compilation."""
        labels = self.samples.labels
        loaded = load(proto)
        _, run = reference(loaded)
        integers = computed(
            lambda sample: run([sample[tensor.name] for tensor in loaded.inputs]),
            self.samples,
            lambda state: self.progress(f"running the quantized model, {state}"),
        )
        runs = [summary("float", self.real, self.real, labels), summary("quantized", integers, self.real, labels)]
        if labels is None:
            self.progress("predicting")
            return tuple(runs), self._predict(proto)
        report: Report | None = None
        for numerics in ("hardware", "exact"):
            if report is not None and _is_exact(report) and not runs[-1].refusal:
                runs.append(msgspec.structs.replace(runs[-1], run=numerics))
                continue
            try:
                compiled = compile_model(
                    proto,
                    self.target,
                    numerics=numerics,
                    jobs=self.jobs,
                    cache=self.cache,
                    progress=lambda state, numerics=numerics: self.progress(f"compiling, {numerics} numerics: {state}"),
                )
                report = report or compiled.report
                self.progress(f"running the C, {numerics} numerics")
                found = compiled.run(dict(self.samples.inputs))
            except MatchError as error:
                if report is None:
                    raise
                runs.append(RunSummary(numerics, refusal=str(error)))
                continue
            runs.append(summary(numerics, [found[tensor.name] for tensor in compiled.outputs], self.real, labels))
        assert report is not None, "the first compilation raises or is kept"
        return tuple(runs), report


def _is_exact(report: Report) -> bool:
    """Whether every layer has the network's own requantization already."""
    return all(layer.requantization is None or layer.requantization.exact for layer in report.layers)


def _floating(proto: onnx.ModelProto) -> tuple[Floating, ...]:
    """The operators that stay in floating point, by their kind."""
    kinds = dict.fromkeys(node.op_type for node in proto.graph.node if node.op_type in FLOATING)
    return tuple(
        Floating(kind, tuple(node.output[0] for node in proto.graph.node if node.op_type == kind), FLOATING[kind])
        for kind in kinds
    )


def _on_core(report: Report) -> list[CoreLayer]:
    """The layers that the control core computes and that take time."""
    found: list[CoreLayer] = []
    for layer in report.layers:
        if layer.module != CPU or not layer.cycles or layer.op == _LAYOUT:
            continue
        offers = [candidate for candidate in layer.candidates if candidate.module != CPU]
        costs = [(candidate.cycles, candidate.module) for candidate in offers if candidate.cycles is not None]
        refusals = [candidate.refusal for candidate in offers if candidate.refusal]
        if costs:
            cycles, module = min(costs)
            why = f"{module} would take {cycles:,} cycles, and the network would not be faster"
        else:
            why = "; ".join(refusals) or "no module takes it"
        found.append(CoreLayer(layer.source or layer.name, layer.op, layer.cycles, why))
    return found
