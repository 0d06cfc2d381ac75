"""The network that ships with the compiler: handwritten digits, trained by examples/train_digits.py."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from match.compilation.stopwatch import Progress, unheard
from match.compiler import compile as compile_model
from match.files import npz
from match.report import Report
from match.validation.exact_session import exact_session

INPUT = "image"
OUTPUT = "scores"


@dataclass(frozen=True)
class DemoResult:
    """How many held-out images are classified right, by generated C and by onnxruntime (None: not installed).

    `agreeing` counts the images to which both give the same digit.
    """

    report: Report
    images: int
    right: int
    onnxruntime_right: int | None
    agreeing: int | None

    def summary(self) -> str:
        """The result in a few lines."""
        lines = [
            f"{self.images} handwritten digits that training never saw:",
            f"  generated C on this machine  {self._accuracy(self.right)}",
        ]
        if self.onnxruntime_right is None:
            lines.append("  onnxruntime                  not installed; `pip install onnxruntime` to compare")
        else:
            lines.append(f"  onnxruntime                  {self._accuracy(self.onnxruntime_right)}")
            lines.append(f"  the same digit in {self.agreeing} of {self.images} images")
        return "\n".join(lines)

    def _accuracy(self, right: int) -> str:
        return f"{right / self.images:.2%} right ({right} of {self.images})"


def run_demo(target: str, progress: Progress = unheard) -> DemoResult:
    """Compile the demo's network for a target, build it, and run it on the held-out images.

    Raises:
        MatchError: the target is unknown, or there is no C compiler.
    """
    with as_file(files(__name__)) as folder:
        model = folder / "digits.onnx"
        images, labels = load_images(folder / "digits.npz")
        compiled = compile_model(model, target, progress=progress)
        progress("building and running")
        digits = _digits(compiled.run({INPUT: images})[OUTPUT])
        reference = _onnxruntime(model, images)
    return DemoResult(
        report=compiled.report,
        images=len(labels),
        right=int(np.sum(digits == labels)),
        onnxruntime_right=None if reference is None else int(np.sum(reference == labels)),
        agreeing=None if reference is None else int(np.sum(reference == digits)),
    )


def load_images(path: Path) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.uint8]]:
    """The held-out images as the network takes them and their digits.

    Images are float32 of shape (N, 1, 1, 16, 16) from 0 to 1, each pixel of the 8x8 originals as 2x2.
    """
    held_out = npz.read(path)
    images = np.kron(held_out["image"] / 16, np.ones((2, 2)))
    return images[:, np.newaxis].astype(np.float32), held_out["label"]


def _digits(scores: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    return scores.reshape(len(scores), -1).argmax(axis=1)


def _onnxruntime(model: Path, images: npt.NDArray[np.float32]) -> npt.NDArray[np.intp] | None:
    try:
        session = exact_session(model)
    except ImportError:
        return None
    return _digits(np.stack([session.run([OUTPUT], {INPUT: image})[0] for image in images]))
