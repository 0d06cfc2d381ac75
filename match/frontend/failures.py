"""What TVM raises where it cannot compile a network, as one sentence."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from match.errors import MatchError, ModelError
from match.frontend.reasons import reason

_RENDERER = "diagnostics.OverrideRenderer"
_ADVICE = "replace the operator that this is about, or report the model"


@contextmanager
def tvm_failures(what: str) -> Generator[None]:
    """An exception of TVM's becomes a `ModelError` about the network `what`, with the exception as its cause.

    Those of this package pass, its programming errors with them. What TVM would write to stderr about ill-typed Relay
    goes into the sentence.
    """
    with diagnostics() as said:
        try:
            yield
        except MatchError:
            raise
        except Exception as error:
            if not _raised_by_tvm(error):
                raise
            told = said[0] if said else reason(error)
            raise ModelError(f"{what} cannot be compiled, because TVM fails with {told!r}; {_ADVICE}") from error


@contextmanager
def diagnostics() -> Generator[list[str]]:
    """What TVM says about ill-typed Relay, which it would write to stderr."""
    said: list[str] = []
    tvm: Any = sys.modules.get("tvm")
    if tvm is None:  # which says nothing before it is there
        yield said
        return

    def listen(context: Any) -> None:
        said.extend(map(_message, context.diagnostics))

    # TVM asks for the renderer each time that it infers types, and would make another one with `override_renderer`.
    renderer = tvm.ir.diagnostics.DiagnosticRenderer(listen)
    before = tvm.get_global_func(_RENDERER, allow_missing=True)
    tvm.register_func(_RENDERER, lambda: renderer, override=True)
    try:
        yield said
    finally:
        if before is None:
            tvm.ir.diagnostics.override_renderer(None)
        else:
            tvm.register_func(_RENDERER, before, override=True)


def _message(diagnostic: Any) -> str:
    """A diagnostic of TVM's, with the operator of the model file where TVM knows it."""
    text = " ".join(str(diagnostic.message).split()).rstrip(".")
    return text if diagnostic.span is None else f"{text}, at {diagnostic.span.source_name.name}"


def _raised_by_tvm(error: Exception) -> bool:
    """Whether TVM was at work when it was raised, itself or in what it called, and not this package."""
    tvm: Any = sys.modules.get("tvm")
    if tvm is not None and isinstance(error, tvm.TVMError):
        return True
    packages = [package for package in map(_package, _frames(error.__traceback__)) if package in ("tvm", "match")]
    return packages[-1:] == ["tvm"]


def _frames(traceback: TracebackType | None) -> Generator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _package(traceback: TracebackType) -> str:
    return str(traceback.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
