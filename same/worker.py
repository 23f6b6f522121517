"""A process that runs commands of one version, one after the other: ``python worker.py MODULE:FUNCTION``.

It says when it has started. Then it reads a JSON line for each command, ``{"words": [...], "folder": "..."}``, and
writes one with the exit code, what went to standard output and standard error, and the CPU seconds that it took.
"""

import importlib
import json
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any


def serve(start: Callable[[], Any]) -> None:
    """Run every command that is asked for, until there is no more input."""
    asked, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    surroundings = dict(os.environ)
    print("ready", file=answers)
    for line in asked:
        command = json.loads(line)
        os.chdir(command["folder"])
        os.environ.clear()
        os.environ.update(surroundings)
        print(json.dumps(ran(start, command["words"])), file=answers)


def ran(start: Callable[[], Any], words: list[str]) -> dict[str, Any]:
    """Run one command as its own process would, and return what it left behind."""
    began_s = time.process_time()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, warnings.catch_warnings():
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.argv = ["topoopt", *words]
        code = _code(start)
        sys.stdout.flush()
        sys.stderr.flush()
        out.seek(0)
        err.seek(0)
        texts = [stream.read().decode(errors="backslashreplace") for stream in (out, err)]
    return {"code": code, "out": texts[0], "err": texts[1], "cpu_s": time.process_time() - began_s}


def _code(start: Callable[[], Any]) -> int | str:
    try:
        code = start()
    except SystemExit as error:
        code = error.code
    except BaseException as error:  # as Python would say it, without the lines of the source
        print(*traceback.format_exception_only(error), sep="", end="", file=sys.stderr)
        return 1
    return 0 if code is None else code if isinstance(code, int) else str(code)


if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    serve(getattr(importlib.import_module(module), name))
