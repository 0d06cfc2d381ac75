"""`match` and `python -m match`. Ctrl-C is watched for before the command line is imported, which takes a while."""

from __future__ import annotations

import gc
import sys

OBJECTS_BEFORE_COLLECTION = 50_000
"""What a command makes mostly stays to its end: Python's 700 are a tenth of a compilation's time for nothing."""


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        from match.interrupt.watch import watch

        watch()
        gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
    except KeyboardInterrupt:
        sys.stderr.write("match: interrupted.\n")
        sys.exit(130)
    from match.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
