"""Where the command starts: Ctrl-C is one line even while the program is still being read."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; see :func:`topoopt.cli.program.run`."""
    try:
        from topoopt.cli.interrupt import interrupt_when_safe
        from topoopt.cli.program import run

        if arguments is None:  # a command of its own, not a call from another program
            interrupt_when_safe()
        return run(arguments)
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return 130
