"""TVM's C of a network, made to compile without TVM's headers and without warnings, and the same every time.

TVM prints every function in one fixed form, in front of those that call it: an ``extern "C"`` guard, ``TVM_DLL`` and
the prototype on one line, then the body. Each pointer into constants or workspace and each call of the network's
``main`` has a line of its own. So what is changed is known line by line:

- declarations, guards and export marks go, and functions become static;
- truth values are int8_t in all functions;
- pointers come in the order of their names (TVM's is that of a hash table), without those that nothing reads;
- unread parameters are marked;
- calls in ``main`` are numbered (``MATCH_CALL``): each can be counted, and ``main`` returns the status of one that
  fails instead of -1.

This is done to the text, as none of it is in TIR when the last pass that a plugin can add has run: TVM's C printer
makes guards, export marks, the order of pointers and the status -1, and the pointers come from a pass after it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import count

_GUARD = '#ifdef __cplusplus\nextern "C"\n#endif\n'
_SIGNATURE = re.compile(r"TVM_DLL (?P<type>\w+) (?P<name>\w+)\((?P<parameters>[^)]*)\) \{")
_POINTER = re.compile(r"  void\* (?P<name>\w+) = .*;")
_CALL = re.compile(r"(?P<lead> +)if \((?P<call>\w+\(.*\)) != 0 \) return -1;")
_WORD = re.compile(r"\w+")


def clean(source: str, empty: Collection[str] = ()) -> str:
    """Static functions out of the C that TVM made for its host target, to be put after the headers they need.

    Calls of functions in `empty` go.

    These are ``stdbool.h``, ``stdint.h``, ``math.h``, and the declarations of layers and of ``MATCH_CALL``.
    """
    lines = source.replace(_GUARD, "").split("\n")
    called = ((line, _CALL.fullmatch(line)) for line in lines)
    kept = [line for line, call in called if call is None or call["call"].partition("(")[0] not in empty]
    return "\n\n".join(_functions(kept)) + "\n"


def _functions(lines: Iterable[str]) -> Iterator[str]:
    signature: re.Match[str] | None = None
    body: list[str] = []
    for line in lines:
        if signature is None:
            signature, body = _SIGNATURE.fullmatch(line), []
        elif line == "}":
            yield "\n".join(_function(signature, body))
            signature = None
        else:
            body.append(line)


def _function(signature: re.Match[str], body: list[str]) -> Iterator[str]:
    uses = Counter(_WORD.findall("\n".join(body)))
    pointers = [line for line in body if (found := _POINTER.fullmatch(line)) and uses[found["name"]] > 1]
    statements = [line for line in body if not _POINTER.fullmatch(line)]
    read = set(_WORD.findall("\n".join(pointers + statements)))
    # Operators take truth values as int8_t, the network's main hands them on as bool.
    parameters = signature["parameters"].replace("bool* ", "int8_t* ")
    yield f"static {signature['type']} {signature['name']}({parameters}) {{"
    for parameter in parameters.split(", "):
        name = _WORD.findall(parameter)[-1]
        if name not in read:
            yield f"  (void){name};"
    yield from sorted(pointers, key=_by_name)
    number = count()
    for line in statements:
        call = _CALL.fullmatch(line)
        yield f"{call['lead']}MATCH_CALL({next(number)}, {call['call']});" if call else line
    yield "}"


def _by_name(line: str) -> list[tuple[int, str]]:
    """Sorts by names, and by the numbers in them as numbers."""
    return [(int(number or 0), text) for text, number in re.findall(r"(\D+)(\d*)", line)]
