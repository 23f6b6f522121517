"""Progress on standard error, where a person looks at it: a bar on a terminal, silence in a file."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much of it is done, and how much there is (0: nobody knows)."""


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """Show ``what`` until the first report, then the reports; nothing stays on the screen."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        # Kernels are compiled when they are first used, before the first report.
        task = bar.add_task(f"{what} (the first time, kernels are compiled: some seconds)", total=None)

        def report(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage, completed=done, total=total or None)

        yield report
