"""Operators that TFLite Micro has kernels for, as its interpreter says when it is given a file with each."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from match.validation.micro import EndedError, MicroProcess, RefusedError
from tests.passes.tflite_models import TfliteModel, schema
from tests.runtimes.verdicts import verdict
from tests.tflite.case import Case, Network, written
from tests.tflite.cases import by_operator, int16

NO_KERNEL = ""

_PROGRAM = """
import pickle, sys
from tflite_micro import runtime
for name, data in pickle.load(open(sys.argv[1], "rb")):
    print(f"@@{name}", file=sys.stderr, flush=True)
    try:
        runtime.Interpreter.from_bytes(data)
    except (RuntimeError, ValueError):
        pass
"""
"""Loads files one after the other; a kernel may end it."""

_INT8, _INT16 = 9, 7
_NUMPY: Mapping[int, Any] = {0: np.float32, 2: np.int32, 4: np.int64, 6: np.bool_, _INT16: np.int16, _INT8: np.int8}
_LONGEST = 2
"""Cases of an operator that are tried with 16 bits."""

_UNDEFINED = {"GREATER": "undefined: TFLite Micro's kernel does not set its scales"}
"""Kernels of 16 bits that compute nothing."""


@cache
def registered() -> frozenset[str]:
    """All operators with a kernel, whatever its types are."""
    names = [name for name in vars(schema.BuiltinOperator) if name.isupper() and name not in ("CUSTOM",)]
    left = {name: _alone(name) for name in names if not name.startswith("PLACEHOLDER")}
    found: set[str] = set()
    while left:
        with tempfile.NamedTemporaryFile() as file:
            Path(file.name).write_bytes(pickle.dumps(list(left.items())))
            said = subprocess.run(
                [sys.executable, "-c", _PROGRAM, file.name], capture_output=True, text=True, check=False
            ).stderr
        for name, text in re.findall(r"@@(\w+)\n(.*?)(?=@@|\Z)", said, re.DOTALL):
            found |= set() if "Didn't find op" in text else {name}
            del left[name]
    return frozenset(found)


def _alone(name: str) -> bytes:
    network = Network()
    output = network.tensor((1, 4), (0.1, 0))
    network.apply(name, [], output)
    return network.model.build([], [output])


def rows(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Each operator with a kernel of 8 or 16 bits, and what becomes of both; `NO_KERNEL` where there is none."""
    narrow, wide = by_operator(), int16.by_operator()
    for name in sorted(registered() & {*narrow, *wide}):
        of_bytes = _written(folder, narrow.get(name, ()))
        of_words = wide.get(name) or tuple(filter(None, [_with_16_bits(narrow[name])]))
        yield name, of_bytes, _UNDEFINED.get(name) or _written(folder, of_words)


def _written(folder: Path, cases: Sequence[Case]) -> str:
    """What becomes of some cases, all in one file."""
    if not cases:
        return NO_KERNEL
    path = folder / "operators.tflite"
    path.write_bytes(written(cases).data)
    return verdict(path)


def _with_16_bits(cases: Sequence[Case]) -> Case | None:
    """The first case that TFLite Micro computes if its tensors of 8 bits have 16, or those that are no constants."""
    for case in cases[:_LONGEST]:
        for constants in (False, True):
            changed = Case(
                case.operator, case.label, lambda network, own=case, all_of=constants: _widened(network, own, all_of)
            )
            network = Network()
            changed.write(network)
            if _computes(network):
                return changed
    return None


def _widened(network: Network, case: Case, constants: bool) -> None:
    first = len(network.model.tensors)
    case.write(network)
    for tensor in network.model.tensors[first:]:
        if tensor.type != _INT8 or (tensor.buffer and not constants):
            continue
        tensor.type = _INT16
        if tensor.quantization is not None:
            tensor.quantization.zeroPoint = [0] * len(tensor.quantization.scale)
        if tensor.buffer:
            _widen(network.model, tensor)


def _widen(model: TfliteModel, tensor: Any) -> None:
    data = np.asarray(model.buffers[tensor.buffer].data, np.uint8).view(np.int8).astype(np.int16)
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(data.tobytes(), np.uint8)
    model.buffers.append(buffer)
    tensor.buffer = len(model.buffers) - 1


def _computes(network: Network) -> bool:
    """Whether TFLite Micro computes a network with some tensor of 16 bits, and its outputs follow its inputs."""
    tensors = [network.model.tensors[number] for number, _ in network.inputs]
    if not any(tensor.type == _INT16 for tensor in network.model.tensors):
        return False
    data = network.model.build([number for number, _ in network.inputs], list(network.outputs))
    rng, count = np.random.default_rng(0), len(network.outputs)
    samples = [[rng.integers(0, 99, one.shape).astype(_NUMPY[one.type]) for one in tensors] for _ in range(2)]
    try:
        process = MicroProcess(data)
        found = [process.outputs(sample, count) for sample in samples]
    except (RefusedError, EndedError):
        return False
    return any(not np.array_equal(a, b) for a, b in zip(*found, strict=True))
