"""TVM's C of functions, made to compile without TVM's headers and without warnings.

TVM prints every function in one fixed form: an ``extern "C"`` guard, ``TVM_DLL`` and the prototype on one line, then
the body. Declarations, guards and export marks go, and functions become static; truth values are int8_t; unread
parameters are marked. None of this is in TIR: TVM's C printer makes guards and export marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_GUARD = '#ifdef __cplusplus\nextern "C"\n#endif\n'
_SIGNATURE = re.compile(r"TVM_DLL (?P<type>\w+) (?P<name>\w+)\((?P<parameters>[^)]*)\) \{")
_WORD = re.compile(r"\w+")


def clean(source: str) -> str:
    """Static functions out of the C that TVM made for its host target, to be put after the headers they need.

    These are ``stdbool.h``, ``stdint.h`` and ``math.h``.
    """
    return "\n\n".join(_functions(source.replace(_GUARD, "").split("\n"))) + "\n"


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
    read = set(_WORD.findall("\n".join(body)))
    parameters = signature["parameters"].replace("bool* ", "int8_t* ")
    yield f"static {signature['type']} {signature['name']}({parameters}) {{"
    for parameter in parameters.split(", "):
        name = _WORD.findall(parameter)[-1]
        if name not in read:
            yield f"  (void){name};"
    yield from body
    yield "}"
