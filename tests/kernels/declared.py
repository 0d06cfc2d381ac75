"""The kernels that a header declares: a harness calls them by name, and no list of them is kept by hand."""

from __future__ import annotations

import re
from pathlib import Path

from tests.kernels.toolchain import PACKAGE

HEADERS = "pulp/match_pulp.h", "ne16/match_ne16.h"
"""Of what `harness.c` calls."""

_TABLE = """{includes}
const struct {{ const char *name; match_kernel_t kernel; }} kernels[] = {{
{entries}
    {{0, 0}},
}};
"""


def declared(header: Path) -> list[str]:
    """Functions of a tile."""
    return re.findall(r"^void (match_\w+)\(const match_tile_t", header.read_text(), re.MULTILINE)


def kernel_table(folder: Path, *headers: str) -> Path:
    """A C file in a folder, with names and functions of all kernels that headers of kernels/ declare."""
    paths = [PACKAGE / "kernels" / header for header in headers]
    names = [name for path in paths for name in declared(path)]
    table = folder / "kernels.c"
    table.write_text(
        _TABLE.format(
            includes="\n".join(f'#include "{path.name}"' for path in paths),
            entries="\n".join(f'    {{"{name}", {name}}},' for name in names),
        )
    )
    return table
