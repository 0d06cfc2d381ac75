"""States on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Command
from tests.passes.test_one_sample import network
from tests.passes.test_states import cell
from tests.tflite.streams import micro, stream, wake_word

pytestmark = pytest.mark.cc


def test_a_stream_from_a_file_and_at_random(command: Command, tmp_path: Path) -> None:
    model, out, found = wake_word(tmp_path), tmp_path / "out", tmp_path / "found.npz"
    assert command("compile", model, "-o", out, "--numerics", "exact", "-q").status == 0
    steps = stream((1, 2, 1, 8), 6)
    np.savez(tmp_path / "steps.npz", t0=steps)
    given = ("run", out, "--input", tmp_path / "steps.npz", "--output", found, "-q")
    for more, count in (((), 6), (("--samples", "4"), 4)):
        assert command(*given, *more).status == 0
        (outputs,) = np.load(found).values()
        assert np.array_equal(outputs.reshape(count, -1), np.stack(micro(model, steps[:count])).reshape(count, -1))
    assert "6 samples, not 7" in command(*given, "--samples", "7").error
    result = command("run", out, "--samples", "5", "--json")
    assert [tensor["shape"][0] for tensor in json.loads(result.out)["outputs"]] == [5]


def test_the_table_names_states(command: Command, tmp_path: Path) -> None:
    shown = command("compile", wake_word(tmp_path), "-o", tmp_path / "out").out
    assert "States: 88 bytes from one inference to the next (x 24, hidden 64)." in shown


def test_states_are_given_by_name(command: Command, tmp_path: Path) -> None:
    model, out = cell(tmp_path), tmp_path / "out"
    assert command("compile", model, "-o", out, "--state", "h_in:h_out", "-q", "--numerics", "exact").status == 0
    assert command("validate", out, "--against", model, "-q").status == 0
    assert [state["output"] for state in json.loads((out / "report.json").read_text())["model"]["states"]] == ["h_out"]


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        (["h_in"], "--state h_in is no pair of names; give it as IN:OUT, such as --state h_in:h_out."),
        (["h_in:"], "--state h_in: is no pair of names; give it as IN:OUT, such as --state h_in:h_out."),
        (["h_in:h_out", "h_in:y"], "--state h_in is given more than once; give it one output."),
        (["h_in:0:h_out:0"], "recurrent has no input 'h_in:0' that could be a state; its inputs are: x, h_in."),
    ],
)
def test_pairs_of_names(states: list[str], sentence: str, command: Command, tmp_path: Path) -> None:
    given = [part for state in states for part in ("--state", state)]
    assert command("compile", cell(tmp_path), "-o", tmp_path / "out", *given).error == sentence
    assert not (tmp_path / "out").exists()


def test_selftests_begin_a_stream(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert command("compile", wake_word(tmp_path), "-o", out, "-q").status == 0
    assert command("selftest", out, "-q").status == 0
    assert "stream_reset(context)" in (out / "selftest" / "stream_selftest.c").read_text()


def test_a_batch_is_computed_one_sample_at_a_time(command: Command, tmp_path: Path) -> None:
    model, out, found = network(tmp_path, 3), tmp_path / "out", tmp_path / "found.npz"
    outcome = command("compile", model, "-o", out, "--numerics", "exact")
    assert (outcome.status, "has a batch of 3, and its C computes one sample at a time" in outcome.err) == (0, True)
    np.savez(tmp_path / "x.npz", x=np.zeros((3, 6, 9, 8), np.float32))
    assert command("run", out, "--input", tmp_path / "x.npz", "--output", found, "-q").status == 0
    assert [array.shape for array in np.load(found).values()] == [(3, 5)]
