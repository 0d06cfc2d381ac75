"""Fixtures that every area of the test suite shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """Folder of the MLPerf Tiny models: $MATCH_MODELS, else shared/models beside the project; skips without either."""
    given = os.environ.get("MATCH_MODELS")
    candidates = [Path(given)] if given else [PROJECT.parent / "shared" / "models"]
    for folder in candidates:
        if folder.is_dir():
            return folder
    pytest.skip(f"no folder of MLPerf Tiny models: {candidates[0]} does not exist; set MATCH_MODELS to one")
