"""Files of docs/ that are written from types and descriptions say what these say."""

from __future__ import annotations

import json
import re

import pytest

from match.cost_models.measured import measured
from tests.commands import commands
from tests.constants import Group, rows
from tests.described import CLASSES, attributes, declared, error_sentences
from tests.pages import DOCS, PAGES, SCHEMAS, TARGETS
from tests.schemas import in_order

pytestmark = pytest.mark.cc


@pytest.mark.parametrize("target", TARGETS)
def test_page_of_supported_operators_is_current(target: str) -> None:
    name = f"{target}-operators.md"
    assert (DOCS / name).read_text() == PAGES[name](), f"docs/{name} is not current: make pages"


def test_constants_of_cost_models_are_current() -> None:
    page = (DOCS / "cost-models.md").read_text()
    assert page == PAGES["cost-models.md"](), "docs/cost-models.md is not current: make pages"


@pytest.mark.parametrize("name", ["choice.md", "cost-models-diana.md", "diana.md"])
def test_what_was_predicted_is_current(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), f"docs/{name} is not current: make pages"


def test_what_was_counted_on_eight_cores_is_current() -> None:
    page = (DOCS / "pulp-open.md").read_text()
    assert page == PAGES["pulp-open.md"](), "docs/pulp-open.md is not current: make pages"


def test_what_was_counted_on_cortex_m_is_current() -> None:
    assert (DOCS / "cortex-m.md").read_text() == PAGES["cortex-m.md"](), "docs/cortex-m.md is not current: make pages"


def test_each_constant_is_in_the_table_of_cost_models_once() -> None:
    page = (DOCS / "cost-models.md").read_text()
    named = sorted(name for _, names in rows(page) for name in names)
    groups: tuple[Group, ...] = ("int16", "kernel", "sharing")
    assert named == sorted((group, name) for group in groups for name in measured(group))


def test_page_of_fields_is_current() -> None:
    assert (DOCS / "fields.md").read_text() == PAGES["fields.md"](), "docs/fields.md is not current: make pages"


def test_page_of_commands_has_all_options() -> None:
    page = commands()
    assert {"compile", "run", "check-target"} < set(re.findall(r"^## match (\S+)", page, re.MULTILINE))
    assert "| `--numerics hardware|exact` | Take each module's closest requantization, or only" in page
    assert not re.findall(r"\|\s*\|$", page.replace("| | |\n", ""), re.MULTILINE), "each has a help"


def test_page_of_errors_has_the_sentences_of_the_code() -> None:
    page = error_sentences()
    assert "- *path* is empty; export or download the model again\n" in page
    assert "QUANTIZE" not in page, "texts that have a name in another module"


@pytest.mark.parametrize("described", CLASSES, ids=lambda described: described.__name__)
def test_each_field_of_a_description_is_explained(described: type) -> None:
    assert sorted(attributes(described)) == sorted(declared(described))


@pytest.mark.parametrize("name", SCHEMAS)
def test_published_schema_is_current(name: str) -> None:
    published = json.loads((DOCS / f"{name}.schema.json").read_text())
    assert in_order(published) == in_order(SCHEMAS[name]()), f"docs/{name}.schema.json is not current: make pages"
