"""Files of docs/ that are written from types and descriptions say what these say."""

from __future__ import annotations

import json

import pytest

from tests.pages import DOCS, PAGES, SCHEMAS, TARGETS
from tests.schemas import in_order

pytestmark = pytest.mark.cc


@pytest.mark.parametrize("target", TARGETS)
def test_page_of_supported_operators_is_current(target: str) -> None:
    name = f"{target}-operators.md"
    assert (DOCS / name).read_text() == PAGES[name](), f"docs/{name} is not current: make pages"


@pytest.mark.parametrize("name", SCHEMAS)
def test_published_schema_is_current(name: str) -> None:
    published = json.loads((DOCS / f"{name}.schema.json").read_text())
    assert in_order(published) == in_order(SCHEMAS[name]()), f"docs/{name}.schema.json is not current: make pages"
