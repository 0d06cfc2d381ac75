"""The command line: `match compile`, `build`, `run`, `targets`, `zoo`, and what authors of targets need.

Every error that a user can cause is one sentence on stderr and exit status 2. Results go to stdout; progress goes to
stderr, and only to a terminal. Commands import what they need when they run, so that `match --help` is quick.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from match.errors import MatchError, OptionError

if TYPE_CHECKING:
    from match.run import Counts

USAGE_ERROR = 2
INTERRUPTED = 130
PIPE_WIDTH = 160


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, by default on the process's arguments, and exit with its status."""
    app = typer.Typer(
        help="Compile quantized neural networks to C for heterogeneous microcontrollers.",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command("compile")(compile_model)
    app.command("build")(build_project)
    app.command("run")(run)
    app.command("targets")(targets)
    app.command("ops")(ops)
    app.command("new-target")(new_target)
    app.command("check-target")(check_target)
    app.command("zoo")(zoo)
    app.command("demo")(demo)
    given = list(sys.argv[1:] if arguments is None else arguments)
    execute(app, "match", given or ["--help"])


def execute(app: typer.Typer, program: str, arguments: Sequence[str]) -> NoReturn:
    """Run a command line and exit with its status; an error that a user can cause is a sentence on stderr."""
    try:
        status = app(args=list(arguments), prog_name=program, standalone_mode=False)
    except (MatchError, typer.TyperException) as error:
        message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
        sys.stderr.write(f"{program}: {_sentence(message)}\n")
        status = USAGE_ERROR
    except OSError as error:
        place = f"{error.filename} cannot be used" if error.filename else "a file cannot be used"
        sys.stderr.write(f"{program}: {place}: {error.strerror or error}.\n")
        status = USAGE_ERROR
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    sys.exit(status or 0)


def _sentence(message: str) -> str:
    """`message` as one sentence on one line."""
    joined = re.sub(r"[.] (\w)", lambda start: f"; {start[1].lower()}", " ".join(message.split()))
    return joined if joined.endswith((".", "?")) else f"{joined}."


def _bytes(text: str) -> int:
    try:
        size = int(text)
    except ValueError:
        size = 0
    if size <= 0:
        raise typer.BadParameter(f"{text!r} is not a positive number of bytes")
    return size


ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A .tflite or .onnx file, quantized to 8 bits.")]
ProjectPath = Annotated[Path, typer.Argument(metavar="DIR", help="A folder made by `match compile`.")]
TargetName = Annotated[str, typer.Option("--target", metavar="NAME", help="The chip; see `match targets`.")]
Modules = Annotated[
    str | None,
    typer.Option("--modules", metavar="A,B", help="Use these modules of the target only.", show_default="all"),
]
L1Size = Annotated[
    int | None, typer.Option("--l1", metavar="BYTES", parser=_bytes, help="Size of L1.", show_default="the target's")
]
L2Size = Annotated[
    int | None,
    typer.Option("--l2", metavar="BYTES", parser=_bytes, help="Size of the main memory.", show_default="the target's"),
]
Engine = Annotated[
    str, typer.Option("--engine", metavar="NAME", help="How schedules are searched: exact, loma or dory.")
]
Objective = Annotated[
    str, typer.Option("--objective", metavar="NAME", help="What the search minimises: latency, energy or bytes.")
]
Numerics = Annotated[
    str,
    typer.Option(
        "--numerics",
        metavar="hardware|exact",
        help="Take each module's closest requantization, or only those that compute the network's own integers.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", metavar="N", min=1, help="Processes that search at a time.", show_default="one per processor"
    ),
]
NoCache = Annotated[
    bool,
    typer.Option("--no-cache", help="Search anew, and keep nothing; by default schedules are kept."),
]
Output = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the C project.")]
InputFile = Annotated[
    Path | None,
    typer.Option(
        "--input",
        metavar="X.npz",
        help="Input tensors by name, one sample or a batch.",
        show_default="random, see --seed",
    ),
]
OutputFile = Annotated[
    Path | None,
    typer.Option("--output", metavar="Y.npz", help="Write the output tensors here.", show_default="print them"),
]
NetworkName = Annotated[
    str | None, typer.Argument(metavar="NAME", help="The network to write.", show_default="list all")
]
NetworkFile = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="X.onnx", help="Write it here.", show_default="NAME.onnx")
]
Classes = Annotated[
    int | None, typer.Option("--classes", metavar="N", help="Number of classes.", show_default="the network's own")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the random inputs.")]
TimelineFile = Annotated[
    Path | None,
    typer.Option(
        "--timeline", metavar="T.json|T.svg", help="Write the predicted timeline: for ui.perfetto.dev, or a picture."
    ),
]
MemoryMapFile = Annotated[
    Path | None,
    typer.Option(
        "--memory-map", metavar="M.svg", help="Write a picture of what lies where and when, with external memory."
    ),
]
TraceFile = Annotated[
    Path | None,
    typer.Option(
        "--trace", metavar="T.json|T.svg", help="Write what layers did, in order: for ui.perfetto.dev, or a picture."
    ),
]
PlatformName = Annotated[
    str, typer.Option("--platform", metavar="NAME", help="What the program is for, one of the target's platforms.")
]
On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="host|qemu|rtl|gvsoc",
        help="What runs it: this machine, QEMU, one core's RTL under Verilator, or GVSoC, as far as the target has a "
        "platform for it.",
    ),
]
Sanitize = Annotated[
    bool, typer.Option("--sanitize", help="Build with the address and undefined-behaviour sanitizers.")
]


def compile_model(
    model: ModelPath,
    output: Output,
    target: TargetName = "gap9",
    modules: Modules = None,
    l1: L1Size = None,
    l2: L2Size = None,
    engine: Engine = "exact",
    objective: Objective = "latency",
    numerics: Numerics = "hardware",
    jobs: Jobs = None,
    no_cache: NoCache = False,
    timeline: TimelineFile = None,
    memory_map: MemoryMapFile = None,
) -> None:
    """Compile MODEL into a C project and print what each layer is predicted to cost."""
    from rich.console import Console

    import match
    from match.codegen.project import check_folder
    from match.report import show

    check_folder(output.resolve())  # a search may take minutes
    with _progress(f"Compiling {model.name} for {target}"):
        compiled = match.compile(
            model,
            target,
            modules=None if modules is None else [name.strip() for name in modules.split(",")],
            l1=l1,
            l2=l2,
            engine=engine,
            objective=objective,
            numerics=numerics,
            jobs=jobs,
            cache=not no_cache,
        )
        if timeline is not None:
            compiled.save_timeline(timeline)
        if memory_map is not None:
            compiled.save_memory_map(memory_map)
        compiled.save(output)
    console = Console()
    show(compiled.report, console)
    console.print(f"C project: {output} (`match run {output}` builds and runs it)", highlight=False, soft_wrap=True)


def build_project(directory: ProjectPath, platform: PlatformName = "host", sanitize: Sanitize = False) -> None:
    """Build the program of the C project in DIR for one of its platforms."""
    from rich.console import Console

    from match.run import build

    with _progress(f"Building {directory} for {platform}"):
        program = build(directory, platform, sanitize=sanitize)
    Console().print(str(program), highlight=False, markup=False, soft_wrap=True)


def run(
    directory: ProjectPath,
    inputs: InputFile = None,
    outputs: OutputFile = None,
    seed: Seed = 0,
    on: On = "host",
    sanitize: Sanitize = False,
    trace: TraceFile = None,
) -> None:
    """Run the C project in DIR, building it where that is due; what a platform counts joins its report."""
    from rich.console import Console

    from match import npz
    from match.run import measure, platform_on, random_inputs, read_manifest
    from match.run import run as run_project
    from match.run import trace as trace_project
    from match.timeline import write_timeline

    manifest = read_manifest(directory)
    given = random_inputs(manifest, seed) if inputs is None else npz.read(inputs)
    counts: Counts | None = None
    with _progress(f"Running {manifest.name}"):
        if trace is not None:
            computed, layers = trace_project(directory, given, on=on, sanitize=sanitize)
            steps_per_second = 1e6
            stretches = (layer.stretch() for layer in layers)
            write_timeline(trace, manifest.name, stretches, steps_per_second, "steps of one microsecond")
        elif platform_on(manifest, on).counts and not sanitize:
            computed, counts = measure(directory, given, on=on)
        else:
            computed = run_project(directory, given, on=on, sanitize=sanitize)
    if outputs is not None:
        npz.write(outputs, computed)
    console = Console()
    for name, array in computed.items():
        console.print(f"{name}: {array.dtype} {list(array.shape)}", highlight=False, markup=False)
        if outputs is None:
            console.print(str(array), highlight=False, markup=False)
    if counts is not None:
        from match.report import show
        from match.report.measured import add_to_report

        console.print()
        show(add_to_report(directory / "report.json", counts), console)


def targets() -> None:
    """List the installed targets, their modules, memories and operators."""
    from rich.console import Console

    from match.registry import get_target, target_names
    from match.report.targets import show_targets

    console = Console()
    console.width = console.width if console.is_terminal else PIPE_WIDTH
    show_targets([get_target(name) for name in target_names()], console)


def zoo(name: NetworkName = None, output: NetworkFile = None, classes: Classes = None) -> None:
    """List networks that can be made for a try, or write one as a quantized ONNX model with random weights."""
    from rich.console import Console

    from match.zoo.catalogue import show_networks, write_network

    console = Console()
    if name is None:
        if output is not None or classes is not None:
            raise OptionError("--output and --classes need the name of a network; `match zoo` lists them.")
        show_networks(console)
        return
    path = output or Path(f"{name}.onnx")
    with _progress(f"Making {name}"):
        write_network(name, path, classes)
    console.print(f"{name}: {path} (`match compile {path} -o DIR` compiles it)", highlight=False, soft_wrap=True)


def ops(target: Annotated[str, typer.Argument(metavar="TARGET", help="An installed target.")]) -> None:
    """Print which operators the modules of TARGET take, and under which conditions, as Markdown."""
    from match.registry import get_target
    from match.report.targets import markdown

    sys.stdout.write(markdown(get_target(target)))


def new_target(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the target and of its Python package.")],
    parent: Annotated[Path, typer.Option("--in", metavar="DIR", help="Where the package's folder is made.")] = Path(),
) -> None:
    """Write a package with a target that works, to be changed into another chip."""
    from rich.console import Console

    from match import scaffold

    place = scaffold.new_target(name, parent)
    text = f"{place} is written; `pip install -e {place}` installs it, `match check-target {name}` checks it."
    Console().print(text, highlight=False, soft_wrap=True)


def check_target(target: Annotated[str, typer.Argument(metavar="TARGET", help="An installed target.")]) -> None:
    """Compile and run small layers of every pattern of TARGET and say what its description gets wrong."""
    from rich.console import Console

    from match.check import check_target as check
    from match.check.table import show_coverage
    from match.registry import get_target

    with _progress(f"Checking {target}"):
        result = check(get_target(target))
    if result.problems:
        sys.stderr.write("".join(f"match: {problem}\n" for problem in result.problems))
        raise typer.Exit(USAGE_ERROR)
    show_coverage(result.coverage, Console())


def demo(target: TargetName = "gap9") -> None:
    """Compile, build and run a small network that reads handwritten digits, and show what it costs."""
    from rich.console import Console

    from match.demo import run_demo
    from match.report import show

    with _progress(f"Compiling, building and running the demo for {target}"):
        result = run_demo(target)
    console = Console()
    console.print(result.summary(), "", highlight=False, sep="\n")
    show(result.report, console)


@contextmanager
def _progress(text: str) -> Generator[None]:
    """Shows that something is going on, where someone may be watching."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(text):
            yield
    else:
        yield
