"""How a command line ends: with its results, or with one sentence on stderr and the status of an error."""

from __future__ import annotations

import codecs
import io
import re
import sys
from collections.abc import Sequence
from typing import NoReturn, TextIO

import typer

from match.errors import MatchError, OptionError
from match.interrupt.watch import INTERRUPTED, MESSAGE

USAGE_ERROR = 2

_UTF8 = "match.utf8"
"""Name of the codecs' error handler."""


def execute(app: typer.Typer, program: str, arguments: Sequence[str]) -> NoReturn:
    """Run a command line and exit with its status; an error that a user can cause is a sentence on stderr."""
    try:
        _write_every_letter()
        _check_text(arguments)
        status = app(args=list(arguments), prog_name=program, standalone_mode=False)
    except (MatchError, typer.TyperException) as error:
        message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
        sys.stderr.write(f"{program}: {_sentence(message)}\n")
        status = USAGE_ERROR
    except MemoryError:
        sys.stderr.write(f"{program}: this machine does not have the memory that this takes; try something smaller.\n")
        status = USAGE_ERROR
    except OSError as error:
        place = f"{error.filename} cannot be used" if error.filename else "a file or the standard output cannot be used"
        sys.stderr.write(f"{program}: {place}: {error.strerror or error}.\n")
        status = USAGE_ERROR
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    if status == INTERRUPTED:  # Typer, too, makes a status of the exception
        sys.stderr.write(f"{program}: {MESSAGE}\n")
    sys.exit(status or 0)


def write_out(text: str) -> None:
    """Write to stdout, unless it is closed; in UTF-8 where its own encoding lacks a letter."""
    stream: TextIO | None = sys.stdout
    if stream is None:
        return
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        stream.flush()
        stream.buffer.write(text.encode())
    else:
        stream.write(text)


def _write_every_letter() -> None:
    """Have tables and sentences write a letter that the encoding of stdout or stderr lacks in UTF-8."""
    codecs.register_error(_UTF8, _utf8)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_UTF8)


def _utf8(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return error.object[error.start : error.end].encode(errors="replace"), error.end


def _check_text(arguments: Sequence[str]) -> None:
    """Refuse names that reports, C and terminals could not write."""
    for argument in arguments:
        if any("\ud800" <= letter <= "\udfff" for letter in argument):
            raise OptionError(f"{argument!a} is not text in UTF-8; rename the file or folder.")


def _sentence(message: str) -> str:
    """`message` as one sentence on one line; a point ends one after a word, not as the name of a folder."""
    joined = re.sub(r"(?<=[\w)\]'\"`])[.] (\w)", lambda start: f"; {start[1].lower()}", " ".join(message.split()))
    return joined if joined.endswith((".", "?")) else f"{joined}."
