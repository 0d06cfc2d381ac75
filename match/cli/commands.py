"""The commands; each imports what it needs when it runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from match.cli import arguments as typed
from match.cli.compile_options import USUAL, CompileOptions, settings_of, with_compile_options
from match.cli.printed_passes import PrintedPasses
from match.cli.status import USAGE_ERROR, write_out
from match.errors import OptionError

if TYPE_CHECKING:
    from match.codegen.manifest import Manifest
    from match.files.npz import Array
    from match.run import Counts

PIPE_WIDTH = 160
DIFFERENT = 1
"""Exit status of a validation that found differences which the report does not announce."""


@with_compile_options
def compile_model(
    model: typed.ModelPath,
    output: typed.Output = None,
    target: typed.TargetName = "gap9",
    options: CompileOptions = USUAL,
    overwrite: typed.Overwrite = False,
    timeline: typed.TimelineFile = None,
    memory_map: typed.MemoryMapFile = None,
    csv: typed.CsvFile = None,
    html: typed.HtmlFile = None,
    print_after: typed.PrintAfter = None,
    as_json: typed.Json = False,
    quiet: typed.Quiet = False,
    verbose: typed.Verbose = False,
) -> None:
    """Compile MODEL into a C project and print what each layer is predicted to cost."""
    from rich.console import Console

    import match
    from match.compilation.stopwatch import unread
    from match.report import encode, show
    from match.report.file import read_report
    from match.report.html import write_page
    from match.report.layer_rows import write_csv
    from match.report.table import warnings

    if output is None:
        output = Path("build") / (options.name or model.stem or "network")
    _check_outputs(output, overwrite, timeline, memory_map, csv, html)  # before a search, which may take minutes
    printed = None if print_after is None else PrintedPasses(print_after)
    with _progress(f"Compiling {model.name} for {target}", quiet, verbose) as update:
        compiled = match.compile(
            model,
            target,
            **options.asked,
            progress=update,
            passed=unread if printed is None else printed.passed,
        )
        if printed is not None:
            printed.check()
        if timeline is not None:
            compiled.save_timeline(timeline)
        if memory_map is not None:
            compiled.save_memory_map(memory_map)
        if csv is not None:
            write_csv(csv, compiled.report)
        compiled.save(output, overwrite=overwrite)
        if html is not None:  # with what was measured of a project of the same C
            write_page(html, read_report(output / "report.json"))
    if printed is not None:
        write_out(printed.text)
    sys.stderr.write("".join(f"match: {note}\n" for note in compiled.notes))
    if as_json:
        write_out(encode(compiled.report).decode())
    if quiet:
        sys.stderr.write("".join(f"match: {line}\n" for line in warnings(compiled.report)))
    if as_json or quiet:
        return
    console = Console()
    show(compiled.report, console)
    console.print(f"C project: {output} (`match run {output}` builds and runs it)", highlight=False, soft_wrap=True)


def sweep(
    models: typed.ModelPaths,
    target: typed.TargetName = "gap9",
    values: typed.Axes = None,
    scheduler: typed.Scheduler = None,
    jobs: typed.Workers = None,
    no_cache: typed.NoCache = False,
    outputs: typed.SweepFiles = None,
    html: typed.SweepPages = None,
    chosen: typed.ChosenPoints = None,
    as_json: typed.Json = False,
    quiet: typed.Quiet = False,
    verbose: typed.Verbose = False,
) -> None:
    """Predict MODELs at every combination of some values, without C; called again, an interrupted sweep goes on."""
    from rich.console import Console

    from match.files.output import check_folder
    from match.report.html import check_libraries as check_drawing
    from match.sweeping import write
    from match.sweeping.libraries import check_libraries
    from match.sweeping.pages import check_points, write_pages
    from match.sweeping.run import Sweep
    from match.sweeping.schema import encode
    from match.sweeping.table import show_sweep

    check_libraries()
    files = outputs or []
    write.check_files(files)
    check_folder(html)
    if html is not None:
        check_drawing()
    elif chosen:
        raise OptionError("--point chooses pages that --html writes; give --html, too.")
    axes = {name: text.split(",") for name, text in settings_of(values or ()).items()}
    with _progress(f"Sweeping {', '.join(model.name for model in models)} on {target}", quiet, verbose) as update:
        asked = Sweep.of(models, target, axes, scheduler, jobs, not no_cache, update)
        check_points(chosen or (), asked.count)
        result = asked.result()
        for file in files:
            write.write(result, file)
        if html is not None:
            write_pages(asked, result, html, chosen)
    if as_json:
        write_out(encode(result).decode())
    elif not quiet:
        console = Console()
        console.width = console.width if console.is_terminal else PIPE_WIDTH
        show_sweep(result, console)
        for place in (*files, *((html / "index.html",) if html else ())):
            console.print(f"Written: {place}", highlight=False, markup=False, soft_wrap=True)


def quantize(
    model: typed.FloatModel,
    data: typed.CalibrationData,
    output: typed.QuantizedFile = None,
    target: typed.TargetName = "gap9",
    test: typed.TestData = None,
    labels: typed.LabelsOf = None,
    calibration: typed.CalibrationSamples = 200,
    samples: typed.MeasuredSamples = 1000,
    mean: typed.PixelMean = "0",
    std: typed.PixelStd = "1",
    leave_one_out: typed.LeaveOneOut = False,
    weight_bits: typed.WeightBits = "8",
    loss: typed.Loss = None,
    saved: typed.SampleFile = None,
    jobs: typed.Jobs = None,
    no_cache: typed.NoCache = False,
    as_json: typed.Json = False,
    quiet: typed.Quiet = False,
    verbose: typed.Verbose = False,
) -> None:
    """Quantize the float MODEL as a target likes it, and measure what that costs in accuracy and cycles."""
    from rich.console import Console

    import match
    from match.files.output import check_ending, check_file
    from match.quantizing.schema import encode
    from match.quantizing.table import show_quantization

    path = output or Path(f"{model.stem}_int8.onnx")
    check_ending(path, (".onnx",), "a quantized network")
    if path.resolve() == model.resolve():
        raise OptionError(f"--output is MODEL itself, {model}; choose another name.")
    if saved is not None:
        check_ending(saved, (".npz",), "a file of samples")
    for file in (path, saved):
        check_file(file)
    with _progress(f"Quantizing {model.name} for {target}", quiet, verbose) as update:
        quantized = match.quantize(
            model,
            data,
            target,
            test=test,
            labels=labels,
            calibration=calibration,
            samples=samples,
            mean=_numbers("--mean", mean),
            std=_numbers("--std", std),
            leave_one_out=leave_one_out,
            weight_bits="auto" if weight_bits == "auto" else _bits(weight_bits),
            loss=loss,
            jobs=jobs,
            cache=not no_cache,
            progress=update,
        )
    if saved is not None:
        quantized.save_samples(saved)
    quantized.save(path)
    if as_json:
        write_out(encode(quantized.result).decode())
    elif not quiet:
        console = Console()
        console.width = console.width if console.is_terminal else PIPE_WIDTH
        show_quantization(quantized.result, console)
        text = f"Quantized network: {path} (`match compile {path} --target {target}` compiles it)"
        console.print(text, highlight=False, markup=False, soft_wrap=True)


def _numbers(option: str, text: str) -> tuple[float, ...]:
    """Numbers with commas between them."""
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError as error:
        raise OptionError(f"{option} {text} is no list of numbers; give one, or one for each channel.") from error


def _bits(text: str) -> int:
    if not text.isdecimal():
        raise OptionError(f"--weight-bits {text} is no number of bits; give 2 to 8, or auto.")
    return int(text)


def _check_outputs(
    output: Path,
    overwrite: bool,
    timeline: Path | None,
    memory_map: Path | None,
    csv: Path | None,
    html: Path | None,
) -> None:
    """Find out if the outputs of a compilation can be written.

    Raises:
        OptionError, OutputError, ToolchainError: if one cannot.
    """
    from match.codegen.project_folder import check_project_folder
    from match.files.output import MEMORY_MAP_ENDINGS, TIMELINE_ENDINGS, check_ending, check_file
    from match.report.html import HTML_ENDINGS, check_libraries
    from match.report.layer_rows import CSV_ENDINGS

    check_project_folder(output, overwrite=overwrite)
    files = (
        (timeline, TIMELINE_ENDINGS, "a timeline"),
        (memory_map, MEMORY_MAP_ENDINGS, "a memory map"),
        (csv, CSV_ENDINGS, "a list of layers"),
        (html, HTML_ENDINGS, "a page"),
    )
    for file, endings, what in files:
        if file is not None:
            check_ending(file, endings, what)
    if timeline is not None and timeline == memory_map:
        raise OptionError(f"--timeline and --memory-map are both {timeline}; give each a name of its own.")
    for file, *_ in files:
        check_file(file)
    if html is not None:
        check_libraries()


def build_project(
    directory: typed.ProjectPath,
    platform: typed.PlatformName = "host",
    sanitize: typed.Sanitize = False,
    quiet: typed.Quiet = False,
    verbose: typed.Verbose = False,
) -> None:
    """Build the program of the C project in DIR for one of its platforms."""
    from rich.console import Console

    from match.run import build

    with _progress(f"Building {directory} for {platform}", quiet, verbose):
        program = build(directory, platform, sanitize=sanitize)
    if not quiet:
        Console().print(str(program), highlight=False, markup=False, soft_wrap=True)


def export(
    directories: typed.ProjectPaths,
    form: typed.BuildSystem,
    output: typed.ExportPath,
    name: typed.LibraryName = None,
    platform: typed.OwnPlatformName = None,
    overwrite: typed.Overwrite = False,
    quiet: typed.Quiet = False,
) -> None:
    """Write the networks in DIRs as a library for another build system: a Zephyr module, an Arduino library, a pack."""
    from rich.console import Console

    from match.exporting.write import export as write_library

    write_library(directories, form, output, name=name, platform=platform, overwrite=overwrite)
    if not quiet:
        Console().print(str(output), highlight=False, markup=False, soft_wrap=True)


def size_project(
    directory: typed.ProjectPath,
    platform: typed.OwnPlatformName = None,
    quiet: typed.Quiet = False,
    verbose: typed.Verbose = False,
) -> None:
    """Measure what the C project in DIR takes of the chip: code, constants, RAM, stack."""
    from rich.console import Console

    from match.files.output import check_file
    from match.report.file import read_report
    from match.report.size_table import show_sizes
    from match.report.sizes import add_size
    from match.run import read_manifest
    from match.run.project import own_platform
    from match.run.size import size

    path = directory / "report.json"
    own = own_platform(read_manifest(directory)).name
    read_report(path)  # what is damaged or cannot be written is told before anything is built
    check_file(path)
    with _progress(f"Measuring {directory}", quiet, verbose):
        measured = size(directory, platform)
        report = add_size(path, measured)
    if not quiet:
        show_sizes(report, measured, Console(), own=measured.platform == own != "host")


def run(
    directory: typed.ProjectPath,
    inputs: typed.InputFile = None,
    outputs: typed.OutputFile = None,
    samples: typed.DrawnSamples = None,
    seed: typed.Seed = 0,
    on: typed.On = "host",
    sanitize: typed.Sanitize = False,
    trace: typed.TraceFile = None,
    as_json: typed.Json = False,
    quiet: typed.Quiet = False,
    verbose: typed.Verbose = False,
) -> None:
    """Run the C project in DIR, building it where that is due; what a platform counts joins its report."""
    from rich.console import Console

    from match.analysis.timeline import write_timeline
    from match.files import npz
    from match.files.output import TIMELINE_ENDINGS, check_ending, check_file
    from match.report import show
    from match.report.file import read_report
    from match.report.measured import add_to_report
    from match.report.memory import outside_main_memory
    from match.report.run_result import RunResult, encode, output_values
    from match.run import measure, platform_on, random_inputs, read_manifest
    from match.run import run as run_project
    from match.run import trace as trace_project
    from match.run.samples import drawn, first

    if trace is not None:
        check_ending(trace, TIMELINE_ENDINGS, "a timeline")
    for file in (outputs, trace):
        check_file(file)
    manifest = read_manifest(directory)
    if inputs is not None:
        given = first(manifest, _labelled(inputs, manifest)[0], samples)
    else:
        given = random_inputs(manifest, seed) if samples is None else drawn(manifest, samples, seed)
    counts: Counts | None = None
    with _progress(f"Running {manifest.name}", quiet, verbose):
        if trace is not None:
            outside = outside_main_memory(read_report(directory / "report.json"))
            computed, layers = trace_project(directory, given, on=on, sanitize=sanitize)
            steps_per_second = 1e6
            names = {call.function: call.source for call in manifest.calls}
            stretches = (layer.stretch(names.get(layer.symbol, "")) for layer in layers)
            write_timeline(trace, manifest.name, stretches, steps_per_second, "steps of one microsecond", outside)
        elif platform_on(manifest, on).counts and not sanitize:
            read_report(directory / "report.json")  # what is damaged or cannot be written is told before
            check_file(directory / "report.json")
            computed, counts = measure(directory, given, on=on)
        else:
            computed = run_project(directory, given, on=on, sanitize=sanitize)
    if outputs is not None:
        npz.write(outputs, computed)
    report = None if counts is None else add_to_report(directory / "report.json", counts)
    if as_json:
        measured = next((one for one in report.measured if one.platform == on), None) if report else None
        tensors = output_values(computed, values=outputs is None)
        result = RunResult(manifest.name, on, seed if inputs is None else None, tensors, measured)
        write_out(encode(result).decode())
        return
    console = Console(quiet=quiet)
    for name, array in computed.items():
        console.print(f"{name}: {array.dtype} {list(array.shape)}", highlight=False, markup=False)
        if outputs is None:
            console.print(str(array), highlight=False, markup=False)
    if report is not None:
        console.print()
        show(report, console)


def measure(
    directory: typed.ProjectPath,
    log: typed.LogFile,
    on: typed.Chip = "chip",
    unit: typed.CountUnit = "cycles",
    quiet: typed.Quiet = False,
) -> None:
    """Join what a chip counted, as a program of the C project in DIR printed it into LOG, to the project's report."""
    from rich.console import Console

    from match.report import show
    from match.report.measured import add_to_report
    from match.run import read_manifest
    from match.run.counts import read_log

    if unit != "cycles" and unit != "instructions":
        raise OptionError(f"--unit is cycles or instructions, not {unit!r}; give one of them.")
    counts = read_log(log, read_manifest(directory).calls, on, unit)
    report = add_to_report(directory / "report.json", counts)
    show(report, Console(quiet=quiet))


def selftest(
    directory: typed.ProjectPath,
    inputs: typed.InputFile = None,
    seed: typed.Seed = 0,
    overwrite: typed.Overwrite = False,
    quiet: typed.Quiet = False,
    verbose: typed.Verbose = False,
) -> None:
    """Write a sample and what the C project in DIR computes of it as C, for a program on the chip to compare with."""
    from rich.console import Console

    from match.run import random_inputs, read_manifest
    from match.run.selftest import write_selftest

    manifest = read_manifest(directory)
    given = random_inputs(manifest, seed) if inputs is None else _labelled(inputs, manifest)[0]
    origin = f"a random sample of seed {seed}" if inputs is None else f"the sample of {inputs.name}"
    with _progress(f"Running {manifest.name}", quiet, verbose):
        folder = write_selftest(directory, given, origin, overwrite=overwrite)
    if not quiet:
        Console().print(str(folder), highlight=False, markup=False, soft_wrap=True)


def validate(
    directory: typed.ProjectPath,
    against: typed.Against = None,
    inputs: typed.LabelledInput = None,
    labels: typed.LabelsOf = None,
    samples: typed.Samples = None,
    seed: typed.Seed = 0,
    on: typed.On = "host",
    layers: typed.ByLayers = False,
    as_json: typed.Json = False,
    quiet: typed.Quiet = False,
    verbose: typed.Verbose = False,
) -> None:
    """Compare the C project in DIR with its model: TFLite Micro, onnxruntime, or the network's own integers.

    What was found is written into DIR/report.json, too, which `match report` shows.
    The exit status is 0 if all outputs are equal, or differ as the report announces, and 1 if not.
    """
    from rich.console import Console

    import match
    from match.files.output import check_file
    from match.run import read_manifest
    from match.validation.reported import add_validation
    from match.validation.schema import encode
    from match.validation.table import show

    manifest = read_manifest(directory)
    given, classes = (None, None) if inputs is None else _labelled(inputs, manifest, labels)
    check_file(directory / "report.json")
    if inputs is None and labels is not None:
        raise OptionError("--labels are the classes of given samples; give these with --input, too.")
    with _progress(f"Validating {directory}", quiet, verbose) as update:
        result = match.validate(
            directory,
            against,
            inputs=given,
            labels=classes,
            samples=samples,
            seed=seed,
            on=on,
            layers=layers,
            progress=update,
        )
    add_validation(directory / "report.json", result)
    if as_json:
        write_out(encode(result).decode())
    elif not quiet:
        show(result, Console())
    if result.verdict not in ("equal", "as announced"):
        raise typer.Exit(DIFFERENT)


def report(directory: typed.ReportPath, output: typed.PageFile = None, quiet: typed.Quiet = False) -> None:
    """Write the report of the C project in DIR as a page: one file that opens from disk and can be sent to others."""
    from rich.console import Console

    from match.report.file import read_report
    from match.report.html import write_page

    folder = directory if directory.is_dir() else directory.parent
    path = output or folder / "report.html"
    write_page(path, read_report(folder / "report.json" if directory.is_dir() else directory))
    if not quiet:
        Console().print(str(path), highlight=False, markup=False, soft_wrap=True)


def compare(
    a: typed.FirstReport, b: typed.SecondReport, html: typed.ComparisonFile = None, as_json: typed.Json = False
) -> None:
    """Compare two compilations: totals, layers by what they compute, what moved and why."""
    from rich.console import Console

    from match.report.compare import compare as compare_reports
    from match.report.compare import encode, report_of
    from match.report.compare_table import show
    from match.report.html import compare_page

    first, second = report_of(a), report_of(b)
    if html is not None:
        compare_page(first, second).save(html)
    comparison = compare_reports(first, second)
    if as_json:
        write_out(encode(comparison).decode())
        return
    console = Console()
    console.width = console.width if console.is_terminal else PIPE_WIDTH
    show(comparison, console)


def targets(as_json: typed.Json = False) -> None:
    """List the installed targets, their modules, memories and operators; what cannot be loaded is told on stderr."""
    from rich.console import Console

    from match.report.target_list import encode, target_list
    from match.report.targets import show_targets
    from match.target.registry import installed_targets

    found, problems = installed_targets()
    if as_json:
        write_out(encode(target_list(found, problems)).decode())
    else:
        console = Console()
        console.width = console.width if console.is_terminal else PIPE_WIDTH
        show_targets(found, console)
    sys.stderr.write("".join(f"match: {problem}\n" for problem in problems))


def zoo(
    name: typed.NetworkName = None,
    output: typed.NetworkFile = None,
    classes: typed.Classes = None,
    real: typed.RealNumbers = False,
    quiet: typed.Quiet = False,
    verbose: typed.Verbose = False,
) -> None:
    """List networks that can be made for a try, or write one as a quantized ONNX model with random weights."""
    from rich.console import Console

    from match.devtools.zoo.catalogue import show_networks, write_network
    from match.files.output import check_ending

    console = Console(quiet=quiet and name is not None)
    if name is None:
        if output is not None or classes is not None or real:
            raise OptionError("--output, --classes and --float need the name of a network; `match zoo` lists them.")
        show_networks(console)
        return
    path = output or Path(f"{name}.onnx")
    check_ending(path, (".onnx",), "a network")
    with _progress(f"Making {name}", quiet, verbose):
        write_network(name, path, classes, quantized=not real)
    what = f"`match quantize {path}` quantizes it" if real else f"`match compile {path}` compiles it"
    console.print(f"{name}: {path} ({what})", highlight=False, soft_wrap=True)


def ops(target: typed.Target, operator: typed.Operator = None, as_markdown: typed.Markdown = False) -> None:
    """Print which operators the modules of TARGET take, and under which conditions."""
    from rich.console import Console

    from match.report.operators import markdown, show_operators
    from match.target.registry import get_target

    if as_markdown:
        if operator is not None:
            raise OptionError("--markdown writes the page of all operators; leave it or OPERATOR out.")
        write_out(markdown(get_target(target)))
        return
    console = Console()
    console.width = console.width if console.is_terminal else PIPE_WIDTH
    show_operators(get_target(target), operator, console)


def new_target(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the target and of its Python package.")],
    parent: Annotated[Path, typer.Option("--in", metavar="DIR", help="Where the package's folder is made.")] = Path(),
    scratchpad: Annotated[
        bool, typer.Option(help="Its module has a scratchpad; without, its kernels compute out of RAM and flash.")
    ] = True,
    quiet: typed.Quiet = False,
) -> None:
    """Write a package with a target that works, to be changed into another chip."""
    from rich.console import Console

    from match.devtools import scaffold

    place = scaffold.new_target(name, parent, scratchpad=scratchpad)
    text = f"{place} is written; `pip install -e {place}` installs it, `match check-target {name}` checks it."
    Console(quiet=quiet).print(text, highlight=False, soft_wrap=True)


def check_target(
    target: typed.Target, as_json: typed.Json = False, quiet: typed.Quiet = False, verbose: typed.Verbose = False
) -> None:
    """Compile and run small layers of every pattern of TARGET and say what its description gets wrong."""
    from rich.console import Console

    from match.devtools.check import check_target as check
    from match.devtools.check import encode
    from match.devtools.check.table import show_coverage
    from match.target.registry import get_target

    with _progress(f"Checking {target}", quiet, verbose) as update:
        result = check(get_target(target), update)
    if as_json:
        write_out(encode(result).decode())
    if result.problems:
        sys.stderr.write("".join(f"match: {problem}\n" for problem in result.problems))
        raise typer.Exit(USAGE_ERROR)
    if not (as_json or quiet):
        console = Console()
        show_coverage(result.coverage, console)
        for sentence in result.untried:
            console.print(sentence, highlight=False, soft_wrap=True)


def demo(target: typed.TargetName = "gap9", quiet: typed.Quiet = False, verbose: typed.Verbose = False) -> None:
    """Compile, build and run a small network that reads handwritten digits, and show what it costs."""
    from rich.console import Console

    from match.devtools.demo import run_demo
    from match.report import show

    with _progress(f"Compiling, building and running the demo for {target}", quiet, verbose) as update:
        result = run_demo(target, update)
    console = Console(quiet=quiet)
    console.print(result.summary(), "", highlight=False, sep="\n")
    show(result.report, console)


def _labelled(file: Path, manifest: Manifest, labels: str | None = None) -> tuple[dict[str, Array], Array | None]:
    """The inputs in a file, and their labels: the array or the file that `labels` names, or those beside the inputs.

    There are none if nothing is named and no array is called so, or an input is.
    """
    from match.files import npz
    from match.files.labels import read_labels

    given = npz.read(file)
    own = [tensor.name for tensor in manifest.inputs]
    beside = {name: given.pop(name) for name in (labels, npz.LABELS) if name in given and name not in own}
    name = labels or npz.LABELS
    given = npz.by_input(given, own)
    if labels is None or name in beside:
        return given, beside.get(name)
    if not Path(labels).is_file():
        raise OptionError(f"--labels {labels} is no array beside the inputs in {file}, and no file; name one of these.")
    return given, read_labels(Path(labels))


@contextmanager
def _progress(what: str, quiet: bool, verbose: bool) -> Generator[Callable[[str], None]]:
    """Shows `what` is going on and for how long, where someone may be watching; gives what shows the state of it.

    With `verbose` every state is a line on stderr, wherever that goes.
    """
    from rich.console import Console

    if quiet and verbose:
        raise OptionError("--quiet and --verbose were both given; leave one out.")
    console = Console(stderr=True)
    if quiet:
        yield lambda state: None
    elif verbose:
        yield _Lines(what).tell
    elif console.is_terminal:
        from rich.markup import escape
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
        with Progress(*columns, console=console, transient=True) as shown:
            task = shown.add_task(escape(what), total=None)
            yield lambda state: shown.update(task, description=escape(f"{what}: {state}"))
    else:
        yield lambda state: None


class _Lines:
    """What is under way as lines on stderr, with the seconds so far; of one that counts, one line a second."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = time.perf_counter()
        self._last = "", self._began

    def tell(self, state: str) -> None:
        """Write a line, if it is another phase or time for one."""
        phase, now = state.partition(",")[0], time.perf_counter()
        if phase != self._last[0] or now - self._last[1] >= 1:
            self._last = phase, now
            sys.stderr.write(f"{now - self._began:8.2f} s  {self._what}: {state}\n")
            sys.stderr.flush()
