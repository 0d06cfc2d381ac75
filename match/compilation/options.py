"""What a user can ask of the compiler beside the model and the target."""

from __future__ import annotations

import enum
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Unpack, get_args

from match.compilation.arguments import CompileArguments, check_names
from match.errors import OptionError
from match.interrupt.unfinished import scratch_folder
from match.processes.workers import available_processors
from match.search.cache import default_folder
from match.search.engine import check_engine
from match.search.objective import OBJECTIVES as SEARCHED
from match.search.objective import check_objective
from match.target.arguments import check_truth, is_a, is_one_of, path_of, shown
from match.target.memory_sizes import Sizes, l1_sizes


class Numerics(enum.StrEnum):
    """Whether modules may use the closest arithmetic they have (HARDWARE) or only one equal to the model's (EXACT)."""

    HARDWARE = "hardware"
    EXACT = "exact"


RAM = "ram"
OBJECTIVES = (*SEARCHED, "edp", RAM)
"""What a network may be chosen for: what schedules are searched for, energy times latency, bytes of main memory."""

_FACTOR = re.compile(r"([a-z]+)=(\d+(?:\.\d+)?)x")


@dataclass(frozen=True)
class AtMost:
    """A bound of a network: what is bounded, one of what schedules are searched for, to so many times the least."""

    quantity: str
    factor: float

    def __str__(self) -> str:
        return f"{self.quantity}={self.factor:g}x"

    @classmethod
    def parse(cls, text: str, objective: str) -> AtMost:
        """A bound as it is given, such as "latency=1.1x", beside an objective.

        Raises:
            OptionError: it is none, or bounds nothing.
        """
        found = _FACTOR.fullmatch(text) if is_a(text, str) else None
        if not found or found[1] not in SEARCHED or float(found[2]) < 1:
            raise OptionError(
                f"at_most {shown(text)} is no bound; give {', '.join(SEARCHED[:-1])} or {SEARCHED[-1]} and how many "
                "times the least it may be, at least 1, such as latency=1.1x."
            )
        if objective == "edp":
            raise OptionError(
                "at_most bounds what another objective makes larger, and 'edp' weighs latency against energy already; "
                "leave it out, or choose objective energy."
            )
        if objective == RAM and found[1] != "latency":
            raise OptionError(
                f"at_most bounds what objective 'ram' takes for less main memory, which is latency, not {found[1]}; "
                "give latency=1.1x or another factor."
            )
        if found[1] == objective:
            raise OptionError(
                f"at_most bounds {objective}, which is as small as it can be already; bound another quantity, or "
                "choose another objective."
            )
        return cls(found[1], float(found[2]))


WhenInPlace = Literal["cheapest", "always", "never"]
_FOR_LESS_RAM = AtMost("latency", 1.1)
"""What the least main memory may cost where nothing is said."""

IN_PLACES: tuple[WhenInPlace, ...] = get_args(WhenInPlace)


_TRUTHS = MappingProxyType(
    {
        "fuse": "layers may be fused",
        "rescale": "scales go into weights",
        "quantize_recurrent": "LSTM and GRU become integers",
    }
)


@dataclass(frozen=True)
class Options:
    """Checked options of one compilation, those of `match.compilation.arguments`: names and texts are values here.

    `numerics` tells which arithmetic is allowed. The result depends neither on `jobs`, the number of processes that
    work at a time, nor on `cache`, the folder of what was found before, if any. `fuse` is of the engine "exact" alone:
    others know the operators of the papers that they are from. Two are the compiler's own: `in_place` tells when
    tensors lie inside others, so that concatenations and slices copy nothing: where that is cheapest, wherever they
    can, or never; `off_core` that the control core computes only what no module takes, also where it would be cheaper.
    """

    engine: str = "exact"
    objective: str = "latency"
    numerics: Numerics = Numerics.HARDWARE
    jobs: int = 1
    cache: Path | None = None
    fuse: bool = True
    rescale: bool = False
    quantize_recurrent: bool = False
    in_place: WhenInPlace = "cheapest"
    at_most: AtMost | None = None
    off_core: bool = False
    modules: Sequence[str] | None = None
    l1: Sizes | None = None
    l2: int | str | None = None
    settings: Mapping[str, Any] | None = None
    calibrate: Mapping[str, Any] | None = None
    states: Mapping[str, str] | None = None
    name: str | None = None
    input_type: str | None = None
    output_type: str | None = None
    input_layout: str | None = None

    @property
    def searched(self) -> tuple[str, ...]:
        """What schedules are searched for: each module offers the best one for each of these."""
        if self.objective == "edp":
            return ("latency", "energy")
        if self.objective == RAM:
            return ("latency",)
        return (self.objective, self.at_most.quantity) if self.at_most else (self.objective,)

    @property
    def smaller(self) -> tuple[Options, ...]:
        """For objective "ram", what networks are cut for that may take less main memory within its bound."""
        few = replace(self, objective="latency", at_most=None), replace(self, objective="bytes", at_most=self.bound)
        return tuple(replace(one, in_place=way) for one in few for way in IN_PLACES if one.in_place != "never")

    @property
    def bound(self) -> AtMost | None:
        """The bound that was given, or that objective "ram" has by itself."""
        return self.at_most or (_FOR_LESS_RAM if self.objective == RAM else None)

    @property
    def others(self) -> tuple[Options, ...]:
        """The same without a bound, for each other objective whose network may be better once memories are full."""
        names = dict.fromkeys((*self.searched, "latency"))
        own = "latency" if self.objective == RAM else self.objective
        return tuple(replace(self, objective=name, at_most=None) for name in names if name != own)

    @property
    def exact(self) -> bool:
        """Whether the model's own arithmetic is the only one allowed."""
        return self.numerics is Numerics.EXACT

    @property
    def changes_network(self) -> bool:
        """Whether what is compiled is another network than the model."""
        return self.rescale or self.quantize_recurrent

    @contextmanager
    def with_folder(self) -> Generator[Options]:
        """The same options; without a folder that the user keeps, one that is removed at the end.

        A network can be cut in several ways, and most of its layers are the same in each: what is found for one way is
        there for the next.
        """
        if self.cache is not None:
            yield self
            return
        with scratch_folder("match-") as folder:
            yield replace(self, cache=folder)

    @classmethod
    def parse(cls, **given: Unpack[CompileArguments]) -> Options:
        """Options from what a user gives; those that the network or the target must know are checked there.

        Raises:
            OptionError: if one of them does not exist.
        """
        check_names(given, CompileArguments)
        engine, objective = given.get("engine", cls.engine), given.get("objective", cls.objective)
        numerics, at_most = given.get("numerics", cls.numerics), given.get("at_most")
        jobs, cache = given.get("jobs"), given.get("cache", True)
        check_engine(engine)
        check_objective(objective, OBJECTIVES)
        if not is_one_of(numerics, tuple(Numerics)):
            raise OptionError(f"numerics {shown(numerics)} is unknown; choose one of: {', '.join(Numerics)}.")
        if jobs is not None and not (is_a(jobs, int) and jobs >= 1):
            raise OptionError(f"the number of jobs must be at least 1, not {shown(jobs)}; give a whole number.")
        if isinstance(cache, bool):
            folder = default_folder() if cache else None
        else:
            folder = path_of(cache, "cache is True, False or a folder, which")
        for name, meaning in _TRUTHS.items():
            check_truth(given.get(name, False), f"{name} is whether {meaning}")
        own = engine == "exact"
        read: dict[str, Any] = {
            **given,
            "numerics": Numerics(numerics),
            "jobs": jobs or available_processors(),
            "cache": folder,
            "fuse": given.get("fuse", True) and own,
            "in_place": "cheapest" if own else "never",
            "at_most": None if at_most is None else AtMost.parse(at_most, objective),
            "l1": l1_sizes(given.get("l1")),
        }
        options = cls(**read)
        if options.exact and options.rescale:
            raise OptionError("rescale changes the network's integers, and numerics 'exact' keeps them; leave one out.")
        if options.exact and options.quantize_recurrent:
            raise OptionError(
                "quantize_recurrent changes what LSTM and GRU compute, and numerics 'exact' keeps it; leave one out."
            )
        if options.calibrate is not None and not options.quantize_recurrent:
            raise OptionError("calibrate gives ranges to what quantize_recurrent makes integers; ask for that, too.")
        return options
