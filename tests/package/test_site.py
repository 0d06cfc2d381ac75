"""The site: every page is in it, every link leads somewhere, and a browser needs nothing from elsewhere for it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.package.test_architecture import PROJECT
from tests.site import GENERATED, UNLISTED, build, place

pytestmark = pytest.mark.cc


def navigated(entries: list[Any]) -> Iterator[str]:
    """The pages of a navigation, in its order."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for inner in entry.values():
                yield from navigated(inner if isinstance(inner, list) else [inner])


def test_the_navigation_has_every_page() -> None:
    nav = tomllib.loads((PROJECT / "docs" / "site" / "zensical.toml").read_text())["project"]["nav"]
    pages = {path.relative_to(PROJECT).as_posix() for path in (PROJECT / "docs").rglob("*.md")}
    own = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
    assert sorted(navigated(nav)) == sorted(map(place, (pages - UNLISTED) | own | set(GENERATED)))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical")
    folder = tmp_path_factory.mktemp("site")
    assert build(PROJECT, folder, GENERATED) == []
    return folder / "site"


def test_every_link_leads_somewhere(site: Path) -> None:
    assert (site / "index.html").exists()


def test_a_link_that_leads_nowhere_fails(tmp_path: Path) -> None:
    pytest.importorskip("zensical")
    (tmp_path / "docs" / "site").mkdir(parents=True)
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        (tmp_path / name).write_text(f"# {name}\n")
    (tmp_path / "README.md").write_text("# Site\n\n[there](docs/page.md#part) [source](code.c)\n")
    (tmp_path / "code.c").write_text("int x;\n")
    (tmp_path / "docs" / "site" / "zensical.toml").write_text(
        '[project]\nsite_name = "x"\ndocs_dir = "pages"\nsite_dir = "site"\n'
    )
    (tmp_path / "docs" / "page.md").write_text("# Page\n\n## Part\n\n```sh\n[code](nowhere.md)\n```\n")
    assert build(tmp_path, tmp_path / "build", {}) == []
    for link in ("nowhere.md", "../nowhere.c", "../README.md#nowhere"):
        (tmp_path / "docs" / "page.md").write_text(f"# Page\n\n## Part\n\n[link]({link})\n")
        assert build(tmp_path, tmp_path / "build", {}) != [], link


def test_a_browser_fetches_nothing_and_searches_from_disk(site: Path, browser: Any) -> None:
    page = browser.new_page()
    requests: list[str] = []
    messages: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto((site / "firmware.html").as_uri())
    page.keyboard.press("/")
    page.wait_for_selector("input[placeholder=Search]").fill("bits of each memory")
    page.get_by_text("results").wait_for()
    page.close()
    assert [url for url in requests if not url.startswith("file:")] == []
    assert messages == []
