"""Where the command starts: Ctrl-C is one line even while the program is still being read."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; see :func:`topoopt.cli.program.run`."""
    try:
        from topoopt.cli.program import run

        return run(arguments)
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return 130
