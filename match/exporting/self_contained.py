"""Sources that say themselves what else would be flags of the compiler, for build systems that have none by library."""

from __future__ import annotations

import re
from dataclasses import replace

from match.exporting.library import Library

_REAL = re.compile(r"\b(float|double)\b")
_SEPARATE = """\
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off") /* a product and a sum are rounded one after the other */
#endif
"""


def self_contained(library: Library) -> Library:
    """The library with macros, and the rounding of real numbers, in its sources."""
    macros = "".join(f"#define {name} {value}\n" for name, value in library.defines.items())
    files = {
        path: macros + (_SEPARATE if path.endswith(".c") and _REAL.search(text) else "") + text
        if path in library.sources
        else text
        for path, text in library.files.items()
    }
    return replace(library, files=files, defines={})
