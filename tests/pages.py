"""Files of docs/ written from types, descriptions and constants: `make pages` writes them, a test compares each."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from pathlib import Path
from typing import Any, cast

from match.devtools import check
from match.quantizing.schema import schema as quantize_schema
from match.report import compare, run_result, target_list
from match.report.operators import markdown
from match.report.text import schema as report_schema
from match.sweeping.schema import schema as sweep_schema
from match.target.registry import get_target
from match.validation.schema import schema as validation_schema
from tests.architectures import with_architectures
from tests.beside_published import with_predictions
from tests.constants import with_values
from tests.counted import with_before, with_counts, with_exact
from tests.described import fields
from tests.on_control_core import with_core
from tests.on_cortex_m import with_cores
from tests.reports.page import page as reports
from tests.runtimes.page import page as runtimes

DOCS = Path(__file__).resolve().parents[1] / "docs"

SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "report": report_schema,
    "compare": compare.schema,
    "run": run_result.schema,
    "targets": target_list.schema,
    "check": check.schema,
    "validate": validation_schema,
    "sweep": sweep_schema,
    "quantize": quantize_schema,
}
"""JSON Schemas by name; NAME.schema.json has each."""

TARGETS = {"cortex_m4": ("cortex_m7", "cortex_m33", "cortex_m55"), "diana": (), "gap8": (), "gap9": ("pulp_open",)}
"""Those that have a page of operators, and others that have the same modules."""


def _operators(target: str) -> str:
    page = markdown(get_target(target))
    for other in TARGETS[target]:
        same = markdown(get_target(other)).replace(f"# Operators of {other}\n", f"# Operators of {target}\n", 1)
        assert same == page, f"{other} has other operators than {target}: give it a page"
    return page.replace("\n", "".join(f" and {other}" for other in TARGETS[target]) + "\n", 1)


def _schema(name: str) -> str:
    return json.dumps(_dedented(SCHEMAS[name]()), indent=2) + "\n"


def _dedented(part: Any) -> Any:
    """A schema whose descriptions are not indented, as they are by Python from 3.13 on."""
    if isinstance(part, dict):
        named = cast("dict[str, Any]", part)
        return {
            key: cleandoc(own) if key == "description" and isinstance(own, str) else _dedented(own)
            for key, own in named.items()
        }
    return [_dedented(one) for one in cast("list[Any]", part)] if isinstance(part, list) else part


def _cost_models() -> str:
    """The page as it is, with the constants of today, what was counted last, and predictions beside publications."""
    page = with_predictions(with_counts(with_values((DOCS / "cost-models.md").read_text())))
    return with_core(page)


def _cost_models_diana() -> str:
    """The page as it is, with what was predicted for publications."""
    return with_predictions((DOCS / "cost-models-diana.md").read_text())


def _diana() -> str:
    """The page as it is, with what was predicted of the core."""
    return with_core((DOCS / "diana.md").read_text())


def _choice() -> str:
    """The page as it is, with what was predicted for publications."""
    return with_predictions((DOCS / "choice.md").read_text())


def _pulp_open() -> str:
    """The page as it is, with what was counted last on eight cores."""
    return with_before(with_exact(with_counts((DOCS / "pulp-open.md").read_text(), "gvsoc")))


def _cortex_m() -> str:
    """The page as it is, with what was counted last."""
    return with_cores((DOCS / "cortex-m.md").read_text())


def _architectures(page: str, activations: str) -> str:
    """The page as it is, with what was predicted of architectures."""
    return with_architectures((DOCS / page).read_text(), activations)


PAGES: dict[str, Callable[[], str]] = {
    **{f"{name}.schema.json": partial(_schema, name) for name in SCHEMAS},
    **{f"{target}-operators.md": partial(_operators, target) for target in TARGETS},
    "choice.md": _choice,
    "cortex-m.md": _cortex_m,
    "cost-models.md": _cost_models,
    "cost-models-diana.md": _cost_models_diana,
    "networks.md": partial(_architectures, "networks.md", "uint8"),
    "pulp-open.md": _pulp_open,
    "quantize.md": partial(_architectures, "quantize.md", "float"),
    "diana.md": _diana,
    "fields.md": fields,
    "reports.md": reports,
    "runtimes.md": runtimes,
}
"""What is in each file."""


if __name__ == "__main__":
    for name, text in PAGES.items():
        (DOCS / name).write_text(text(), encoding="utf-8")
