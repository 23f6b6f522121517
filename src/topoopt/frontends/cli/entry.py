"""Entry point of the command: Ctrl-C prints one line even while the program is still being imported."""

import gc
import io
import os
import sys
import warnings
from collections.abc import Sequence

LIVING = 50_000
"""New objects between two looks for cycles: nearly all that a command makes lives as long as it, and compiling makes so
many that looking every 700 takes a tenth of its time."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; see ``program.run``."""
    try:
        from topoopt.base.errors import Note
        from topoopt.frontends.cli.program import interrupt_when_safe, run

        if arguments is None:  # a command of its own, not a call from another program
            gc.set_threshold(LIVING, 20, 50)
            interrupt_when_safe()
            for name in ("stdout", "stderr"):
                if getattr(sys, name) is None:  # closed, as by >&-
                    setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
            # an escape where the encoding of the terminal lacks a character; no warnings of libraries
            for stream in (sys.stdout, sys.stderr):
                if isinstance(stream, io.TextIOWrapper):
                    stream.reconfigure(errors="backslashreplace")
            if not sys.warnoptions:
                warnings.simplefilter("ignore")
                warnings.simplefilter("default", Note)
                warnings.showwarning = lambda note, *rest: print(f"note: {note}", file=sys.stderr)
        code = run(arguments)
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        code = 130
    exec(
        ""
    )  # takes back CPython's note of an interrupt inside a dataclass, by which the process would end as if killed
    return code
