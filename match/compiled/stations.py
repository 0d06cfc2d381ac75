"""The stations between a network that was read and its report, in order, with C and without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache as computed_once
from functools import partial
from typing import TYPE_CHECKING, Any

from match.codegen.capacity import NetworkBytes, needs
from match.codegen.network import Network
from match.compilation.options import RAM, Numerics, Options
from match.compilation.stopwatch import Stopwatch
from match.compiled.dataflow import dataflow
from match.compiled.main_memory import Estimate, estimate
from match.errors import CapacityError, OptionError
from match.frontend.failures import tvm_failures
from match.frontend.model import Model, tensor_bytes
from match.graph.text import text
from match.graph.value import Graph
from match.partitioning.least_l1 import check_l1
from match.partitioning.partitioner import Partitioned, cut
from match.partitioning.quantizable import Quantizable, quantizable
from match.passes.pipeline import integer_network
from match.report import Report
from match.report import build as build_report
from match.report.changes import Otherwise
from match.report.reads import Reads
from match.rewrites.rescale import rescaled
from match.target.hardware import MatchTarget
from match.target.registry import get_target
from match.validation.in_numpy import moved_outputs

if TYPE_CHECKING:
    from match.relay import tvm


@dataclass(frozen=True, eq=False)
class Asked:
    """What one compilation is asked for: the chip, made and restricted as the options say, and these."""

    chip: MatchTarget
    options: Options

    @classmethod
    def of(cls, target: str | MatchTarget, options: Options) -> Asked:
        """A compilation for a target.

        Raises:
            OptionError, TargetError: there is no such target, or it cannot be made so.
        """
        return cls(get_target(target, options.l1, options.modules, options.l2, options.settings), options)


@dataclass(frozen=True, eq=False)
class Questions:
    """What the report asks beside the choice, answered once and when it is asked.

    `quantizable`: recurrent layers in floating point that modules would take. `exact_cycles`: the predicted cycles with
    exact numerics, None where the network does not fit the memories then; `exact_whole`: if main memory held
    everything, which is known much sooner.
    """

    quantizable: Callable[[], tuple[Quantizable, ...]]
    exact_cycles: Callable[[], int | None]
    exact_whole: Callable[[], int]


def integer_form(model: Model, asked: Asked, stopwatch: Stopwatch) -> Graph:
    """The network in integer form, as the target and the options ask for it."""
    chip, options = asked.chip, asked.options
    with tvm_failures(model.name), stopwatch.phase("transform"):
        network = integer_network(
            model,
            chip.activations,
            exact=options.exact,
            quantize_recurrent=options.quantize_recurrent,
            passed=stopwatch.passed,
        )
        network = rescaled_where_asked(network, chip, options)
        if options.rescale:
            stopwatch.passed("rescale", partial(text, network))
        return network


def rescaled_where_asked(network: Graph, target: MatchTarget, options: Options) -> Graph:
    """A network in integer form, rescaled if that was asked for."""
    return rescaled(network, target) if options.rescale else network


def cut_for(integer: Graph, model: Model, asked: Asked, stopwatch: Stopwatch) -> Partitioned:
    """The network, cut as is cheapest with everything in main memory.

    Raises:
        CapacityError: no layer fits the L1 that was asked for.
    """
    chip, options = asked.chip, asked.options
    partitioned = cut(integer, chip, options, model.name, stopwatch)
    larger = partial(_cut_for_l1, integer, chip, options, model.name, stopwatch)
    check_l1(partitioned, options.l1, model.name, larger)
    return partitioned


def _cut_for_l1(
    integer: Graph, target: MatchTarget, options: Options, name: str, stopwatch: Stopwatch, l1: int
) -> Partitioned | None:
    """The network, cut for an L1 of `l1` bytes; None if the target cannot have that size, or modules have their own."""
    try:
        larger = get_target(target, l1)
    except OptionError:
        return None
    return cut(integer, larger, options, name, stopwatch)


def questions(model: Model, asked: Asked, stopwatch: Stopwatch) -> Questions:
    """Those about a network."""
    return Questions(
        computed_once(partial(_quantizable, model, asked, stopwatch)),
        partial(exact_cycles, model, asked.chip, asked.options),
        partial(_exact_whole, model, asked.chip, asked.options),
    )


def _quantizable(model: Model, asked: Asked, stopwatch: Stopwatch) -> tuple[Quantizable, ...]:
    """Recurrent layers in floating point that would be on modules, if that was asked for."""
    if asked.options.exact or asked.options.quantize_recurrent:
        return ()
    return quantizable(model, asked.chip, asked.options, stopwatch)


def exact_cycles(model: Model, target: MatchTarget, options: Options) -> int | None:
    """The predicted cycles of the network with exact numerics; None where it does not fit the memories then."""
    asked, stopwatch = _exactly(target, options), Stopwatch()
    try:
        return cycles_of(predicted(integer_form(model, asked, stopwatch), model, asked, stopwatch).partitioned)
    except CapacityError:
        return None


def _exact_whole(model: Model, target: MatchTarget, options: Options) -> int:
    """The predicted cycles with exact numerics if main memory held everything."""
    asked, stopwatch = _exactly(target, options), Stopwatch()
    return cycles_of(cut_for(integer_form(model, asked, stopwatch), model, asked, stopwatch))


def _exactly(target: MatchTarget, options: Options) -> Asked:
    """A compilation with exact numerics, which keep all of the model's arithmetic."""
    return Asked(target, replace(options, numerics=Numerics.EXACT, rescale=False, quantize_recurrent=False, l1=None))


def cycles_of(partitioned: Partitioned) -> int:
    """The predicted cycles of a network that is cut, as a report has them."""
    return sum(round(decision.cycles) for decision in partitioned.decisions)


@dataclass(frozen=True, eq=False)
class Predicted:
    """A network in the memories of its target: its decisions, and what main memory holds.

    `network` is what TVM made of it, where that had to be known: of a network that main memory may not hold, or of one
    that was compiled. Without it, `estimate` says what main memory holds. `whole` are the predicted cycles if main
    memory held everything.
    """

    partitioned: Partitioned
    whole: int
    reads: tuple[Reads, ...]
    network: Network | None = None
    estimate: Estimate | None = None


def predicted(integer: Graph, model: Model, asked: Asked, stopwatch: Stopwatch) -> Predicted:
    """A network as it is compiled, without C: TVM is asked only if main memory may not hold it, or is minimised.

    Raises:
        CapacityError: if the chip does not have the memory, or no layer fits the L1 that was asked for.
    """
    chip = asked.chip
    with tvm_failures(model.name), asked.options.with_folder() as options:
        partitioned = cut_for(integer, model, replace(asked, options=options), stopwatch)
        whole, reads = cycles_of(partitioned), dataflow(partitioned)
        known = estimate(partitioned, reads)
        border = tensor_bytes((*model.inputs, *model.outputs))
        states = sum(state.nbytes for state in integer.states)
        activations = known.workspace.bytes + known.own + border
        program = partitioned.program_bytes
        needed = needs(NetworkBytes(activations, states, known.constant_bytes, program), chip)
        if options.objective != RAM and not any(need.short for need in needed):
            return Predicted(partitioned, whole, reads, estimate=known)
        from match.external_memory.fit import in_memory

        partitioned, network = in_memory(partitioned, integer, model, options, stopwatch)
        return Predicted(partitioned, whole, dataflow(partitioned), network)


def report(
    made: Predicted,
    model: Model,
    asked: Asked,
    otherwise: Otherwise | None,
    stopwatch: Stopwatch,
) -> Report:
    """The report of a network; without what is known of it `otherwise` it has neither timeline nor advice."""
    partitioned, network, known = made.partitioned, made.network, made.estimate
    with stopwatch.phase("compare"):
        moved = moved_outputs(partitioned, model.inputs, model.outputs)
    return build_report(
        model=model,
        target=asked.chip,
        options=asked.options,
        decisions=partitioned.decisions,
        states=partitioned.graph.states,
        reads=made.reads,
        compile_seconds=stopwatch.seconds,
        elements=_elements(model.network),
        deviations=partitioned.deviations(),
        moved_outputs=moved,
        otherwise=otherwise,
        **_sizes(model, asked.chip, partitioned, network, known),
    )


def _elements(network: Graph | tvm.IRModule) -> dict[str, int]:
    """How many elements the tensors have that the model has names for."""
    if isinstance(network, Graph):
        return {value.source: value.tensor.elements for value in network.values if value.source}
    from match.relay.graph import elements_by_source
    from match.relay.objects import main_function

    return elements_by_source(main_function(network))


def _sizes(
    model: Model, chip: MatchTarget, partitioned: Partitioned, network: Network | None, known: Estimate | None
) -> Mapping[str, Any]:
    """What the report is told of main memory."""
    if network is not None:
        return {
            "workspace_bytes": network.activation_bytes,
            "constant_bytes": network.constant_bytes,
            "program_bytes": network.program_bytes(chip),
            "network": network,
        }
    assert known is not None, "what TVM did not make is estimated"
    return {
        "workspace_bytes": known.workspace.bytes + tensor_bytes((*model.inputs, *model.outputs)),
        "constant_bytes": known.constant_bytes,
        "program_bytes": partitioned.program_bytes,
        "workspace": known.workspace,
    }
