"""What commands print for programs follows the published schemas, whose fields docs/json.md explains."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from match.devtools import check
from match.ir.layer import Op
from match.target.registry import installed_targets
from tests.cli.conftest import Command
from tests.pages import SCHEMAS

pytestmark = pytest.mark.cc

DOCS = Path(__file__).parents[2] / "docs"


def followed(text: str, name: str) -> Any:
    """The document, which follows a published schema."""
    document = json.loads(text)
    jsonschema.validate(document, json.loads((DOCS / f"{name}.schema.json").read_text()))
    return document


def test_run(command: Command, project: Path, tmp_path: Path) -> None:
    command("run", project, "--seed", "3", "--output", tmp_path / "y.npz")
    with np.load(tmp_path / "y.npz") as file:
        (wanted,) = dict(file).items()
    printed = command("run", project, "--seed", "3", "--json")
    assert (printed.status, printed.err) == (0, "")
    result = followed(printed.out, "run")
    assert (result["platform"], result["seed"], result["measured"]) == ("host", 3, None)
    (output,) = result["outputs"]
    assert output["name"] == wanted[0]
    assert np.array_equal(np.array(output["values"], output["dtype"]).reshape(output["shape"]), wanted[1])
    in_file = followed(command("run", project, "--json", "--output", tmp_path / "y.npz").out, "run")
    assert in_file["outputs"][0]["values"] is None


@pytest.mark.usefixtures("qemu")
def test_run_with_counts(command: Command, tmp_path: Path, project: Path) -> None:
    copy = shutil.copytree(project, tmp_path / "copy")
    measured = followed(command("run", copy, "--on", "qemu", "--json").out, "run")["measured"]
    assert (measured["platform"], measured["unit"]) == ("qemu", "instructions")


def test_targets(command: Command) -> None:
    printed = followed(command("targets", "--json").out, "targets")
    found, _ = installed_targets()
    assert [target["name"] for target in printed["targets"]] == [target.name for target in found]
    gap9 = next(target for target in printed["targets"] if target["name"] == "gap9")
    assert [module["name"] for module in gap9["modules"]] == ["cluster", "ne16", "core"]
    assert gap9["external_memory"] is not None


@pytest.mark.parametrize("problems", [(), ("module a of target gap9 has no b.",)])
def test_check_target(command: Command, monkeypatch: pytest.MonkeyPatch, problems: tuple[str, ...]) -> None:
    coverage = (check.Coverage("cluster", Op.CONV2D, 3, 4),)
    monkeypatch.setattr(
        check, "check_target", lambda target, _: check.Check(target.name, problems, coverage, ("a form.",))
    )
    printed = command("check-target", "gap9", "--json")
    assert printed.status == (2 if problems else 0)
    result = followed(printed.out, "check")
    assert result["problems"] == list(problems)
    assert result["untried"] == ["a form."]
    assert result["coverage"] == [{"module": "cluster", "op": "conv2d", "taken": 3, "tried": 4}]


@pytest.mark.parametrize("name", ["run", "targets", "check"])
def test_every_field_is_documented(name: str) -> None:
    schema = SCHEMAS[name]()
    text = (DOCS / "json.md").read_text()
    own = [entry for title, entry in schema["$defs"].items() if title not in ("Measurement", "MeasuredLayers", "Op")]
    for field in (field for entry in own for field in entry.get("properties", ())):
        assert f"`{field}`" in text, f"docs/json.md does not explain {field}"
