"""Which session of onnxruntime is the reference, and when its integers may be others than the network's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

import match
from match.frontend import load
from match.validation import references
from match.validation.exact_session import has_signed_activations

pytestmark = pytest.mark.tvm


def model_file(folder: Path, activations: str) -> Path:
    """A network with residual additions, whose weights are int8 in any case."""
    path = folder / f"{activations}.onnx"
    onnx.save(match.zoo.build("resnet8", activations=activations), path)
    return path


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("activations", ["int8", "uint8"])
def test_signed_activations_need_exact_products(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, activations: str, exact: bool
) -> None:
    """Where the PC has them the session computes in int8; where it has not, the validation says what that means."""
    asked: list[bool] = []

    def session(model: bytes, *, signed: bool) -> Any:
        asked.append(signed)

    monkeypatch.setattr(references, "multiplies_signed_exactly", lambda: exact)
    monkeypatch.setattr(references, "exact_session", session)
    path = model_file(tmp_path, activations)
    model = load(path)
    references.reference(model)
    signed = activations == "int8"
    assert has_signed_activations(path.read_bytes()) == signed
    assert asked == [signed and exact]
    said = references.caveat(model)
    assert (said is not None) == (signed and not exact)
    assert said is None or "int8 activations" in said


def test_other_references_are_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """TFLite Micro and a network's own integers have no such kernels."""
    monkeypatch.setattr(references, "multiplies_signed_exactly", lambda: False)
    network = Path(__file__).parent.parent / "tflite" / "networks" / "autoencoder.tflite"
    assert references.caveat(load(network)) is None
