"""Operators of TVM's whose output is in external memory as C: TVM's loop over a few iterations, and who calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from match.codegen.c_text import render
from match.codegen.network import Strips
from match.target.hardware import ExternalApi

_LOOP = re.compile(r"^  for \(int32_t (?P<name>\w+) = 0; (?P=name) < (?P<count>\d+); \+\+(?P=name)\) \{$", re.MULTILINE)
_PARAMETER = re.compile(r"(?P<type>.*\W)(?P<name>\w+)")


@dataclass(frozen=True)
class StripText:
    """What the template asks about an operator with its C `parameters`.

    offset: of the first strip in main memory.
    """

    function: str
    parameters: tuple[str, ...]
    offset: int
    strips: Strips
    api: ExternalApi

    @property
    def rest(self) -> int:
        """Strips that are on their way when the last one is made."""
        return min(2, -(-self.strips.count // self.strips.rows))

    @property
    def written(self) -> str:
        """The parameter that is outside."""
        return self._name(self.strips.argument)

    @property
    def arguments(self) -> str:
        """The arguments of TVM's loop, which writes a strip in place of the output."""
        output = self.strips.argument
        kind = _PARAMETER.fullmatch(self.parameters[output])
        assert kind is not None
        strip = f"({kind['type'].strip()})(void *)strips[turn]"
        return ", ".join(strip if n == output else self._name(n) for n in range(len(self.parameters)))

    def _name(self, number: int) -> str:
        found = _PARAMETER.fullmatch(self.parameters[number])
        assert found is not None
        return found["name"]


def in_strips(operators: str, function: str, offset: int, strips: Strips, api: ExternalApi) -> str:
    """TVM's C of a network, where a function gives its output away strip by strip.

    Args:
        operators: the C.
        function: one that is a single loop, which writes its output from front to back.
        offset: of the strips in main memory, in bytes.
        strips: their sizes, and which parameter becomes an address in external memory.
        api: functions of the external memory.
    """
    start = operators.index(f"static int32_t {function}(")
    end = operators.index("\n}\n", start) + len("\n}\n")
    head, body = operators[start:end].split(" {\n", 1)
    parameters = head.split("(", 1)[1].removesuffix(")").split(", ")
    text = StripText(function, tuple(parameters), offset, strips, api)
    loop = _LOOP.search(body)
    assert loop is not None, "TVM prints the loop that it was found to have"
    assert int(loop["count"]) == strips.count, "it has as many iterations"
    first = f"  for (int32_t {loop['name']} = first; {loop['name']} < end; ++{loop['name']}) {{"
    body = body[: loop.start()] + first + "".join(_shifted(body[loop.end() :], text.written, loop["name"]))
    part = f"static int32_t {function}_strip({', '.join(parameters)}, int32_t first, int32_t end) {{\n{body}"
    return f"{operators[:start]}{part}\n{render('strips.c.mako', text=text)}{operators[end:]}"


def _shifted(body: str, array: str, variable: str) -> Iterator[str]:
    """The body of the loop, where indices of an array count from the first iteration of a strip."""
    at = 0
    for access in re.finditer(rf"\b{array}\[", body):
        if access.end() <= at:
            continue
        end = access.end() + _closing(body[access.end() :])
        yield body[at : access.end()]
        yield re.sub(rf"\b{variable}\b", partial(_from_first, variable), body[access.end() : end])
        at = end
    yield body[at:]


def _from_first(variable: str, _: re.Match[str]) -> str:
    return f"({variable} - first)"


def _closing(text: str) -> int:
    """Where the bracket that is open at the beginning ends."""
    depth = 1
    for position, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if not depth:
            return position
    raise AssertionError("TVM closes its brackets")
