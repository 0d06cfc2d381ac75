"""Writing C: identifiers, array initialisers, long lines, templates."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from textwrap import indent

from mako.template import Template

WIDTH = 120


_IN_COMMENTS = re.compile(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)")
"""Inside what ends a C comment, begins one, or begins a trigraph."""


def comment(text: str) -> str:
    """`text` on one line, as the inside of a C comment, or of one of Make and CMake.

    What cannot be seen, such as marks of the direction of writing, which compilers refuse, is its number: <U+202E>.
    """
    seen = (letter if letter.isprintable() else f"<U+{ord(letter):04X}>" for letter in " ".join(text.split()))
    return _IN_COMMENTS.sub(" ", "".join(seen))


def quoted(text: str) -> str:
    """`text` as a string literal in ASCII."""
    return '"' + "".join(map(_escaped, text.encode())) + '"'


def _escaped(byte: int) -> str:
    plain = 0x20 <= byte < 0x7F and chr(byte) not in '"\\?'
    return chr(byte) if plain else f"\\{byte:03o}"


def note(text: str, width: int = WIDTH) -> str:
    """`text` as a comment of as many lines as it takes; a line of its own for each paragraph."""
    lines = [line for paragraph in text.split("\n") for line in textwrap.wrap(comment(paragraph), width - 3) or [""]]
    if len(lines) == 1 and len(lines[0]) <= width - 6:
        return f"/* {lines[0]} */"
    if len(lines[-1]) > width - 6:
        *rest, word = lines[-1].split(" ")
        lines[-1:] = [" ".join(rest), word]
    return "/* " + "\n".join(f" * {line}".rstrip() for line in lines).removeprefix(" * ") + " */"


def values(numbers: Sequence[object], per_line: int = 20) -> str:
    """The inside of an array initialiser, one level indented."""
    texts = list(map(str, numbers))
    return ",\n".join("    " + ", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line))


_COMMENT = re.compile(r"( *)(/\*| \* )(?!.*\*/ *\S)")
"""A line that begins a comment or goes on with one, and has nothing behind it."""


def wrap(text: str) -> str:
    """`text` with lines that are too long broken.

    Code is continued one level deeper for every parenthesis that is open, a comment after an asterisk. A line of the
    preprocessor stays as it is.
    """
    return "\n".join(piece for line in text.split("\n") for piece in _broken(line))


def _broken(line: str) -> list[str]:
    if len(line) <= WIDTH or line.startswith("#"):
        return [line]
    if (begin := _COMMENT.match(line)) is not None:
        behind = f"{begin[1]} * "
        return textwrap.wrap(line, WIDTH, subsequent_indent=behind, break_long_words=False, break_on_hyphens=False)
    lead = line[: len(line) - len(line.lstrip())]
    pieces: list[str] = []
    depth = 0
    while len(line) > WIDTH:
        cut, depth = _cut(line, depth)
        if not cut:
            break
        pieces.append(line[:cut].rstrip())
        line = f"{lead}{'    ' * max(1, depth)}{line[cut:].lstrip()}"
    return [*pieces, line]


def _cut(line: str, depth: int) -> tuple[int, int]:
    """Where to break a line that begins inside `depth` parentheses, and the parentheses open there.

    At the comma or operator inside the fewest parentheses, the last one of these that leaves a line short enough. A
    string literal stays whole.
    """
    best: dict[int, int] = {}
    start = len(line) - len(line.lstrip()) + 1
    inside = False
    for position, character in enumerate(line[: WIDTH - 1]):
        inside ^= character == '"'
        if inside:
            continue
        depth += (character in "({[") - (character in ")}]")
        if position > start and line.startswith(", ", position):
            best[depth] = position + 1
        elif position > start and line.startswith((" && ", " || ", " + "), position):
            best[depth] = position
    return (best[min(best)], min(best)) if best else (0, depth)


@cache
def template(name: str) -> Template:
    """The template `name` of this package; an undefined name in it is an error."""
    path = Path(__file__).parent / "templates" / name
    return Template(path.read_text(encoding="utf-8"), filename=str(path), strict_undefined=True, enable_loop=False)


def render(name: str, /, **context: object) -> str:
    """The template `name` filled in, with a single newline at the end."""
    text: str = template(name).render(indent=_indented, note=note, **context)
    return text.strip("\n") + "\n"


def _indented(text: str) -> str:
    return indent(text.rstrip("\n"), "    ") + "\n"
