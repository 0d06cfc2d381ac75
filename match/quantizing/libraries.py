"""The libraries that quantize and read images, which nothing else needs."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from match.errors import ToolchainError


def library(name: str, package: str | None = None) -> Any:
    """A module of onnxruntime or Pillow.

    Args:
        name: of the module.
        package: what it is called where it is installed from; none: as the module.

    Raises:
        ToolchainError: it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ToolchainError(
            f"match quantize needs the Python package {package or name.partition('.')[0]} here, which is not "
            "installed: `pip install 'match-compiler[quantize]'`."
        ) from error


@contextmanager
def quiet() -> Generator[None]:
    """Keeps back what the quantizer logs: advice to authors of programs like this one."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)
