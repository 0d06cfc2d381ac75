"""The site: the pages of docs/, and what they link to, as HTML. `make site` writes it into build/site.

Pages are written for the project's folder: they link to each other and to source files by where these lie. Zensical,
which makes the HTML and fails where a link leads nowhere, reads one folder of Markdown. So every page is copied there
with each link turned to where its target is in the site; a source file that is linked becomes a page of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os.path import normpath, relpath
from pathlib import Path, PurePosixPath

from tests.commands import commands
from tests.described import error_sentences

PROJECT = Path(__file__).resolve().parents[1]
GENERATED: dict[str, Callable[[], str]] = {"docs/commands.md": commands, "docs/errors.md": error_sentences}
"""Pages that are written when the site is: what they say is in the code."""

UNLISTED = {"docs/pypi.md"}
"""Pages that are not the site's: the first page on PyPI says what README.md says."""

_LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^(```.*?^```)", re.DOTALL | re.MULTILINE)
_UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n"
_LANGUAGES = {".h": "c", ".md": "markdown", ".ld": "text", ".mako": "mako"}
_OFFLINE_SHIM = re.compile(r"https://[^\"\s]+/iframe-worker/shim")
"""What search loads where a page is opened from disk; `worker.js` takes its place."""


def place(path: str) -> str:
    """Where the site has a file of the project, given and answered as a path with slashes."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path in ("CONTRIBUTING.md", "CHANGELOG.md"):
        return path
    name = path if path.endswith(".md") else f"{path}.md"
    return f"source/{name}"


@dataclass
class _Pages:
    """The folder that is being filled, what links have led to so far, and the links that led nowhere."""

    project: Path
    folder: Path
    generated: Mapping[str, Callable[[], str]]
    done: set[str] = field(default_factory=set[str])
    broken: list[str] = field(default_factory=list[str])

    def add(self, path: str) -> None:
        """Copies a file of the project, and what it links to; that may be what links to it."""
        if path in self.done:
            return
        self.done.add(path)
        source, target = self.project / path, self.folder / place(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            self.write(path, source.read_text(encoding="utf-8"))
        elif path.startswith("docs/"):
            shutil.copyfile(source, target)
        elif source.is_dir():
            self._add_folder(path, source, target)
        else:
            language = _LANGUAGES.get(source.suffix, source.suffix.removeprefix(".")) or "text"
            code = source.read_text(encoding="utf-8").rstrip("\n")
            target.write_text(f"{_UNSEARCHED}# {path}\n\n````{language}\n{code}\n````\n", encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        """Writes a page of the project with the links of the site."""
        unsearched = path == "CHANGELOG.md" or place(path).startswith("source/")
        text = (_UNSEARCHED if unsearched else "") + self._relinked(path, text)
        (self.folder / place(path)).write_text(text, encoding="utf-8")

    def _add_folder(self, path: str, source: Path, target: Path) -> None:
        """A page that lists the files of a folder, which come too."""
        files = sorted(file.relative_to(source).as_posix() for file in source.rglob("*") if _is_source(file))
        here = PurePosixPath(place(path)).parent.as_posix()
        for file in files:
            self.add(f"{path}/{file}")
        listed = "".join(f"- [{file}]({relpath(place(f'{path}/{file}'), here)})\n" for file in files)
        target.write_text(f"{_UNSEARCHED}# {path}\n\n{listed}", encoding="utf-8")

    def _relinked(self, path: str, text: str) -> str:
        """A page whose links lead to where their targets are in the site."""
        folder = PurePosixPath(path).parent.as_posix()
        here = PurePosixPath(place(path)).parent.as_posix()

        def turned(link: re.Match[str]) -> str:
            target = normpath(f"{folder}/{link[1]}")
            if target not in self.generated:
                if not (self.project / target).exists():
                    self.broken.append(f"{path}: {link[1]} is not there")
                    return link[0]
                self.add(target)
            return f"]({relpath(place(target), here)}{link[2] or ''})"

        parts = _FENCE.split(text)
        return "".join(part if part.startswith("```") else _LINK.sub(turned, part) for part in parts)


def _is_source(file: Path) -> bool:
    hidden = {"__pycache__", "build"}
    return file.is_file() and not hidden.intersection(file.parts) and ".egg-info" not in str(file)


def write_pages(project: Path, folder: Path, generated: Mapping[str, Callable[[], str]]) -> list[str]:
    """Fills a new folder with all pages of a project, as the site has them; a sentence for each link to no file."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = _Pages(project, folder, generated)
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        pages.add(page)
    for page in sorted((project / "docs").rglob("*")):
        path = page.relative_to(project).as_posix()
        if page.is_file() and path not in UNLISTED:
            pages.add(path)
    for path, text in generated.items():
        pages.write(path, text())
    return pages.broken


def build(project: Path, folder: Path, generated: Mapping[str, Callable[[], str]]) -> list[str]:
    """Builds the site of a project into `folder`/site; what is wrong with its pages, nothing if all is well."""
    faults = write_pages(project, folder / "pages", generated)
    shutil.rmtree(folder / "site", ignore_errors=True)
    shutil.copyfile(project / "docs" / "site" / "zensical.toml", folder / "zensical.toml")
    program = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", folder / "zensical.toml"]
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(program, cwd=project, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        faults.append(done.stderr.split("Traceback", maxsplit=1)[0])
    for page in (folder / "site").rglob("*.html"):
        worker = f"{relpath(folder / 'site', page.parent)}/site/worker.js"
        page.write_text(_OFFLINE_SHIM.sub(worker, page.read_text(encoding="utf-8")), encoding="utf-8")
    return faults


if __name__ == "__main__":
    if wrong := build(PROJECT, PROJECT / "build", GENERATED):
        sys.exit("\n".join(wrong))
    sys.stdout.write("build/site/index.html\n")
