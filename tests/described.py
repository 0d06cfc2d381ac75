"""Pages that say what the code says: fields of classes that describe a chip (`make pages`), errors (`make site`)."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from match import errors
from match.ir.attributes import (
    Broadcast,
    ChannelGroups,
    Concatenation,
    Gathering,
    Interpolation,
    LookupTable,
    Own,
    Slice,
    Transposition,
)
from match.ir.layer import Fused, Group, Layer
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.target.cost import Block, Tile
from match.target.hardware import DirectApi, MemoryApi

PACKAGE = Path(__file__).resolve().parents[1] / "match"

CLASSES: tuple[type, ...] = (
    Layer,
    ChannelGroups,
    Broadcast,
    Concatenation,
    Slice,
    Transposition,
    Gathering,
    Interpolation,
    LookupTable,
    Own,
    Fused,
    Group,
    Tile,
    Block,
    Memory,
    MemoryApi,
    DirectApi,
    Requantizer,
)
"""Those whose fields are in docs/fields.md."""

_FIELDS = """# Fields of a description

What authors of [targets](new-target.md) are given and give, field by field.
`make pages` writes this page from the classes.
"""

_ERRORS = """# Errors

An error is one sentence on stderr that says what is wrong, where, and what to do. The exit status is 2, and nothing
is left half-written. From Python it is an exception of one of these kinds, all of them `match.MatchError`. What the
case fills in is *slanted* here, or … .
"""

_WHAT_TO_DO = {
    "ModelError": (
        "Quantize the model or export it again as the sentence says; [formats](../README.md#bring-your-own-model)."
    ),
    "TargetError": (
        "`match targets` lists what is installed; `match check-target` says what is wrong with a description."
    ),
    "OptionError": "Take one of the values that the sentence lists.",
    "ScheduleError": "From a compilation it is a fault of MATCH or of a target: `match check-target` tells which.",
    "NoMappingError": (
        "The layer goes to another module or to the control core; the report repeats the sentence. A larger `--l1` "
        "helps where bytes are lacking."
    ),
    "CostModelError": "Mend the cost model; `match check-target` repeats the call.",
    "CapacityError": "A smaller network, a larger `--l2`, or a target with [external memory](external-memory.md).",
    "ToolchainError": "Install what is named, or read what the program printed.",
    "InputError": "`project.json` and `compiled.inputs` have the names, shapes and types.",
    "OutputError": "Another place, or `--overwrite` where files that you have changed are in the way.",
}


def attributes(described: type) -> dict[str, str]:
    """What a class's docstring says of each of its fields, in its order."""
    text = inspect.getdoc(described) or ""
    _, _, section = text.partition("Attributes:\n")
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return {name: " ".join(meaning.split()) for name, meaning in found}


def declared(described: type) -> dict[str, tuple[str, str]]:
    """The type and the default (empty: none) of each field of a dataclass or named tuple, as text."""
    hints = inspect.get_annotations(described)
    types = {name: getattr(kind, "__forward_arg__", kind) for name, kind in hints.items()}
    if dataclasses.is_dataclass(described):
        missing = dataclasses.MISSING
        defaults = {field.name: field.default for field in dataclasses.fields(described)}
        given = {name: value for name, value in defaults.items() if value is not missing}
    elif issubclass(described, msgspec.Struct):
        fields = msgspec.structs.fields(described)
        given = {field.name: field.default for field in fields if field.default is not msgspec.NODEFAULT}
    else:
        given = described._field_defaults  # pyright: ignore[reportAttributeAccessIssue]
    texts = {name: str(kind).replace("|", "or") for name, kind in types.items()}  # a bar would end a table's cell
    return {name: (kind, _shown(given[name]) if name in given else "") for name, kind in texts.items()}


def _shown(value: object) -> str:
    return re.sub(r"<(\w+\.\w+).*>", r"\1", repr(value))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("``", "`")


def fields() -> str:
    """The page of fields."""
    parts = [_FIELDS]
    for described in CLASSES:
        summary = (inspect.getdoc(described) or "").partition("\n\n    ")[0].partition("Attributes:")[0].strip()
        meanings = attributes(described)
        rows = [
            f"| `{name}` | {_cell(meanings[name])} | `{kind}` | {f'`{default}`' if default else ''} |"
            for name, (kind, default) in declared(described).items()
        ]
        table = ["| field | meaning | type | default |", "|---|---|---|---|", *rows]
        parts += [f"\n## {described.__name__}\n\n{summary}\n", "\n".join(["", *table, ""])]
    return "".join(parts)


def _text(node: ast.expr, known: Mapping[str, str]) -> str:
    """A sentence of the code; what is filled in stands between two bars."""
    match node:
        case ast.Constant(value=str(text)):
            return text.replace("|", "/")
        case ast.JoinedStr(values=values):
            return "".join(_text(value, known) for value in values)
        case ast.BinOp(left=left, right=right):
            return _text(left, known) + _text(right, known)
        case ast.FormattedValue(value=value):
            return _text(value, known)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return known.get(name) or f"|{name.strip('_').replace('_', ' ')}|"
        case _:
            return "…"


def _constants(tree: ast.Module) -> dict[str, str]:
    """Texts that have a name in a module."""
    return {
        name: text
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.JoinedStr)
        for name, text in [(ast.unparse(node.targets[0]), _text(node.value, {}))]
    }


def sentences() -> Iterator[tuple[str, str]]:
    """The kind and the text of each error that the package raises with a text of its own."""
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    trees = [ast.parse(source.read_text(encoding="utf-8")) for source in sorted(PACKAGE.rglob("*.py"))]
    known = {name: text for tree in trees for name, text in _constants(tree).items() if name.isupper()}
    for tree in trees:
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="NoMappingError"), args=[layer, predicate, *_]):
                    yield "NoMappingError", f"layer {_text(layer, {})} {_text(predicate, known)}."
                case ast.Call(func=ast.Name(id=kind), args=[text]) if kind in kinds:
                    yield kind, _text(text, known)
                case _:
                    pass


def _slanted(text: str) -> str:
    """The Markdown of a sentence."""
    return re.sub(r"([*<])", r"\\\1", text).replace("|", "*")


def error_sentences() -> str:
    """The page of errors."""
    by_kind: dict[str, set[str]] = {}
    for kind, text in sentences():
        if re.search(r"\w{3}", re.sub(r"\|[^|]*\|", "", text)):
            by_kind.setdefault(kind, set()).add(_slanted(" ".join(text.split())))
    parts = [_ERRORS]
    for kind, what in _WHAT_TO_DO.items():
        meaning = (inspect.getdoc(getattr(errors, kind)) or "").partition("\n")[0]
        listed = "".join(f"- {text}\n" for text in sorted(by_kind.pop(kind)))
        parts.append(f"\n## {kind}\n\n{meaning} {what}\n\n{listed}")
    assert not by_kind, by_kind
    return "".join(parts)
