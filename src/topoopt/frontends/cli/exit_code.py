"""Every failure as one line on standard error and an exit code."""

import difflib
import errno
import os
import re
import sys
from collections.abc import Iterable
from typing import Any

import typer

from topoopt.base.errors import TopoOptError
from topoopt.frontends.cli.synonyms import REMEDIES

USER_MISTAKE = 2
INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended."""
BROKEN_PIPE = 1
SPENT = (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.ENOMEM)
"""Errors of a machine that has no more open files, room on a disk, processes or memory."""

# The base of all errors that typer's parser raises. It moved from click into typer, so it is named by its child.
ParserError: type[Exception] = typer.BadParameter.__mro__[2]


def exit_code_of(error: BaseException) -> int:
    """Print the error in one line and return the exit code; re-raise errors that are not the user's."""
    if isinstance(error, TopoOptError):
        return _say(str(error), USER_MISTAKE)
    if isinstance(error, ParserError):
        return USER_MISTAKE if _is_help(error) else _say(_parser_message(error), USER_MISTAKE)
    if was_interrupted(error):
        return _say("interrupted: nothing was written", INTERRUPTED)
    if isinstance(error, BrokenPipeError):
        # The reader (head, less) has left: let the flush at exit go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    if isinstance(error, MemoryError):
        return _say("not enough memory for this on this machine; make it smaller", USER_MISTAKE)
    if isinstance(error, OSError) and error.strerror and (error.filename or error.errno in SPENT):
        return _say(f"{error.filename or 'this machine'}: {error.strerror}", USER_MISTAKE)
    raise error


def was_interrupted(error: BaseException) -> bool:
    """Return whether an error is Ctrl-C, or was made of one by compiled code or NumPy."""
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return True
    return error.__cause__ is not None and was_interrupted(error.__cause__)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean --bandwidth?``, or nothing where no name is near."""
    near = difflib.get_close_matches(word, sorted(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(near)}?" if near else "."


def _say(message: str, code: int) -> int:
    line = str(TopoOptError(message))  # in one line, and cut
    print(line if code == INTERRUPTED else f"error: {line}", file=sys.stderr)
    return code


def _is_help(error: Exception) -> bool:
    """``topoopt`` alone raises its help text, already shown, as an error."""
    return type(error).__name__ == "NoArgsIsHelpError"


def _parser_message(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    help_of = f" See {context.command_path} --help" if context is not None else ""
    if type(error).__name__ == "NoSuchOption" and option:
        known = [name for parameter in context.command.params for name in parameter.opts] if context else []
        remedy = REMEDIES.get(option.lstrip("-").replace("-", "_"))
        return f"{option}: no such option{f'; {remedy}.' if remedy else nearest(option, known)}{help_of}"
    refused: list[Any] = getattr(error.__cause__, "errors", list)()  # what the parser of numbers says
    if refused and getattr(error, "param", None) is not None:
        number = "an integer" if refused[0]["type"].startswith("int") else "a number"
        return f'{error.param.opts[-1]}: expected {number}, got "{refused[0]["input"]}".{help_of}'  # type: ignore[attr-defined]
    extra = re.match(r"Got unexpected extra argument\S* \(([^\s)]+)", str(error))
    if extra:
        return f"{extra[1]}: unexpected word; a value follows its flag, such as --servers 8.{help_of}"
    text = str(error.format_message()) if hasattr(error, "format_message") else str(error)
    return f"{text[:1].lower()}{text[1:].rstrip('.')}.{help_of}"
