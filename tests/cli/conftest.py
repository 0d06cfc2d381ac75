"""A command line that can be called, and a project to call it on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import match.devtools.demo
from match.cli import main

DIGITS = Path(match.devtools.demo.__file__).parent / "digits.onnx"


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The sentence of a failed command; anything else it may have printed fails the test."""
        assert self.status == 2, self.err
        assert self.out == ""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("match: ")
        sentence = lines[0].removeprefix("match: ")
        assert sentence.endswith((".", "?"))
        assert ". " not in sentence
        return sentence


Command = Callable[..., Outcome]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `match` with arguments."""

    def run(*arguments: str | Path) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Outcome(int(ending.value.code or 0), out, err)

    return run


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's network, compiled by the command line."""
    folder = tmp_path_factory.mktemp("cli") / "digits"
    with pytest.raises(SystemExit) as ending:
        main(["compile", str(DIGITS), "-o", str(folder)])
    assert not ending.value.code
    return folder
