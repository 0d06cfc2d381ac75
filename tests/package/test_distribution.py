"""What a user installs: one name, `match`, with everything that the compiler reads at run time."""

from __future__ import annotations

import email
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.cc

PROJECT = Path(__file__).resolve().parents[2]
LINKED = ("targets", "cost_models", "kernels")


def project_files() -> set[str]:
    """Every file of the package as it lies in the checkout, by its installed name."""
    folders = {"match": PROJECT / "match", **{f"match/{name}": PROJECT / name for name in LINKED}}
    return {
        f"{installed}/{path.relative_to(folder)}"
        for installed, folder in folders.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution, and the wheel built from it."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for name in ("match", *LINKED):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT / name, source / name, symlinks=True, ignore=ignored)
    for name in ("docs", "examples"):
        shutil.copytree(PROJECT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (
        "pyproject.toml",
        "MANIFEST.in",
        "CITATION.cff",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
    ):
        shutil.copy(PROJECT / name, source / name)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(built), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return next(built.glob("*.tar.gz")), next(built.glob("*.whl"))


def test_wheel_holds_the_whole_package_and_nothing_else(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == project_files()


def test_source_distribution_needs_no_links(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[0]) as archive:
        members = archive.getmembers()
    assert not [member.name for member in members if member.issym() or member.islnk()]
    names = {member.name.partition("/")[2] for member in members if member.isfile()}
    assert project_files() <= names


def test_the_description_has_no_relative_links(distributions: tuple[Path, Path]) -> None:
    """Nothing lies beside it on PyPI."""
    with zipfile.ZipFile(distributions[1]) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(wheel.read(name))
    links = re.findall(r"\]\(([^)]+)\)", str(metadata.get_payload()))
    assert links
    assert [link for link in links if not link.startswith("https://")] == []
    assert metadata["Author"] == "The MATCH maintainers"
    assert "TVM" in metadata["Keywords"]


def test_pages_of_the_source_distribution_lead_to_files(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[0]) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers()}
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    links = {link.rstrip("/") for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", readme)}
    assert links - names == set()


def test_the_citation_names_this_version() -> None:
    pyproject = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    lines = (PROJECT / "CITATION.cff").read_text().splitlines()
    assert f"version: {pyproject['version']}" in lines
    assert f"license: {pyproject['license']}" in lines
    assert f"  - name: {pyproject['authors'][0]['name']}" in lines


def test_package_data_is_there() -> None:
    """The sets above would agree on nothing at all, too."""
    files = project_files()
    assert {Path(name).suffix for name in files} >= {".py", ".c", ".h", ".mako", ".onnx", ".npz"}
