"""Networks that earlier compilations read from model files, found by the files' bytes."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

import msgspec

from match.files.kept import Kept, content, sources
from match.frontend.file import from_bytes, model_bytes
from match.frontend.model import Model, ModelTensor, Rounding
from match.graph.value import Graph

STATIONS = "ir", "arithmetic", "graph", "quantized", "rewrites", "relay", "frontend"
"""Packages of the compiler whose sources decide what is read from a file."""

LIBRARIES = "onnx", "numpy"
"""Packages that read it, beside TVM."""

MOST_MODELS = 40
SUFFIX = ".model"


class _StoredModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """What of a `Model` its file alone decides; `module` as this version of TVM writes it."""

    tvm: str
    module: str
    inputs: tuple[ModelTensor, ...]
    outputs: tuple[ModelTensor, ...]
    rounding: Rounding


def kept_model(path: Path, folder: Path | None) -> Model:
    """The network of a file, from the folder if an earlier compilation left it there, else left there for the next.

    What is read as a graph is not kept: to read it again takes no longer. A file with weights in other files is read
    each time.

    Raises:
        ModelError: as `match.frontend.load`.
    """
    data = model_bytes(path)
    if folder is None or path.suffix.lower() == ".tflite":  # which is read as fast as it is found again
        return from_bytes(data, path)
    kept = Kept(folder, SUFFIX, MOST_MODELS)
    name = _name(data, path)
    found = kept.look_up(name)
    if found is not None:
        from match.relay import tvm

        entry = msgspec.msgpack.decode(found, type=_StoredModel)
        if entry.tvm == tvm.__version__:
            module, digest = tvm.ir.load_json(entry.module), hashlib.sha256(data).hexdigest()
            return Model(path.stem, digest, module, entry.inputs, entry.outputs, entry.rounding, data)
    model = from_bytes(data, path)
    if model.data == data and not isinstance(model.network, Graph):
        from match.relay import tvm

        module = tvm.ir.save_json(model.network)
        entry = _StoredModel(tvm.__version__, module, model.inputs, model.outputs, model.rounding)
        kept.store([(name, msgspec.msgpack.encode(entry))])
    return model


def _name(data: bytes, path: Path) -> str:
    """A digest of the file, of the format that it is read as, and of what reads it, but for TVM."""
    compiler = hashlib.sha256(b"".join(map(content, sources(Path(__file__).parents[1], STATIONS)))).hexdigest()
    libraries = tuple(map(version, LIBRARIES))
    described = (compiler, libraries, path.suffix.lower(), hashlib.sha256(data).hexdigest())
    return hashlib.sha256(msgspec.json.encode(described)).hexdigest()
