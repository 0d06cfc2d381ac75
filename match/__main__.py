"""`match` and `python -m match`. The command line is imported here, so that Ctrl-C meanwhile is no traceback either."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        from match.cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
