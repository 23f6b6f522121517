"""Progress on standard error, where a person looks at it: a bar on a terminal, silence in a file."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much of it is done, and how much there is (0: nobody knows)."""

SPEED_OF_LAST_S = 600.0
"""Points of a sweep take unequal times: a shorter stretch says little of what is left."""


@contextmanager
def progress(what: str, *, remaining: bool = False) -> Iterator[Progress]:
    """Show ``what`` until the first report, then the reports; nothing stays on the screen.

    With ``remaining``, the time that is left is shown, too, by the speed of the last ten minutes.
    """
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
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
