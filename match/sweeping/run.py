"""A sweep: networks are read once, known points are looked up, and a cluster predicts the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from os import PathLike
from typing import Any

from match.compilation.options import Options
from match.compilation.stopwatch import Progress, Stopwatch, unheard
from match.compiled.sent import ReadNetwork, SentNetwork
from match.compiled.stations import Asked, integer_form
from match.errors import MatchError, OptionError
from match.frontend import Model, load
from match.processes.workers import available_processors
from match.report.schema import EnlargedMemory
from match.report.shown import ShownReport
from match.sweeping.cluster import connected
from match.sweeping.kept import KeptPoints
from match.sweeping.libraries import check_libraries, library
from match.sweeping.pareto import with_best
from match.sweeping.point import predict_point, predict_report
from match.sweeping.schema import Figures, PointResult, SweepResult
from match.sweeping.space import Point, axes, points
from match.target.arguments import check_progress, is_a, path_of, shown
from match.target.hardware import MatchTarget


def sweep(
    models: Any,
    target: str | MatchTarget = "gap9",
    settings: Mapping[str, Any] | None = None,
    *,
    scheduler: str | None = None,
    jobs: int | None = None,
    cache: bool | str | PathLike[str] = True,
    progress: Progress = unheard,
) -> Any:
    """Predict networks at every combination of some values: a `pandas.DataFrame` with a row for each point.

    Args:
        models: a model file, or what `match.load` returns, or several of these.
        target: name of an installed target, or a target.
        settings: values by name, a list where there are several: what the target declares (``"dma.bytes": [4, 8]``),
            and options of a compilation: l1, l2, modules (``"cluster+ne16"``), numerics, objective, at_most, engine,
            fuse, rescale, quantize_recurrent.
        scheduler: the address of a Dask scheduler, such as "tcp://10.0.0.1:8786"; none: processes of this machine.
        jobs: how many of these; none: one for each processor.
        cache: whether to keep what was found, or the folder for it. A sweep that was interrupted goes on from there.
        progress: is told how many points are done.

    Raises:
        MatchError: one of its subclasses, which says in a sentence what is wrong with a model or an argument. A point
            that cannot be compiled is none: its row has the sentence in the column `refusal`.
    """
    check_libraries()
    result = Sweep.of(models, target, settings or {}, scheduler, jobs, cache, progress).result()
    return table(result)


def table(result: SweepResult) -> Any:
    """A `pandas.DataFrame` with a row for each point: the network, the values, the figures."""
    pandas = library("pandas")
    names = [name for name in Figures.__struct_fields__ if name != "module_cycles"]
    modules = list(
        dict.fromkeys(name for point in result.points if point.figures for name in point.figures.module_cycles)
    )
    rows = [
        {
            "model": point.model,
            **point.values,
            **{name: getattr(point.figures, name, None) for name in names},
            **{f"{name}_cycles": point.figures and point.figures.module_cycles.get(name, 0) for name in modules},
            "best": point.best,
            "hypothetical": bool(point.enlarged),
            "refusal": point.refusal,
        }
        for point in result.points
    ]
    columns = [
        "model",
        *result.axes,
        *names,
        *(f"{name}_cycles" for name in modules),
        "best",
        "hypothetical",
        "refusal",
    ]
    return pandas.DataFrame(rows, columns=columns)


@dataclass(frozen=True, eq=False)
class Sweep:
    """What is to be predicted: every point of every network."""

    models: tuple[Model, ...]
    target: str
    axes: Mapping[str, tuple[Any, ...]]
    points: tuple[Point, ...]
    scheduler: str | None
    jobs: int
    progress: Progress

    @classmethod
    def of(
        cls,
        models: Any,
        target: str | MatchTarget,
        settings: Mapping[str, Any],
        scheduler: str | None = None,
        jobs: int | None = None,
        cache: bool | str | PathLike[str] = True,
        progress: Progress = unheard,
    ) -> Sweep:
        """A sweep of what was given. Raises as `sweep`."""
        check_progress(progress)
        Options.parse(jobs=jobs, cache=cache)  # each point has its own; these are checked once
        if scheduler is not None and not (is_a(scheduler, str) and "://" in scheduler):
            raise OptionError(
                f"a scheduler is an address such as tcp://127.0.0.1:8786, not {shown(scheduler)}; give its address."
            )
        given = axes(target, settings)
        found = points(target, given, cache)
        several = models if is_a(models, list, tuple) else [models]
        progress("frontend")
        read = tuple(_read(model) for model in several)
        if not read:
            raise OptionError("there is no model to predict; give at least one.")
        if len({model.name for model in read}) < len(read):
            raise OptionError("two models have the same name; rename the file of one of them.")
        return cls(
            read,
            _asked_first(found).chip.name,
            {axis.name: axis.shown for axis in given},
            found,
            scheduler,
            jobs or available_processors(),
            progress,
        )

    @property
    def count(self) -> int:
        """How many points there are."""
        return len(self.models) * len(self.points)

    @property
    def _all(self) -> Iterator[tuple[Model, Point]]:
        return ((model, point) for model in self.models for point in self.points)

    def result(self) -> SweepResult:
        """The prediction of every point."""
        kept = KeptPoints(_asked_first(self.points).options.cache)
        found: dict[int, Figures | str] = {}
        wanted: dict[int, tuple[Model, Asked]] = {}
        for number, (model, point) in enumerate(self._all):
            if isinstance(point.asked, Asked):
                wanted[number] = model, point.asked
            else:
                found[number] = str(point.asked)
        names = {number: kept.name(model.name, model.sha256, one) for number, (model, one) in wanted.items()}
        found |= {number: known for number, name in names.items() if (known := kept.look_up(name)) is not None}
        sent = _Networks()
        asked: list[tuple[int, SentNetwork, Asked]] = []
        for number, (model, one) in _in_order({n: one for n, one in wanted.items() if n not in found}):
            try:
                asked.append((number, sent.of(model, one), one))
            except MatchError as error:  # as a worker tells it of the others
                found[number] = str(error)
        self._tell(len(found))
        if asked:
            with connected(self.scheduler, min(self.jobs, len(asked))) as cluster:
                for number, answer in cluster.answers(predict_point, asked):
                    found[number] = answer
                    kept.store(names[number], answer)
                    self._tell(len(found))
        rows = [_row(model, point, found[number]) for number, (model, point) in enumerate(self._all)]
        return SweepResult(
            generator=f"match-compiler {metadata.version('match-compiler')}",
            target=self.target,
            axes=dict(self.axes),
            points=with_best(rows),
            estimated_energy=_asked_first(self.points).chip.estimated_energy,
        )

    def reports(self, numbers: Sequence[int]) -> Iterator[tuple[int, ShownReport]]:
        """The whole reports of some points that can be compiled, by their numbers, as they come."""
        chosen = dict(enumerate(self._all))
        sent = _Networks()
        wanted = [(n, model, point.asked) for n, (model, point) in ((n, chosen[n]) for n in numbers)]
        asked = [(n, sent.of(model, one), one) for n, model, one in wanted if isinstance(one, Asked)]
        if asked:
            with connected(self.scheduler, min(self.jobs, len(asked))) as cluster:
                for done, answer in enumerate(cluster.answers(predict_report, asked), 1):
                    yield answer
                    self.progress(f"reports, {done} of {len(asked)}")

    def _tell(self, done: int) -> None:
        self.progress(f"points, {done} of {self.count}")


def _read(model: Any) -> Model:
    if isinstance(model, Model):
        return model
    return load(path_of(model, "a model") if is_a(model, str, PathLike) else model)


def _asked_first(points: Sequence[Point]) -> Asked:
    """What the first point is that a compilation can be asked for; there is one."""
    return next(point.asked for point in points if isinstance(point.asked, Asked))


def _in_order(missing: Mapping[int, tuple[Model, Asked]]) -> list[tuple[int, tuple[Model, Asked]]]:
    """Points with fewer modules and more L1 first: what they ask, others ask again."""

    def place(one: tuple[int, tuple[Model, Asked]]) -> tuple[int, int, int]:
        modules = one[1][1].chip.modules
        return (
            len(modules),
            -max((module.scratchpad_bytes for module in modules), default=0),
            one[0],
        )

    return sorted(missing.items(), key=place)


class _Networks:
    """Networks as workers get them: each is read and brought into integer form once for all points that share it."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], SentNetwork] = {}

    def of(self, model: Model, asked: Asked) -> SentNetwork:
        """The network of a point; one that is rescaled for its target becomes so where it is predicted."""
        options = asked.options
        if options.rescale:
            key: tuple[Any, ...] = (id(model),)
        else:
            key = (id(model), asked.chip.activations, options.exact, options.quantize_recurrent)
        if key not in self._made:
            integer = None if options.rescale else integer_form(model, asked, Stopwatch())
            self._made[key] = SentNetwork(ReadNetwork(model, integer))
        return self._made[key]


def _row(model: Model, point: Point, found: Figures | str) -> PointResult:
    refusal = found if isinstance(found, str) else None
    larger = point.asked.chip.enlarged if isinstance(point.asked, Asked) else ()
    enlarged = tuple(EnlargedMemory(one.name, one.bytes, one.own) for one in larger)
    figures = None if isinstance(found, str) else found
    return PointResult(model.name, dict(point.values), figures, refusal, enlarged=enlarged)
