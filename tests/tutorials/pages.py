"""A tutorial as its reader works through it: files are written, commands run, what the page shows is printed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from match.cli import main
from tests.package.test_architecture import PROJECT

TUTORIALS = PROJECT / "docs" / "tutorials"
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Language, title (empty: none) and text of each block of code of a tutorial."""
    text = (TUTORIALS / page).read_text(encoding="utf-8")
    found = _BLOCK.findall(text)
    assert text.count("```") == 2 * len(found), "a block that is not understood"
    return found


def write(folder: Path, page: str, title: str) -> None:
    """Writes a file of a tutorial."""
    (content,) = (text for _, of, text in blocks(page) if of == title)
    (folder / title).write_text(content, encoding="utf-8")


@dataclass
class Reader:
    """Works in a folder, which has to be the current one; does not run lines that begin with one of `leaves_out`."""

    folder: Path
    leaves_out: tuple[str, ...]
    capsys: pytest.CaptureFixture[str]
    printed: str = ""

    def follow(self, page: str) -> None:
        """Does all that a page says."""
        for language, title, content in blocks(page):
            if title:
                write(self.folder, page, title)
            elif language == "sh":
                for line in content.splitlines():
                    self.run(line)
            else:
                assert language == "text", language
                missing = [line for line in content.splitlines() if line not in self.printed]
                assert not missing, self.printed

    def run(self, line: str) -> None:
        """Runs a line of a shell; `match` in this process, which has loaded TVM already."""
        if self.leaves_out and line.startswith(self.leaves_out):
            return
        program, *arguments = shlex.split(line, comments=True)
        if program == "match":
            for name, module in list(sys.modules.items()):
                if Path(getattr(module, "__file__", None) or "/").is_relative_to(self.folder):
                    del sys.modules[name]  # a command of its own would read the file again
            with pytest.raises(SystemExit) as ending:
                main(arguments)
            assert not ending.value.code, line
            self.printed += self.capsys.readouterr().out
            return
        command = [sys.executable if program == "python" else shutil.which(program) or program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.printed += done.stdout + done.stderr
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
