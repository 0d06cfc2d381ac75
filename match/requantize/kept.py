"""Forms of requantization that were chosen before, found by everything that the choice depends on.

A network's operators are asked about alone, in chains and again in less memory, and the fit is the same each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from match.compilation.options import Numerics
from match.files.kept import Kept, content, sources
from match.ir.constants import Addends, LayerConstants, ZeroPoints
from match.ir.exception_lists import with_lists_of
from match.ir.layer import Layer
from match.ir.requantization import Requantization, RequantizationFit, Requantizer
from match.processes.workers import Workers
from match.requantize.form import Form, Range, choose_among, choose_form
from match.target import methods
from match.target.hardware import HwModule

STATIONS = "ir", "requantize"
"""Packages of the compiler whose sources decide which form is chosen."""

MOST_FORMS = 5_000
SUFFIX = ".form"


class _Array(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """An array: its shape, its type, and its bytes in C order."""

    shape: tuple[int, ...]
    dtype: str
    data: bytes

    @classmethod
    def of(cls, array: npt.NDArray[Any]) -> _Array:
        return cls(array.shape, array.dtype.str, array.tobytes())

    @property
    def array(self) -> npt.NDArray[Any]:
        return np.frombuffer(self.data, self.dtype).reshape(self.shape).copy()


class _StoredRequantization(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A `Requantization`: the fields that are arrays, and the clip."""

    arrays: dict[str, _Array]
    clip: tuple[int, int]

    @classmethod
    def of(cls, line: Requantization) -> _StoredRequantization:
        values: dict[str, Any] = {field.name: getattr(line, field.name) for field in fields(line)}
        clip = values.pop("clip")
        return cls({name: _Array.of(value) for name, value in values.items() if value is not None}, clip)

    @property
    def line(self) -> Requantization:
        return Requantization(**{name: stored.array for name, stored in self.arrays.items()}, clip=self.clip)


class _Chosen(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """What differs of a `Form` from the layer's constants; `requantizer` is a place among the module's forms."""

    requantizer: int
    line: _StoredRequantization
    addends: Addends | None
    fit: RequantizationFit


class _StoredForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    chosen: _Chosen | None
    refusal: str | None


@dataclass(frozen=True, eq=False)
class _Question:
    """What a choice depends on, as a worker is asked it; `line` and `data` are constants of a layer."""

    module: str
    forms: tuple[Requantizer, ...]
    line: Requantization
    data: Addends | ZeroPoints | None
    accumulator: Range
    numerics: Numerics

    @classmethod
    def about(
        cls, module: HwModule, layer: Layer, constants: LayerConstants, accumulator: Range, numerics: Numerics
    ) -> _Question:
        line = constants.requantization
        assert line is not None
        data = constants.get(Addends) or constants.get(ZeroPoints)
        return cls(module.name, methods.forms(module, layer), line, data, accumulator, numerics)


Asked = tuple[HwModule, Layer, LayerConstants, Range | None]
"""A module and a layer that it accepts, with the layer's constants and accumulators."""

_Identity = tuple[int, int, int, int, Numerics]
"""Which objects a question is about."""


def _identity(asked: Asked, numerics: Numerics) -> _Identity:
    module, layer, constants, accumulator = map(id, asked)
    return module, layer, constants, accumulator, numerics


class Forms:
    """`choose_form`, asked once for equal layers; what it answered is in the folder, if there is one, after `keep`."""

    def __init__(self, folder: Path | None) -> None:
        self._kept = Kept(folder, SUFFIX, MOST_FORMS) if folder else None
        compiler = sources(Path(__file__).parents[1], STATIONS)
        self._version = hashlib.sha256(b"".join(map(content, compiler))).hexdigest()
        self._new: dict[str, bytes] = {}
        self._told: dict[_Identity, tuple[Asked, Form | str]] = {}
        """What is asked about a layer is the same object in all chains and groups that have it; objects live here."""

    def choose(
        self, module: HwModule, layer: Layer, constants: LayerConstants, accumulator: Range | None, numerics: Numerics
    ) -> Form | str:
        """What `choose_form` answers."""
        asked = module, layer, constants, accumulator
        key = _identity(asked, numerics)
        if key not in self._told:
            self._told[key] = asked, self._choose(module, layer, constants, accumulator, numerics)
        return self._told[key][1]

    def _choose(
        self, module: HwModule, layer: Layer, constants: LayerConstants, accumulator: Range | None, numerics: Numerics
    ) -> Form | str:
        if constants.requantization is None or accumulator is None:
            return choose_form(module, layer, constants, accumulator, numerics)
        question = _Question.about(module, layer, constants, accumulator, numerics)
        name = self._name(question)
        found = self._known(name, question, constants)
        if found is None:
            self._new[name] = _answer(question)
            found = _decode(self._new[name], question.forms, constants)
            assert found is not None
        return found

    def choose_all(self, asked: Iterable[Asked], numerics: Numerics, workers: Workers) -> None:
        """Ask workers what `choose` will be asked for."""
        missing: dict[str, _Question] = {}
        for key, one in {_identity(one, numerics): one for one in asked}.items():
            module, layer, constants, accumulator = one
            if constants.requantization is not None and accumulator is not None:
                question = _Question.about(module, layer, constants, accumulator, numerics)
                name = self._name(question)
                if name in missing:
                    continue
                found = self._known(name, question, constants)
                if found is None:
                    missing[name] = question
                else:
                    self._told[key] = one, found
        answers = workers.answers(_answer, list(missing.values()), _size)
        self._new.update(zip(missing, answers, strict=True))

    def keep(self) -> None:
        """Leave what was answered for the next compilation."""
        if self._kept is not None and self._new:
            self._kept.store(self._new.items())

    def _known(self, name: str, question: _Question, constants: LayerConstants) -> Form | str | None:
        entry = self._new.get(name) or (self._kept.look_up(name) if self._kept else None)
        return None if entry is None else _decode(entry, question.forms, constants)

    def _name(self, question: _Question) -> str:
        described = (
            self._version,
            np.__version__,
            question.module,
            question.forms,
            question.numerics,
            _StoredRequantization.of(question.line),
            question.data,
            [_Array.of(end) for end in question.accumulator],
        )
        return hashlib.sha256(msgspec.msgpack.encode(described)).hexdigest()


def _size(question: _Question) -> int:
    """Grows with the time that a choice takes."""
    return question.line.channels


def _answer(question: _Question) -> bytes:
    """What is chosen, as it is kept."""
    constants = LayerConstants(question.data, question.line)
    found = choose_among(question.forms, question.module, constants, question.accumulator, question.numerics)
    return _encode(found, question.forms)


def _encode(found: Form | str, forms: tuple[Requantizer, ...]) -> bytes:
    if isinstance(found, str):
        return msgspec.msgpack.encode(_StoredForm(None, found))
    line = found.constants.requantization
    assert line is not None
    assert found.requantizer is not None
    assert found.fit is not None
    place = [form.name for form in forms].index(found.requantizer.name)
    chosen = _Chosen(place, _StoredRequantization.of(line), found.constants.get(Addends), found.fit)
    return msgspec.msgpack.encode(_StoredForm(chosen, None))


def _decode(data: bytes, forms: tuple[Requantizer, ...], constants: LayerConstants) -> Form | str | None:
    """The answer that `_encode` wrote; None if the bytes are none."""
    try:
        entry = msgspec.msgpack.decode(data, type=_StoredForm)
    except msgspec.MsgspecError:
        return None
    chosen = entry.chosen
    if chosen is None:
        return entry.refusal
    line = chosen.line.line
    fitted = replace(constants, data=chosen.addends or constants.data, requantization=line)
    return Form(with_lists_of(forms[chosen.requantizer], line), fitted, chosen.fit)
