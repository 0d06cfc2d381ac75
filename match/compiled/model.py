"""A compiled network as a value: what it is predicted to cost, and what can be done with its C."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy.typing as npt

from match import run as runs
from match.analysis.simulate import Timeline
from match.analysis.timeline import write_timeline
from match.analysis.trace import LayerTrace
from match.codegen.identity import fingerprint
from match.codegen.network import Network
from match.codegen.project import export, shared_by
from match.codegen.project_folder import OVERWRITE, earlier
from match.compilation.options import Options
from match.dispatch.plan import LayerDecision, Layers
from match.errors import OptionError, ToolchainError
from match.files.output import MEMORY_MAP_ENDINGS, check_ending, whole_file
from match.frontend import Model, ModelTensor
from match.interrupt.unfinished import scratch_folder
from match.partitioning.partitioner import Partitioned
from match.report import REPORT, Report, encode
from match.report.layer_rows import html_table, layer_rows
from match.report.measured import measurement, with_earlier
from match.report.memory import outside_main_memory
from match.report.memory_areas import network_areas
from match.report.memory_picture import memory_picture
from match.report.schema import Measurement
from match.report.shown import ShownReport
from match.report.stretches import simulated, stretches
from match.target.arguments import check_truth, path_of, shown
from match.target.hardware import MatchTarget
from match.validation.schema import ExactSummary, Validation

_SANITIZE = "sanitize is whether sanitizers are on"


class CompiledModel:
    """A network compiled for a target: what it is predicted to cost, and its C."""

    def __init__(
        self,
        network: Network,
        target: MatchTarget,
        report: Report,
        *,
        model: Model,
        options: Options,
        partitioned: Partitioned,
        exact: Callable[[], ExactSummary | None] | None,
    ) -> None:
        """Made by `compile`; `exact` finds what the model's own requantization costs, where the network has another."""
        self._network = network
        self._target = target
        self._model = model
        self._options = options
        self._partitioned = partitioned
        self._exact = exact
        self._layers = Layers(partitioned.decisions)
        self._report = ShownReport.of(report)
        self._built: Path | None = None

    def __repr__(self) -> str:
        milliseconds = 1e3 * self.cycles / self._target.clock_hz
        return (
            f"<CompiledModel {self._network.name} for {self._target.name}: {len(self._layers)} layers, "
            f"{self.cycles:,.0f} cycles predicted, {milliseconds:.3f} ms>"
        )

    @property
    def layers(self) -> Layers:
        """What was decided about each operator, in execution order; ``layers["conv2d_1"]`` is that of this name."""
        return self._layers

    @property
    def inputs(self) -> tuple[ModelTensor, ...]:
        """Name, shape and NumPy dtype of each input tensor, in the network's order."""
        return self._network.inputs

    @property
    def outputs(self) -> tuple[ModelTensor, ...]:
        """The same of each output tensor."""
        return self._network.outputs

    @property
    def partitioned(self) -> Partitioned:
        """The network as it was cut: its rows, the decision about each, and the functions that TVM compiles."""
        return self._partitioned

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what the model file leaves open and the compiler decided, such as the batch."""
        return self._model.notes

    @property
    def cycles(self) -> float:
        """Predicted cycles of the network, at the target's clock: those of all `layers`."""
        return sum(layer.cycles for layer in self._layers)

    @property
    def report(self) -> ShownReport:
        """Costs by layer and in total, as in `report.json`; ``report.show()`` is a page for notebooks."""
        return self._report

    def save(self, directory: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the C project with its `report.json` into a folder.

        Of a project that is already there the files that it was written with are replaced, and all others stay. If it
        is of the same C, so do its measurements.

        Args:
            directory: the folder.
            overwrite: also replace files that were changed since they were written.

        Raises:
            OutputError: if the folder cannot be written, holds something that is not a project, or files that were
                changed since they were written.
        """
        folder = path_of(directory, "the folder of a project")
        check_truth(overwrite, OVERWRITE)
        report = with_earlier(self._report, folder) if self._is_in(folder) else self._report
        export(self._network, self._target, folder, {REPORT: encode(report).decode()}, overwrite=overwrite)

    def run(
        self,
        inputs: Mapping[str, npt.NDArray[Any]] | None = None,
        *,
        seed: int = 0,
        on: str = "host",
        sanitize: bool = False,
    ) -> dict[str, npt.NDArray[Any]]:
        """Outputs by tensor name, computed by the generated C.

        The first call builds the C in a folder of its own, which goes when this object does.

        Args:
            inputs: for each input tensor an array of its dtype and shape, or of as many such samples as all the others
                along a new first axis; the outputs then have that axis too. None: a random sample.
            seed: of the random sample.
            on: what runs it: "host" is this machine, "qemu", "rtl" and "gvsoc" are simulators, as far as the target has
                platforms for them.
            sanitize: build and run with the address and undefined-behaviour sanitizers, on the host.

        Raises:
            InputError: if the inputs do not match the network's.
            OptionError: if the network does not run there, or there are no sanitizers.
            ToolchainError: if make, a C compiler or what runs the program is missing, the build fails, or the program
                does.
        """
        check_truth(sanitize, _SANITIZE)
        return runs.run(self._project(), self._inputs(inputs, seed), on=on, sanitize=sanitize)

    def measure(
        self,
        inputs: Mapping[str, npt.NDArray[Any]] | None = None,
        *,
        seed: int = 0,
        on: str,
        flags: str | None = None,
    ) -> tuple[dict[str, npt.NDArray[Any]], Measurement]:
        """What `run` returns, and what the layers cost, as it was counted on `on`.

        Arguments and errors are those of `run`; the build is another one, with `flags` in place of CFLAGS of the
        environment if they are given.

        Raises:
            OptionError: if nothing is counted there, too.
        """
        outputs, counts = runs.measure(self._project(), self._inputs(inputs, seed), on=on, flags=flags)
        return outputs, measurement(self._report.layers, counts)

    def trace(
        self, inputs: Mapping[str, npt.NDArray[Any]] | None = None, *, seed: int = 0, sanitize: bool = False
    ) -> tuple[dict[str, npt.NDArray[Any]], tuple[LayerTrace, ...]]:
        """What `run` returns, and the transfers, waits and kernel calls of each layer on a module, as they happened.

        With several samples, the layers of the first come before those of the second. Arguments and errors are those of
        `run`; the build is another one.
        """
        check_truth(sanitize, _SANITIZE)
        return runs.trace(self._project(), self._inputs(inputs, seed), sanitize=sanitize)

    def validate(
        self,
        inputs: Mapping[str, npt.NDArray[Any]] | None = None,
        *,
        labels: npt.NDArray[Any] | None = None,
        samples: int | None = None,
        seed: int = 0,
        on: str = "host",
        layers: bool = False,
    ) -> Validation:
        """Run the generated C beside TFLite Micro, onnxruntime or the network's own integers, and count differences.

        Args:
            inputs: as for `run`; none: random ones.
            labels: the class of each sample, an index into the one output.
            samples: how many random inputs, or the first of those given.
            seed: of the first random input; the next has the next one.
            on: what runs the C, as for `run`.
            layers: compare operator by operator, too.

        Raises:
            InputError: if inputs or labels do not match the network's.
            OptionError: if the network does not run there, or there are no samples.
            ToolchainError: if the reference is not installed, or as for `run`.
        """
        check_truth(layers, "layers is whether each operator is compared")
        from match.validation.validate import validate

        return validate(
            self._project(),
            self._model,
            inputs=inputs,
            labels=labels,
            samples=samples,
            seed=seed,
            on=on,
            layers=layers,
            partitioned=lambda: self._partitioned,
            changed=(lambda: self._partitioned.graph) if self._options.changes_network else None,
            exact=self._exact,
        )

    def simulate(self, layer: LayerDecision) -> Timeline:
        """The predicted timeline of one of `layers`, tile by tile.

        Raises:
            OptionError: if the layer runs on the control core, which has no schedule, or is none of this network.
        """
        if not any(layer is own for own in self._layers):
            raise OptionError(f"a layer is one of the network's `layers`, not {shown(layer)}; give one of them.")
        if layer.plan is None:
            raise OptionError(f"layer {layer.name} runs on the control core and has no schedule; choose another.")
        return simulated(layer.plan, self._target)

    def save_timeline(self, path: str | PathLike[str]) -> None:
        """Write the predicted timeline of one inference: a picture if `path` ends in .svg, .json for ui.perfetto.dev.

        Raises:
            OptionError: if `path` ends otherwise.
            OutputError: if the file cannot be written.
        """
        file = path_of(path, "the file of a timeline")
        external = self._target.external.memory.name if self._target.external else ""
        made = stretches(self._layers, partial(simulated, target=self._target), self._network.memory, external)
        outside = outside_main_memory(self._report)
        write_timeline(file, self._network.name, made, self._target.clock_hz, "predicted", outside)

    def save_memory_map(self, path: str | PathLike[str]) -> None:
        """Write a picture of what lies where in which step: in main memory, external memory and scratchpads.

        Raises:
            OptionError: if `path` does not end in .svg.
            OutputError: if the file cannot be written.
        """
        file = path_of(path, "the file of a memory map")
        check_ending(file, MEMORY_MAP_ENDINGS, "a memory map")
        areas = network_areas(self._report)
        title = f"{self._network.name} on {self._target.name}: what lies where in which step"
        with whole_file(file) as unfinished:
            unfinished.write_text(memory_picture(title, areas), encoding="utf-8")

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with a row for each layer, named by it, and the columns that ``--csv`` writes.

        Raises:
            ToolchainError: if pandas is not installed.
        """
        try:
            pandas: Any = import_module("pandas")
        except ImportError as error:
            raise ToolchainError(
                "to_pandas needs pandas, which is not installed: `pip install 'match-compiler[pandas]'`."
            ) from error
        return pandas.DataFrame(layer_rows(self._report)).set_index("layer")

    def _repr_html_(self) -> str:
        """A table of the layers, for notebooks."""
        return html_table(repr(self).strip("<>"), self._report)

    def _is_in(self, folder: Path) -> bool:
        """Whether the project in the folder has the same C."""
        before = earlier(folder)
        return (before.fingerprint, before.shared) == (fingerprint(self._network), shared_by(self._target).symbol)

    def _inputs(self, given: Mapping[str, npt.NDArray[Any]] | None, seed: int) -> Mapping[str, npt.NDArray[Any]]:
        return runs.random_inputs(runs.read_manifest(self._project()), seed) if given is None else given

    def _project(self) -> Path:
        if self._built is None:
            held = ExitStack()
            weakref.finalize(self, held.close)
            folder = held.enter_context(scratch_folder("match-"))
            self.save(folder)
            self._built = folder
        return self._built
