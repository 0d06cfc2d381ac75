"""Whether a project's C computes what its network is to compute.

`validate` runs the C beside a reference on the same inputs and counts what differs: TFLite Micro for TFLite files,
onnxruntime for ONNX files, for other networks their own integers. With `DumpedOperators` it says which operator it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from match import run as runs
from match.codegen.manifest import Manifest
from match.compilation.stopwatch import Progress, unheard
from match.errors import InputError
from match.frontend.model import Model, ModelTensor
from match.graph.value import Graph
from match.partitioning.partitioner import Partitioned
from match.report.schema import AccuracySummary, Verdict
from match.run.samples import checked, drawn
from match.target.arguments import whole_number
from match.validation.confidence import wilson
from match.validation.differences import difference
from match.validation.layers import DumpedOperators
from match.validation.references import Run, caveat, integers, reference, steps
from match.validation.schema import ExactSummary, LayerDifference, Reference, TensorDifference, Validation
from match.validation.verdict import differs_by_more, verdict

SAMPLES = 16

Array = npt.NDArray[Any]
Arrays = dict[str, Array]


def validate(
    directory: Path,
    model: Model,
    *,
    inputs: Mapping[str, Array] | None = None,
    labels: Array | None = None,
    samples: int | None = None,
    seed: int = 0,
    on: str = "host",
    layers: bool = False,
    partitioned: Callable[[], Partitioned] | None = None,
    changed: Callable[[], Graph] | None = None,
    exact: Callable[[], ExactSummary | None] | None = None,
    progress: Progress = unheard,
) -> Validation:
    """Run a project's C beside its reference.

    Args:
        directory: the project.
        model: what it was compiled from.
        inputs: one sample or several by tensor name, as `match.run.run` takes them; None: random ones.
        labels: the class of each sample, an index into the one output.
        samples: how many random inputs (`SAMPLES` by default), or the first of those given (by default all).
        seed: of the first random input; the next has the next one.
        on: what runs the project, as in `match.run.run`.
        layers: compare operator by operator, too.
        partitioned: makes the network as it was cut for the project; None where its target is not installed.
        changed: makes the network in integer form that the model became, which then is the reference.
        exact: makes what exact arithmetic would cost.
        progress: is told what is under way.

    Raises:
        InputError: if inputs or labels do not match the network, or the model is not that of the project.
        OptionError: if the project does not run there, or there are no samples.
        TargetError: if operators are to be compared and the target is not installed.
        ToolchainError: if a C compiler, a simulator or the reference is missing, or fails.
    """
    manifest = runs.read_manifest(directory)
    _check_model(manifest, model, directory)
    if samples is not None:
        whole_number(samples, "the number of samples", 1)
    seed = whole_number(seed, "the seed", 0)
    batch = drawn(manifest, samples or SAMPLES, seed) if inputs is None else checked(manifest, inputs)[0]
    batch = {name: array[:samples] for name, array in batch.items()}
    count = len(next(iter(batch.values())))
    classes = None if labels is None else _classes(labels, count, manifest)

    def begin() -> tuple[Reference, Run]:
        return reference(model) if changed is None else ("integer network", integers(model, changed()))

    name, compute = begin()
    progress(f"Running {manifest.name} on {on}, {count} samples")
    found = runs.run(directory, batch, on=on)
    expected = _expected(compute, batch, range(count), [tensor.name for tensor in manifest.outputs], name, progress)
    kinds = list(zip(manifest.outputs, steps(model), strict=True))
    outputs = tuple(_tensor(tensor, found[tensor.name], expected[tensor.name], step) for tensor, step in kinds)
    differing = _differing(kinds, found, expected)
    said: Verdict = "unknown" if differing else "equal"
    compared = seen = None
    cut = None if partitioned is None else cache(partitioned)
    if cut is not None and (layers or differing):
        progress("Finding the layers of the network")
        try:
            # A step of a stream depends on all in front of it.
            needed = range(max(differing, default=0) + 1) if model.states else differing
            seen = _layers(directory, manifest, cut(), batch, range(count) if layers else needed, on, progress)
            compared = seen if layers else None
            if differing:
                own = begin()[1] if name == "integer network" else integers(model, cut().graph)
                there = {tensor: array[list(needed)] for tensor, array in expected.items()}
                integer = _expected(own, batch, needed, list(found), "integer network", progress)
                said = verdict(cut().decisions, seen, integers_differ=bool(_differing(kinds, integer, there)))
        except InputError:  # another version of the compiler made the project
            if layers:
                raise
    accuracy = None
    if classes is not None:
        scores = found if exact is None and cut is not None else None
        if exact is not None and cut is not None and changed is None:
            with suppress(InputError):  # another version of the compiler made the project
                own = integers(model, cut().graph)
                scores = _expected(own, batch, range(count), list(found), "exact numerics", progress)
        accuracy = _accuracy(manifest, classes, found, expected, scores)
    if exact is not None:
        progress("Compiling with exact numerics")
    return Validation(
        network=manifest.name,
        target=manifest.target,
        platform=on,
        reference=name,
        samples=count,
        seed=seed if inputs is None else None,
        equal=not differing,
        outputs=outputs,
        layers=compared,
        first=_first(seen or ()),
        accuracy=accuracy,
        exact=exact() if exact else None,
        caveat=caveat(model) if changed is None else None,
        verdict=said,
    )


def _check_model(manifest: Manifest, model: Model, directory: Path) -> None:
    """A network of other tensors is another network."""
    for mine, theirs in ((manifest.inputs, model.inputs), (manifest.outputs, model.outputs)):
        if _kinds(mine) != _kinds(theirs):
            raise InputError(
                f"{model.name} is not the model of {directory}: it has the tensors {_listed(theirs)} where the project "
                f"has {_listed(mine)}; give the file that the project was compiled from."
            )


def _kinds(tensors: Sequence[ModelTensor]) -> list[tuple[str, tuple[int, ...], str]]:
    return [(tensor.name, tensor.shape, tensor.dtype) for tensor in tensors]


def _listed(tensors: Sequence[ModelTensor]) -> str:
    return ", ".join(f"{tensor.name} {tensor.dtype} {list(tensor.shape)}" for tensor in tensors)


def _classes(labels: Array, count: int, manifest: Manifest) -> Array:
    if len(manifest.outputs) != 1:
        raise InputError(f"labels need a network with one output; {manifest.name} has {len(manifest.outputs)}.")
    given = np.asarray(labels)
    classes = given.reshape(-1)
    if classes.dtype.kind not in "iu" or len(classes) < count or given.size != max(given.shape, default=1):
        raise InputError(
            f"labels are {given.dtype} {list(given.shape)} for {count} samples; give each sample an integer."
        )
    scores = math.prod(manifest.outputs[0].shape)
    outside = classes[:count][(classes[:count] < 0) | (classes[:count] >= scores)]
    if outside.size:
        raise InputError(
            f"labels have {outside[0]}, and {manifest.outputs[0].name} has {scores} scores; give each sample an "
            f"integer from 0 to {scores - 1}."
        )
    return classes[:count]


def _expected(
    compute: Run, batch: Arrays, samples: Sequence[int], names: Sequence[str], what: str, progress: Progress
) -> Arrays:
    results: list[list[Array]] = []
    for number, index in enumerate(samples, 1):
        progress(f"{what}: sample {number} of {len(samples)}")
        results.append(compute([np.ascontiguousarray(array[index]) for array in batch.values()]))
    return {name: np.stack([result[place] for result in results]) for place, name in enumerate(names)}


def _tensor(tensor: ModelTensor, found: Array, expected: Array, step: float | None) -> TensorDifference:
    apart = difference(found, expected.reshape(found.shape), step)
    return TensorDifference(
        name=tensor.name,
        elements=apart.elements,
        equal=apart.equal,
        off_by_one=apart.off_by_one,
        largest=apart.largest,
        step=step,
        tolerance=apart.tolerance,
    )


def _differing(kinds: Sequence[tuple[ModelTensor, float | None]], found: Arrays, expected: Arrays) -> list[int]:
    """The samples of which an output differs; `kinds` are the outputs with the distance of neighbouring values."""
    apart = {
        index
        for tensor, step in kinds
        for index, pair in enumerate(zip(found[tensor.name], expected[tensor.name], strict=True))
        if (counted := difference(pair[0], pair[1].reshape(pair[0].shape), step)).equal < counted.elements
    }
    return sorted(apart)


def _layers(
    directory: Path,
    manifest: Manifest,
    partitioned: Partitioned,
    batch: Arrays,
    samples: Sequence[int],
    on: str,
    progress: Progress,
) -> tuple[LayerDifference, ...]:
    layers = DumpedOperators(partitioned, manifest.outputs)
    called = {call.function for call in manifest.calls}
    if not layers.symbols <= called:
        raise InputError(
            f"{directory} was compiled by another version of the compiler: its layers are others; compile it again."
        )
    # Samples that do not depend on each other are dumped one by one, as they may be large together.
    for part in [samples] if manifest.states else [[index] for index in samples]:
        own = {name: array[list(part)] for name, array in batch.items()}
        outputs, dumps = runs.dump(directory, own, on=on)
        for place, index in enumerate(part):
            progress(f"Comparing layers: sample {index + 1}")
            layers.add(
                {name: array[place] for name, array in own.items()},
                {cut: data[place] for cut, data in dumps.items()},
                {name: array[place] for name, array in outputs.items()},
            )
    return layers.differences()


def _first(layers: Sequence[LayerDifference]) -> str | None:
    differing = [layer for layer in layers if layer.differing]
    return next((layer.name for layer in (*filter(differs_by_more, layers), *differing)), None)


def _accuracy(
    manifest: Manifest, classes: Array, found: Arrays, expected: Arrays, exact: Arrays | None
) -> AccuracySummary:
    """How many samples the generated C, the reference and, where they are known, exact numerics classify right."""
    (output,) = manifest.outputs
    count = len(classes)

    def right(scores: Arrays) -> int:
        return int(np.sum(scores[output.name].reshape(count, -1).argmax(axis=1) == classes))

    return AccuracySummary(
        samples=count,
        right=right(found),
        reference_right=right(expected),
        interval=wilson(right(found), count),
        reference_interval=wilson(right(expected), count),
        exact_right=None if exact is None else right(exact),
        exact_interval=None if exact is None else wilson(right(exact), count),
    )
