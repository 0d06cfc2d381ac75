"""What the benchmark writes, as types (schema.json is made from them), and sums of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

SCHEMA_VERSION = 2


class Layer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A layer of a network on a platform ("rtl", "gvsoc"): its cycles, predicted and counted.

    revision: the project's that counted it. network: its name; ", exact" behind it where its numerics are, ", core"
    where all of it is that module's, ", apart" where no layers are joined. kind: its operator, and what of its geometry
    chooses a kernel. unit: the module that it is on.
    """

    revision: str
    network: str
    platform: str
    layer: str
    unit: str
    kind: str
    predicted: int
    counted: int


class Text(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bytes of instructions of a file of kernels, compiled for GVSoC. revision: the project's that has it."""

    revision: str
    file: str
    bytes: int


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The layers of some networks; the files of kernels, none where they were not measured."""

    schema_version: int = SCHEMA_VERSION
    layers: tuple[Layer, ...]
    texts: tuple[Text, ...]


class Sum(NamedTuple):
    """What some layers take together."""

    layers: int
    predicted: int
    counted: int

    @property
    def error(self) -> float:
        """The relative error of the prediction."""
        return self.predicted / self.counted - 1


Key = Callable[[Layer], tuple[str, ...]]


def by_kind(layer: Layer) -> tuple[str, ...]:
    """The platform, the unit and the kind of a layer."""
    return layer.platform, layer.unit, layer.kind


def by_network(layer: Layer) -> tuple[str, ...]:
    """The platform and the network of a layer."""
    return layer.platform, layer.network


def sums(layers: Iterable[Layer], key: Key) -> dict[tuple[str, ...], Sum]:
    """The layers of each key together, in the order of keys."""
    found: dict[tuple[str, ...], list[Layer]] = {}
    for layer in layers:
        found.setdefault(key(layer), []).append(layer)
    return {
        name: Sum(len(group), sum(one.predicted for one in group), sum(one.counted for one in group))
        for name, group in sorted(found.items())
    }


def joined(before: Sequence[Layer], now: Sequence[Layer]) -> tuple[Layer, ...]:
    """What was counted now, and of what was counted before the networks that were not counted now on their platform."""
    again = {by_network(layer) for layer in now}
    return tuple(sorted((*(one for one in before if by_network(one) not in again), *now), key=by_network))


def encoded(results: Results) -> bytes:
    """The results as JSON, a line for each layer and file, so that a change of one is a change of a line."""
    layers, texts = (b",\n".join(map(msgspec.json.encode, rows)) for rows in (results.layers, results.texts))
    version = str(results.schema_version).encode()
    return b'{"schema_version": %b, "layers": [\n%b\n], "texts": [\n%b\n]}\n' % (version, layers, texts)


def schema() -> dict[str, Any]:
    """JSON Schema of `Results`."""
    return msgspec.json.schema(Results)
