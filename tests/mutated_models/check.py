"""What becomes of a changed model file: a network or a sentence."""

from __future__ import annotations

import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from match.errors import MatchError
from match.frontend import load
from match.frontend.failures import tvm_failures
from tests.integer_relay import integer_relay
from tests.mutated_models.mutations import TFLITE, mutated


@dataclass(frozen=True)
class Checked:
    """said: the sentence of a refusal. wrong: what was raised that is no sentence, or what is no sentence."""

    seed: int
    said: str = ""
    wrong: str = ""


def check(kind: str, seed: int, folder: Path) -> Checked:
    """Read the file of a seed, and bring its network to integer form; the file is written to `folder`."""
    path = folder / f"changed.{'tflite' if kind in TFLITE else 'onnx'}"
    path.write_bytes(mutated(kind, seed))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            model = load(path)
            with tvm_failures(model.name):
                integer_relay(model, "uint8")
    except MatchError as error:
        said = str(error)
        return Checked(seed, said, "" if "\n" not in said else "it is several lines")
    except Exception as error:  # noqa: BLE001  whatever it is, it is wrong, and the next seed is to be tried
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if "/match/" in frame.filename] or frames
        place = f"{Path(own[-1].filename).name}:{own[-1].lineno} in {own[-1].name}"
        return Checked(seed, wrong=f"{type(error).__name__} ({place}): {' '.join(str(error).split())[:300]}")
    return Checked(seed)
