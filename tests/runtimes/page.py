"""docs/runtimes.md: what becomes of each operator that the runtimes have integer kernels for."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.runtimes import quantize_static, tflite_micro
from tests.tflite.cases import BOOL, FLOAT

_HEAD = """# Operators of the runtimes

Who computes each operator that TFLite Micro has a kernel of 8 or 16 bits for, and each that onnxruntime's
`quantize_static` wraps, on GAP9. The rows are the runtimes' own: TFLite Micro's interpreter says which operators it
knows, and a registry of onnxruntime which of them it wraps. An operator is in a file of its own, in several forms;
where "or" stands, these differ.

- **modules**: a module takes it, where it is large enough to be worth a call.
- **control core**: integers, those of the runtime bit for bit, in C.
- **control core, floating point**: as the runtime computes it.
- **nothing to compute**: elements stay where they are.

Between dequantize and quantize there may be more: a function of each element of one or two tensors of 8 bits is a table
on modules, whatever operators it is made of ([integer form](integer-form.md)).
"""

_REST_OF_TFLITE = """These have no kernel of 8 or 16 bits, as they compute real numbers and truth values: {alone}.
Between DEQUANTIZE and QUANTIZE, functions of elements are tables. IF and WHILE are refused;
variables are [states](states.md).
"""

_REST_OF_ONNX = "An empty cell: there is no such form, or what `quantize_static` writes of it is no valid model."


def page() -> str:
    """All of it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        alone = ", ".join(sorted((FLOAT | BOOL) & tflite_micro.registered()))
        parts = (
            _HEAD,
            "## TFLite Micro\n",
            _table(("operator", "8 bits", "16 bits"), tflite_micro.rows(place)),
            _REST_OF_TFLITE.format(alone=alone),
            "## onnxruntime's quantize_static\n",
            _table(("operator", "QDQ", "QOperator"), quantize_static.rows(place)),
            _REST_OF_ONNX,
        )
    return "\n".join(parts) + "\n"


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    return "\n".join([_line(header), _line("---" for _ in header), *map(_line, rows), ""])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")
