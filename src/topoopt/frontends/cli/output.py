"""Output of every verb: JSON, and pages."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import topoopt
from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput
from topoopt.schema.files import check_name, check_table_name, is_file, target_of

SPEED_OF_LAST_S = 600.0
"""Points of a sweep take unequal times: a shorter window would estimate the rest poorly."""
if TYPE_CHECKING:
    from rich.console import Console
REPORT: ContextVar[str | None] = ContextVar("REPORT", default=None)
"""File that the answer of the running verb is written to as a page."""
WIDTH_IN_A_FILE = 110
"""Columns if standard output is no terminal and COLUMNS is not set."""


def print_json(document: Mapping[str, Any]) -> None:
    """Print a document; a number that JSON cannot hold is a mistake of ours."""
    print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))


def show(
    answer: Any, as_json: bool, next_steps: Sequence[str] = (), written: Sequence[str | None] = ()
) -> None:
    """Print an answer as JSON; or its page, commands to go on with, and the files that were written."""
    write_page(answer)
    if as_json:
        print_json(answer.to_json())
        return
    show_page(replace(topoopt.page_of(answer), next_steps=tuple(next_steps)))
    names = [name for name in (*written, REPORT.get()) if name is not None]
    if names:
        print(f"\nWritten: {', '.join(names)}")


def show_page(page: "topoopt.Page") -> None:
    """Print a page."""
    topoopt.draw_page(page, terminal())


@contextmanager
def reporting(path: str | None, *reads: str) -> Iterator[None]:
    """Have answers that are shown meanwhile written to a page, too; errors as :func:`check_writable`."""
    check_writable(path, "--report", *reads)
    token = REPORT.set(path)
    try:
        yield
    finally:
        REPORT.reset(token)


def write_page(answer: Any) -> None:
    """Write the page of an answer where one was asked for."""
    path = REPORT.get()
    if path is not None:
        topoopt.report(answer, out=path)


def terminal() -> "Console":
    """Return the console on standard output."""
    from rich.console import Console

    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else WIDTH_IN_A_FILE, highlight=False)


@contextmanager
def progress(what: str, *, remaining: bool = False) -> Iterator[Progress]:
    """Show ``what`` until the first report, then the reports; nothing stays on the screen.

    With ``remaining``, the time that is left is shown, too, by the speed of the last ten minutes.
    """
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    columns: tuple[ProgressColumn, ...] = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    if remaining:
        columns += (MofNCompleteColumn(), TextColumn("left"), TimeRemainingColumn())
    console = Console(stderr=True)
    with Bar(*columns, console=console, transient=True, speed_estimate_period=SPEED_OF_LAST_S) as bar:
        # Kernels are compiled when they are first used, before the first report.
        task = bar.add_task(f"{what} (the first time, kernels are compiled: some seconds)", total=None)

        def report(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage, completed=done, total=total or None)

        yield report


def check_writable(path: str | None, flag: str, *reads: str | None) -> None:
    """Refuse a path that cannot be written, or must not be replaced.

    A file is replaced as a whole, so a device such as ``/dev/null`` or a pipe would be gone afterwards.

    Parameters
    ----------
    *reads
        Files that the verb reads, and that its output must not replace.

    Raises
    ------
    InvalidInput
        If there is no file name, the path is a folder, a device, a pipe or one of ``reads``, or its folder does
        not exist or may not be written.
    """
    if path is None:
        return
    try:
        target = target_of(path)
    except InvalidInput as error:
        raise InvalidInput(f"{flag}: {error}") from None
    if target.exists() and any(is_file(one) and target.samefile(one) for one in reads if one):
        raise InvalidInput(f"{flag}: {path} is the file that is read; give another name")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InvalidInput(f"{flag}: {path}: the folder {target.parent} may not be written")


def check_table(path: str | None, flag: str) -> None:
    """Refuse a table that could not be written after the work.

    Raises
    ------
    InvalidInput
        As :func:`check_writable`, for another suffix than those of tables, and for Parquet without pyarrow.
    """
    check_writable(path, flag)
    if path is None:
        return
    try:
        check_table_name(path)
    except InvalidInput as error:
        raise InvalidInput(f"{flag}: {error}") from None


def check_folder_name(path: str | None, flag: str) -> None:
    """Refuse a name that is a file or no folder name.

    Raises
    ------
    InvalidInput
        If the name is empty or is that of something else than a folder.
    """
    if path is None:
        return
    if not path:
        raise InvalidInput(f"{flag}: expected the name of a folder, got nothing")
    check_name(path)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise InvalidInput(f"{flag}: {path} is a file, expected a folder")
