"""`match` and `python -m match`. Ctrl-C is watched for before the command line is imported, which takes a while."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        from match.interrupt.watch import watch

        watch()
    except KeyboardInterrupt:
        sys.exit(130)
    from match.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
