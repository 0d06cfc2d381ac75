"""TVM, imported in one place.

TVM looks for tuning logs on the network while it is imported; `TOPHUB_LOCATION` tells it not to. It makes a folder for
data of its own tests in the user's home, which may not be writable; `TEST_DATA_ROOT_PATH` names one that is there.
Every module that works on Relay imports `tvm` and `relay` from here, and no core type does, so that `import match`
stays fast.
"""

from __future__ import annotations

import os
import tempfile

os.environ.setdefault("TOPHUB_LOCATION", "NONE")
os.environ.setdefault("TEST_DATA_ROOT_PATH", tempfile.gettempdir())

import tvm
from tvm import relay

__all__ = ["relay", "tvm"]
