"""The example for a Cortex-M7: networks of two tasks compute the same while an interrupt hands over samples."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import match
from match.devtools.zoo import ds_cnn

pytestmark = pytest.mark.cc

PROJECT = Path(__file__).resolve().parents[2]
DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"


def told(what: str, time: int, values: np.ndarray) -> str:
    best = int(values.argmax())
    return f"{what} {time}: {best} at {int(values.reshape(-1)[best] * np.float32(1000))} thousandths"


@pytest.mark.usefixtures("qemu_arm")
def test_pictures_arrive_by_interrupt(tmp_path: Path) -> None:
    digits = match.compile(DIGITS, "cortex_m7", name="digits", output=tmp_path / "digits")
    keywords = match.compile(ds_cnn(), "cortex_m7", name="keywords", output=tmp_path / "keywords")
    folders = [f"DIGITS={tmp_path}/digits", f"KEYWORDS={tmp_path}/keywords", f"OUTPUT={tmp_path}/build"]
    command = ["make", "-s", "-C", str(PROJECT / "examples" / "cortex_m7"), *folders, "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    *lines, last = [line for line in done.stdout.splitlines() if not line.startswith("make")]
    row, column = np.mgrid[:16, :16]
    number = np.arange(490)
    expected: list[str] = []
    for time in range(4):
        image = ((column + 3 * (row + 16 * time) + 5 * time) % 17).astype(np.float32) / np.float32(16)
        (scores,) = digits.run({"image": image.reshape(1, 1, 16, 16)}).values()
        cepstrum = ((number + time) % 11).astype(np.float32) / np.float32(5) - np.float32(1)
        (words,) = keywords.run({keywords.inputs[0].name: cepstrum.reshape(keywords.inputs[0].shape)}).values()
        expected += [told("picture", time, scores), told("word", time, words)]
    assert sorted(lines) == sorted(expected)
    assert lines != expected, "tasks take turns, in another order than one task would"
    found = re.fullmatch(r"done, (\d+) rows arrived while networks ran, 0 were lost", last)
    assert found
    assert int(found[1]) > 16
