"""TVM, imported in one place.

TVM looks for tuning logs on the network while it is imported; `TOPHUB_LOCATION` tells it not to. Every module that
works on Relay imports `tvm` and `relay` from here, and no core type does, so that `import match` stays fast.
"""

from __future__ import annotations

import os

os.environ.setdefault("TOPHUB_LOCATION", "NONE")

import tvm
from tvm import relay

__all__ = ["relay", "tvm"]
