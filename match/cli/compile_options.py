"""The options of a compilation on the command line, and what the compiler is asked for by them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from match.cli.arguments import Jobs, NoCache, number_of_bytes
from match.errors import OptionError

if TYPE_CHECKING:
    from match.compilation.arguments import CompileArguments
    from match.target.memory_sizes import Sizes


def sizes_of_l1(text: str) -> Sizes:
    """The bytes of L1 in an option: a number, or one for each module that has an L1 of its own."""
    if "=" not in text:
        return number_of_bytes(text)
    from match.target.memory_sizes import l1_sizes

    try:
        return l1_sizes(text) or {}
    except OptionError as error:
        raise typer.BadParameter(str(error).rstrip(".")) from error


@dataclass(frozen=True)
class CompileOptions:
    """The options by which `match compile` asks for something else than usual, with what `--help` says of them."""

    modules: Annotated[
        str | None,
        typer.Option("--modules", metavar="A,B", help="Use these modules of the target only.", show_default="all"),
    ] = None
    l1: Annotated[
        Any,
        typer.Option(
            "--l1",
            metavar="BYTES",
            parser=sizes_of_l1,
            help="Size of L1, as 65536 or 64k; of modules with an L1 of their own each, as cluster=64k,npu=32k.",
            show_default="the target's",
        ),
    ] = None
    l2: Annotated[
        int | None,
        typer.Option(
            "--l2",
            metavar="BYTES",
            parser=number_of_bytes,
            help="Main memory for the network, as 262144 or 256k.",
            show_default="the target's, less an estimated program",
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set what the target declares, such as cluster.cores=4 or dma.bytes=4; may be given several times.",
            show_default="the target's",
        ),
    ] = None
    engine: Annotated[
        str, typer.Option("--engine", metavar="NAME", help="How schedules are searched: exact, loma or dory.")
    ] = "exact"
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            metavar="NAME",
            help="What is minimised: latency, bytes, ram or, for targets that know it (`match targets`), energy or "
            "edp, energy times latency.",
        ),
    ] = "latency"
    at_most: Annotated[
        str | None,
        typer.Option(
            "--at-most",
            metavar="NAME=TIMESx",
            help="A bound beside the objective, in times the least: with --objective energy, latency=1.1x is the "
            "network of least energy among those that take at most 1.1 times the least latency.",
            show_default="none",
        ),
    ] = None
    numerics: Annotated[
        str,
        typer.Option(
            "--numerics",
            metavar="hardware|exact",
            help="Take each module's closest requantization, or only those that compute the network's own integers.",
        ),
    ] = "hardware"
    jobs: Jobs = None
    no_cache: NoCache = False
    no_fuse: Annotated[
        bool,
        typer.Option(
            "--no-fuse", help="One operator at a time; by default modules execute several as one where it pays."
        ),
    ] = False
    rescale: Annotated[
        bool,
        typer.Option(
            "--rescale",
            help="For modules that requantize by shifts alone: scales go into weights, which moves outputs; the report "
            "says how far.",
        ),
    ] = False
    quantize_recurrent: Annotated[
        bool,
        typer.Option(
            "--quantize-recurrent",
            help="LSTM and GRU of ONNX files on modules: weights and states become integers, which moves outputs; "
            "the report says how far.",
        ),
    ] = False
    calibrate: Annotated[
        Path | None,
        typer.Option(
            "--calibrate",
            metavar="X.npz",
            help="Samples of the inputs, for --quantize-recurrent where the model does not quantize what LSTM and GRU "
            "read: it gets 8 bits in the range that they have there.",
            show_default="none",
        ),
    ] = None
    states: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="IN:OUT",
            help="Keep output OUT in the network, which is its input IN in the next inference; may be given "
            "several times.",
            show_default="what the model itself keeps",
        ),
    ] = None
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="What every name in the C project begins with.", show_default="from the file"
        ),
    ] = None
    input_type: Annotated[
        str | None,
        typer.Option(
            "--input-type",
            metavar="int8|uint8|float32",
            help="Type of the inputs; a quantize in front then is the caller's, with its scale in the header.",
            show_default="the model's",
        ),
    ] = None
    output_type: Annotated[
        str | None,
        typer.Option(
            "--output-type", metavar="int8|uint8|float32", help="Type of the outputs.", show_default="the model's"
        ),
    ] = None
    input_layout: Annotated[
        str | None,
        typer.Option(
            "--input-layout", metavar="nhwc|nchw", help="Layout of inputs with 4 axes.", show_default="the model's"
        ),
    ] = None

    @property
    def asked(self) -> CompileArguments:
        """The same as arguments of `match.compile`."""
        same = {name: value for name, value in vars(self).items() if name not in ("no_cache", "no_fuse")}
        from match.files import npz

        read = {
            "modules": None if self.modules is None else [name.strip() for name in self.modules.split(",")],
            "settings": settings_of(self.settings or ()),
            "cache": not self.no_cache,
            "fuse": not self.no_fuse,
            "states": states_of(self.states or ()),
            "calibrate": None if self.calibrate is None else npz.read(self.calibrate),
        }
        return cast("CompileArguments", same | read)


USUAL = CompileOptions()
"""What a compilation is asked for without options."""


def settings_of(given: Sequence[str]) -> dict[str, str]:
    """Names and values of settings, as they are given: NAME=VALUE."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise OptionError(f"--set {text} sets nothing; give a name and a value, such as --set dma.bytes=4.")
        if name in found:
            raise OptionError(f"--set {name} is given more than once; give it one value.")
        found[name] = value
    return found


def states_of(given: Sequence[str]) -> dict[str, str]:
    """Outputs that become inputs, by the names of these, as they are given: IN:OUT.

    Names may have colons, as those of TensorFlow do, if both have as many.
    """
    found: dict[str, str] = {}
    for text in given:
        parts = text.split(":")
        half = len(parts) // 2
        name, output = ":".join(parts[:half]), ":".join(parts[half:])
        if len(parts) % 2 or not name or not output:
            raise OptionError(f"--state {text} is no pair of names; give it as IN:OUT, such as --state h_in:h_out.")
        if name in found:
            raise OptionError(f"--state {name} is given more than once; give it one output.")
        found[name] = output
    return found


def with_compile_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command of which each field of its argument `options` is an option."""
    hints = get_type_hints(CompileOptions, include_extras=True)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    each = [
        inspect.Parameter(one.name, kind, default=one.default, annotation=hints[one.name])
        for one in fields(CompileOptions)
    ]

    @wraps(command)
    def called(**given: Any) -> None:
        own = {one.name: given.pop(one.name) for one in each}
        command(**given, options=CompileOptions(**own))

    signature = inspect.signature(command, eval_str=True)
    parameters = [part for one in signature.parameters.values() for part in (each if one.name == "options" else [one])]
    called.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]
    return called
