"""Python's collector of cyclic garbage, kept away from work that makes none."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """No collection inside.

    Thousands of small objects set it off, and then it walks all there are: with TVM loaded, as long as a layer's search
    takes.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
