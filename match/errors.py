"""Every error a user can cause or meet, as one hierarchy.

The text of a `MatchError` is one sentence that says what is wrong, where, and what to do about it. The command line
prints that sentence alone and exits with status 2; programs catch `MatchError` or one of the classes below.
"""

from __future__ import annotations


class MatchError(Exception):
    """Base of every error raised on purpose by this package."""


class ModelError(MatchError):
    """A model file is missing, broken, or holds something that is not supported."""


class TargetError(MatchError):
    """A target or module is unknown, or its description contradicts itself."""


class OptionError(MatchError):
    """An argument is outside what it may be."""


class ScheduleError(MatchError):
    """A mapping is impossible: it breaks an invariant or does not fit a memory."""


class NoMappingError(ScheduleError):
    """No mapping of a layer fits or can be built.

    `layer` is the layer's name and `predicate` the rest of the sentence, which begins with a verb. `needed` are the
    bytes of the innermost memory that its smallest tile needs, where these are what is lacking.
    """

    def __init__(self, layer: str, predicate: str, needed: int | None = None) -> None:
        super().__init__(layer, predicate, needed)
        self.layer = layer
        self.predicate = predicate
        self.needed = needed

    def __str__(self) -> str:
        return f"layer {self.layer} {self.predicate}."


class CostModelError(MatchError):
    """A cost model raised, answered with what is no finite, non-negative number, or does not keep its promises."""


class CapacityError(MatchError):
    """A network does not fit the memories of its target."""


class ToolchainError(MatchError):
    """A C compiler or another external tool is missing or refused its input."""


class InputError(MatchError):
    """Input tensors given to a compiled model do not match its signature."""


class OutputError(MatchError):
    """A file or folder cannot be written."""


def in_a_line(error: Exception) -> str:
    """What code from elsewhere raised, in a line: the kind of error says more than some of its texts."""
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":. ")
