"""TVM's C of a network, made to compile without TVM's headers and without warnings.

TVM prints every function in one fixed form: an ``extern "C"`` guard, ``TVM_DLL`` and the prototype on one line, a body in
which each local variable and each call of the network's ``main`` has a line of its own. What is changed is known line
by line: guards and export marks go, functions become static, variables and parameters that nothing reads are taken out or
marked, and ``main`` returns the status of a call that fails instead of -1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_GUARD = '#ifdef __cplusplus\nextern "C"\n#endif\n'
_PROTOTYPE = re.compile(r"TVM_DLL (?P<type>\w+) (?P<name>\w+)\((?P<parameters>[^)]*)\)(?P<end>;| \{)")
_VARIABLE = re.compile(r"  void\* (?P<name>\w+) = .*;")
_CALL = re.compile(r"(?P<lead> +)if \((?P<call>\w+\(.*\)) != 0 \) return -1;")
_WORD = re.compile(r"\w+")


def clean(source: str) -> str:
    """Static functions out of the C that TVM made for its host target, to be put behind the headers it needs.

    Needed are ``stdbool.h``, ``stdint.h``, ``math.h`` and the declarations of layers and of ``MATCH_TRY``.
    """
    lines = source.replace(_GUARD, "").split("\n")
    defined = {found["name"] for line in lines if (found := _PROTOTYPE.fullmatch(line)) and found["end"] == " {"}
    return "\n".join(_cleaned(lines, defined)).strip("\n") + "\n"


def _cleaned(lines: list[str], defined: set[str]) -> Iterator[str]:
    body: list[str] | None = None
    signature: re.Match[str] | None = None
    for line in lines:
        if body is not None and signature is not None:
            if line == "}":
                yield from _function(signature, body)
                body = None
            else:
                body.append(line)
        elif found := _PROTOTYPE.fullmatch(line):
            if found["end"] == " {":
                signature, body = found, []
            elif found["name"] in defined:
                yield f"static {line.removeprefix('TVM_DLL ')}"
        elif not line.startswith(("#", "// tvm target:")):
            yield line


def _function(signature: re.Match[str], body: list[str]) -> Iterator[str]:
    body = _without_unread(body)
    read = set(_WORD.findall("\n".join(body)))
    yield f"static {signature['type']} {signature['name']}({signature['parameters']}) {{"
    for parameter in signature["parameters"].split(", "):
        name = _WORD.findall(parameter)[-1]
        if name not in read:
            yield f"  (void){name};"
    for line in body:
        call = _CALL.fullmatch(line)
        yield f"{call['lead']}MATCH_TRY({call['call']});" if call else line
    yield "}"


def _without_unread(body: list[str]) -> list[str]:
    """The body without pointers into constants or workspace that no other line mentions."""
    counts: dict[str, int] = {}
    for word in _WORD.findall("\n".join(body)):
        counts[word] = counts.get(word, 0) + 1
    return [line for line in body if not ((found := _VARIABLE.fullmatch(line)) and counts[found["name"]] == 1)]
