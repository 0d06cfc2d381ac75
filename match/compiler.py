"""The whole way: a quantized network in, C and a report out."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy.typing as npt

from match import run as runs
from match.codegen.capacity import check_border
from match.codegen.project_folder import OVERWRITE, check_project_folder
from match.compilation.arguments import CompileArguments, PartitionArguments, check_names
from match.compilation.options import IN_PLACES, Options
from match.compilation.stopwatch import Passed, Progress, Stopwatch, unheard, unread
from match.compiled.dataflow import dataflow
from match.compiled.model import CompiledModel
from match.compiled.otherwise import otherwise
from match.compiled.stations import (
    Asked,
    Predicted,
    cut_for,
    cycles_of,
    exact_cycles,
    integer_form,
    predicted,
    questions,
    rescaled_where_asked,
)
from match.compiled.stations import report as report_of
from match.errors import CapacityError, InputError, ModelError, OptionError, TargetError
from match.frontend import Model, load
from match.frontend.failures import tvm_failures
from match.graph.value import Graph
from match.ir.names import network_prefix
from match.partitioning.partitioner import Partitioned, cut
from match.partitioning.quantizable import Quantizable
from match.passes.border import Border
from match.passes.one_sample import sample_by_sample
from match.passes.pipeline import integer_network
from match.passes.with_border import with_border
from match.passes.with_ranges import Ranges, ranges_of, with_ranges
from match.passes.with_states import checked_states, with_states
from match.report import REPORT, Report
from match.report.file import read_report
from match.report.shown import ShownReport
from match.run.samples import checked
from match.target.arguments import check_progress, check_truth, is_a, path_of, shown
from match.target.hardware import MatchTarget
from match.target.registry import get_target
from match.target.sources import PACKAGE
from match.validation.schema import ExactSummary, Validation

if TYPE_CHECKING:
    import onnx

    from match.relay import relay, tvm


def compile(  # noqa: A001
    model: str | PathLike[str] | onnx.ModelProto | Model | tvm.IRModule | relay.Function,
    target: str | MatchTarget = "gap9",
    params: Mapping[str, Any] | None = None,
    *,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Progress = unheard,
    passed: Passed = unread,
    **options: Unpack[CompileArguments],
) -> CompiledModel:
    """Compile a quantized network for a chip.

    Args:
        model: path of a .tflite or .onnx file, the ONNX model itself, what `load` made of one, or a Relay module (or
            the function that is its "main") with QNN operators or in integer form.
        target: name of an installed target, or a target.
        params: values of parameters of a Relay module's "main" that are weights.
        output: folder to `CompiledModel.save` the C project to.
        overwrite: whether files there that were changed since they were written are replaced, too.
        progress: is told which phase has begun, and how many of the searches are done.
        passed: is told of each pass over the network when it is done: its name, and a function that gives the network
            that it left as text (docs/integer-form.md).
        options: by name, see `CompileArguments`, such as ``l1="64k"`` or ``numerics="exact"``.

    Raises:
        MatchError: one of its subclasses, which says in a sentence what is wrong with the model or an argument.
    """
    check_progress(progress)
    from match.external_memory.fit import in_memory

    check_truth(overwrite, OVERWRITE)
    stopwatch = Stopwatch(progress, passed)
    if output is not None:
        check_project_folder(path_of(output, "output"), overwrite=overwrite)  # before a search of minutes
    network, asked = _read(model, target, params, Options.parse(**options), stopwatch)
    integer = integer_form(network, asked, stopwatch)
    answers = questions(network, asked, stopwatch)
    with tvm_failures(network.name), asked.options.with_folder() as shared:
        kept = replace(asked, options=shared)
        partitioned = cut_for(integer, network, kept, stopwatch)
        whole = cycles_of(partitioned)
        try:
            partitioned, generated = in_memory(partitioned, integer, network, shared, stopwatch)
        except CapacityError as error:
            raise _with_recurrent(error, answers.quantizable()) from error
        with stopwatch.phase("codegen"):
            generated.generate()
        made = Predicted(partitioned, whole, dataflow(partitioned), generated)
        report = report_of(made, network, asked, otherwise(network, kept, answers, whole), stopwatch)
    compiled = CompiledModel(
        generated,
        asked.chip,
        report,
        model=network,
        options=asked.options,
        partitioned=partitioned,
        exact=_exact_cost(asked.options, report, answers.exact_cycles),
    )
    if output is not None:
        compiled.save(output, overwrite=overwrite)
    return compiled


def predict(
    model: str | PathLike[str] | onnx.ModelProto | Model | tvm.IRModule | relay.Function,
    target: str | MatchTarget = "gap9",
    params: Mapping[str, Any] | None = None,
    *,
    progress: Progress = unheard,
    **options: Unpack[CompileArguments],
) -> ShownReport:
    """The report of a compilation, without C. Arguments are those of `compile`.

    Layers, modules and cycles are those of `compile`. What main memory holds is estimated, unless it may be too small:
    the network is placed as for C then.

    Raises:
        MatchError: as `compile`.
    """
    check_progress(progress)
    stopwatch = Stopwatch(progress)
    network, asked = _read(model, target, params, Options.parse(**options), stopwatch)
    integer = integer_form(network, asked, stopwatch)
    answers = questions(network, asked, stopwatch)
    with asked.options.with_folder() as shared:
        kept = replace(asked, options=shared)
        try:
            made = predicted(integer, network, kept, stopwatch)
        except CapacityError as error:
            raise _with_recurrent(error, answers.quantizable()) from error
        known = otherwise(network, kept, answers, made.whole)
        return ShownReport.of(report_of(made, network, asked, known, stopwatch))


def _read(
    model: Any, target: str | MatchTarget, params: Mapping[str, Any] | None, options: Options, stopwatch: Stopwatch
) -> tuple[Model, Asked]:
    """The network, of one sample, named, with the states and the border that were asked for, and the chip for it.

    Raises:
        CapacityError: main memory does not hold its inputs or outputs.
        ModelError, OptionError, TargetError: it cannot be read, or not be called so, or there is no such chip.
    """
    border = Border.parse(options.input_type, options.output_type, options.input_layout)
    asked = Asked.of(target, options)
    with stopwatch.phase("frontend"):
        named = sample_by_sample(_named(_model(model, params), options.name, asked.chip))
        ranged = with_ranges(named, _ranges(named, options.calibrate))
        network = with_border(with_states(ranged, checked_states(options.states)), border)
    check_border(network, asked.chip)
    return network, asked


def _ranges(model: Model, calibrate: Mapping[str, Any] | None) -> Ranges:
    """The ranges of what recurrent layers read in some samples, if there are any."""
    if calibrate is None:
        return {}
    samples, _ = checked(model, calibrate)
    return ranges_of(model, list(zip(*samples.values(), strict=True)))


def _with_recurrent(error: CapacityError, candidates: Sequence[Quantizable]) -> CapacityError:
    """The error of a network that does not fit, and what of it would be smaller."""
    if not candidates:
        return error
    names = ", ".join(one.source for one in candidates)
    return CapacityError(
        f"{str(error).removesuffix('.')}. In floating point the weights of {names} have 32 bits; "
        "--quantize-recurrent would help, too."
    )


def validate(
    directory: str | PathLike[str],
    against: str | PathLike[str] | None = None,
    *,
    inputs: Mapping[str, npt.NDArray[Any]] | None = None,
    labels: npt.NDArray[Any] | None = None,
    samples: int | None = None,
    seed: int = 0,
    on: str = "host",
    layers: bool = False,
    progress: Progress = unheard,
) -> Validation:
    """What `CompiledModel.validate` does, for a project that was saved.

    Args:
        directory: the project.
        against: the model file that it was compiled from; none: a file of the model's name and contents in the project,
            beside it or in the current folder.
        inputs: for each input tensor one sample, or several along a new first axis; none: random ones.
        labels: the class of each sample, an index into the one output.
        samples: how many random inputs, or the first of those given.
        seed: of the first random input; the next has the next one.
        on: what runs the C, as for `CompiledModel.run`.
        layers: compare operator by operator, too.
        progress: is told what is under way.

    Raises:
        InputError: if the folder holds no project, its model is not found or another, or inputs do not match it.
        ModelError, OptionError, ToolchainError: as `match.load` and `CompiledModel.validate`.
    """
    check_progress(progress)
    check_truth(layers, "layers is whether each operator is compared")
    folder = path_of(directory, "the folder of a project")
    report = _report_of(folder)
    model = load(_model_of(folder, report) if against is None else path_of(against, "the model to compare with"))
    if model.sha256 != report.model.sha256:
        raise InputError(
            f"{against} is not the model of {folder}: that was a file called {report.model.name} with the SHA-256 hash "
            f"{report.model.sha256[:12]}..., and this has {model.sha256[:12]}...; give that file, or compile this one."
        )
    manifest = runs.read_manifest(folder)
    kept = {state.name: state.output for state in report.model.states if state.output}
    model = replace(model, name=report.model.name)
    model = with_ranges(sample_by_sample(model) if report.model.batch > 1 else model, report.model.ranges)
    model = with_states(model, kept)
    model = with_border(model, Border.between(model, manifest.inputs, manifest.outputs))
    asked = report.options
    options = Options.parse(
        engine=asked.engine,
        objective=asked.objective,
        numerics=asked.numerics,
        fuse=asked.fuse,
        rescale=asked.rescale,
        quantize_recurrent=asked.quantize_recurrent,
        at_most=asked.at_most,
    )
    try:
        main = report.target.main_memory.bytes
        chip = get_target(report.target.name, asked.l1, asked.modules, main, asked.settings)
    except TargetError:
        if layers or options.changes_network:
            raise
        chip = None

    from match.validation.validate import validate as compared

    return compared(
        folder,
        model,
        inputs=inputs,
        labels=labels,
        samples=samples,
        seed=seed,
        on=on,
        layers=layers,
        partitioned=partial(_cut_again, model, chip, options, report) if chip else None,
        changed=partial(_integers, model, chip, options) if chip and options.changes_network else None,
        exact=chip and _exact_cost(options, report, partial(exact_cycles, model, chip, options)),
        progress=progress,
    )


def _integers(model: Model, chip: MatchTarget, options: Options) -> Graph:
    """The network in integer form, as a project has it."""
    with tvm_failures(model.name):
        return _transformed(model, chip, options)


def _cut_again(model: Model, chip: MatchTarget, options: Options, report: Report) -> Partitioned:
    """The network cut as for the project of a report.

    Raises:
        InputError: it is cut in another way today.
    """
    network, names = _integers(model, chip, options), [layer.name for layer in report.layers]

    def ways() -> Iterator[Partitioned]:
        for in_place in IN_PLACES:
            own = replace(options, in_place=in_place)
            yield from cut(network, chip, own, model.name, Stopwatch()).ways(own, model.name, Stopwatch())

    with tvm_failures(model.name):
        for way in ways():
            if [decision.name for decision in way.decisions] == names:
                return way
    raise InputError(
        f"the project of {model.name} has other layers than a compilation for {chip.name} makes today, so that they "
        "cannot be compared one by one: compile it again, or leave --layers (layers=True) out."
    )


def partition(
    mod: tvm.IRModule | relay.Function | Model,
    target: str | MatchTarget = "gap9",
    params: Mapping[str, Any] | None = None,
    **options: Unpack[PartitionArguments],
) -> tvm.IRModule:
    """The module with the layers that the target's modules take as functions for ``tvm.relay.build``.

    Registers the code generator and the TVM target ``match/<name>`` to build it for. An input whose name begins with a
    digit gets an underscore in front of it: TVM calls variables in C like inputs.

    Args:
        mod: a network of QNN operators, or in integer form, as a module or the function that is its "main"; or what
            `match.load` returns.
        target: name of an installed target, or a target.
        params: values of parameters of "main" that are weights.
        options: by name, see `PartitionArguments`.

    Raises:
        MatchError: one of its subclasses, for an unknown target, module or option, a network that is not quantized, or
            an `l1` that no layer fits.
    """
    from match.codegen.backend import register, with_names_for_c
    from match.frontend.relay import from_relay
    from match.relay import relay, tvm

    check_names(options, PartitionArguments)
    asked = Asked.of(target, Options.parse(**options))
    register([asked.chip.name])
    if not is_a(mod, Model, tvm.IRModule, relay.Function):
        kinds = "a Relay module (tvm.IRModule), a relay.Function or what match.load returns"
        raise ModelError(f"what is cut is {kinds}, not {type(mod).__name__}.")
    if isinstance(mod, Model) and params is not None:
        raise OptionError("params belong to a Relay module or function; other models have their own weights.")
    with tvm_failures(mod.name if isinstance(mod, Model) else "the Relay module"):
        model = mod if isinstance(mod, Model) else from_relay(mod, params)
        if model.states:
            names = ", ".join(state.tensor.name for state in model.states)
            raise ModelError(
                f"{model.name} keeps {names} from one inference to the next, which TVM's executor does not; compile it "
                "by match.compile, or export the model with these as inputs and outputs."
            )
        integer = _transformed(model, asked.chip, asked.options)
        partitioned = cut_for(integer, model, asked, Stopwatch())
    return with_names_for_c(partitioned.module)


def build(
    model: str | PathLike[str] | Model | tvm.IRModule | relay.Function,
    target: str | MatchTarget = "gap9",
    params: Mapping[str, Any] | None = None,
    **options: Unpack[PartitionArguments],
) -> Any:
    """`partition`, then ``tvm.relay.build`` as its result has to be built: AOT, in C, without vectors.

    What comes back is TVM's: `lib` with the C of the network and, as imported modules, of the layers on modules.

    Args:
        model: path of a .tflite or .onnx file, what `load` made of one, or a Relay module or function.
        target: name of an installed target, or a target.
        params: values of parameters of a Relay module's "main" that are weights.
        options: those of `partition`.

    Raises:
        MatchError: as `load` and `partition`.
    """
    from match.codegen.backend import pass_context
    from match.relay import relay

    network = load(path_of(model, "a model")) if isinstance(model, str | PathLike) else model
    chip = get_target(target)
    module = partition(network, chip, params, **options)
    name = network.name if isinstance(network, Model) else "the Relay module"
    with tvm_failures(name), pass_context():
        return relay.build(
            module,
            target=f"match/{chip.name}",
            executor=relay.backend.Executor("aot", {"interface-api": "c", "unpacked-api": True}),
            runtime=relay.backend.Runtime("crt"),
        )


def _transformed(model: Model, target: MatchTarget, options: Options) -> Graph:
    """A network in integer form, as options ask for it."""
    network = integer_network(
        model, target.activations, exact=options.exact, quantize_recurrent=options.quantize_recurrent
    )
    return rescaled_where_asked(network, target, options)


def _named(model: Model, name: str | None, chip: MatchTarget) -> Model:
    """The model with the name that it is given, if any; what it is called in C may be nothing that is there already."""
    if name is not None:
        if not is_a(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise OptionError(
                f"{shown(name)} cannot name a network in C; use lower-case letters, digits and underscores, a letter "
                "first."
            )
        if network_prefix(name) != name:
            raise OptionError(
                f"{name!r} cannot name a network in C: it is a word of the language or the name of a header; choose "
                f"another name, such as {network_prefix(name)}."
            )
        model = replace(model, name=name)
    header = f"{network_prefix(model.name)}.h"
    folders = {PACKAGE / folder for platform in chip.platforms for folder in platform.include}
    if any((folder / header).exists() for folder in folders):
        raise OptionError(
            f"a network called {model.name!r} cannot be compiled for {chip.name}, which has a header {header}; choose "
            f"another name (--name)."
        )
    return model


def _model(model: Any, params: Mapping[str, Any] | None) -> Model:
    if not isinstance(model, str | PathLike | Model) and _is_relay(model):
        from match.frontend.relay import from_relay

        with tvm_failures("the Relay module"):
            return from_relay(model, params)
    if params is not None:
        raise OptionError("params belong to a Relay module or function; other models have their own weights.")
    if isinstance(model, str | PathLike):
        return load(path_of(model, "a model"))
    return model if isinstance(model, Model) else load(model)


def _is_relay(model: object) -> bool:
    """Whether it is a Relay module or function; whoever has one has loaded TVM."""
    if "tvm" not in sys.modules:
        return False
    from match.relay import relay, tvm

    return isinstance(model, tvm.IRModule | relay.Function)


def _report_of(directory: Path) -> Report:
    runs.read_manifest(directory)
    return read_report(directory / REPORT)


def _model_of(directory: Path, report: Report) -> Path:
    """The file that the project was compiled from, by its name and contents."""
    name, digest = report.model.name, report.model.sha256
    folders = (directory, directory.resolve().parent, Path())
    for candidate in (folder / f"{name}{ending}" for folder in folders for ending in (".tflite", ".onnx")):
        if candidate.is_file() and hashlib.sha256(candidate.read_bytes()).hexdigest() == digest:
            return candidate
    raise InputError(
        f"the model of {directory} is needed, {name}.tflite or {name}.onnx with the SHA-256 hash {digest[:12]}..., and "
        f"is not beside it; give the file with --against, or call validate() of what match.compile returned."
    )


def _exact_cost(
    options: Options, report: Report, exact_cycles: Callable[[], int | None]
) -> Callable[[], ExactSummary | None] | None:
    """What finds the cost of the model's own requantization; None where the network has it.

    There is no cost where the network does not fit the memories with it.
    """
    forms = [layer.requantization for layer in report.layers if layer.requantization]
    if all(form.exact for form in forms) and not options.changes_network:
        return None

    def compared() -> ExactSummary | None:
        cycles = exact_cycles()
        return None if cycles is None else ExactSummary(cycles=report.totals.cycles, exact_cycles=cycles)

    return compared
