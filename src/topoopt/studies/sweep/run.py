"""The nouns of a sweep that has run, or would: how many points there are, and where they lie."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from topoopt.base.answers import shows_itself
from topoopt.base.errors import InvalidInput
from topoopt.base.progress import Progress, silent
from topoopt.base.provenance import __version__, digest
from topoopt.schema.files import is_file
from topoopt.studies.sweep.database import COLUMNS, create_database, damage_in_a_line, open_database, row_of
from topoopt.studies.sweep.file import Sweep
from topoopt.studies.sweep.point import FAILED, Answer, Crew, Task, tasks_of


@dataclass(frozen=True, slots=True)
class Store:
    """A results file open for one run of a sweep; make it with :func:`open_store`."""

    connection: duckdb.DuckDBPyConnection
    run: int
    version: str

    def finished(self) -> frozenset[str]:
        """Return the digests of points that need no computing any more; what had failed does."""
        rows = self.connection.execute("SELECT digest FROM points WHERE status <> ?", [FAILED]).fetchall()
        return frozenset(row[0] for row in rows)

    def begin(self, task: Task) -> None:
        """Note that a task's points are about to be computed."""
        rows = [[point.digest, self.run] for point in task.points]
        with _transaction(self.connection):
            self.connection.executemany("INSERT INTO attempts VALUES (?, ?)", rows)

    def keep(self, answer: Answer) -> None:
        """Write an answer; when this returns, it survives whatever happens to the process."""
        marks = ", ".join("?" * len(COLUMNS))
        row = row_of(answer, self.run, self.version)
        with _transaction(self.connection):
            self.connection.execute(f"INSERT OR REPLACE INTO points VALUES ({marks})", row)


@dataclass(frozen=True, slots=True)
class SweepRun:
    """How a run went.

    Attributes
    ----------
    points : int
        Of the sweep.
    found : int
        Of those, what was in the file already.
    computed : int
        Points that this run has added.
    by_status : mapping
        Number of the added points by status.
    others : int
        Points in the file that are not of this sweep.
    """

    points: int
    found: int
    computed: int
    by_status: dict[str, int]
    others: int


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class SweepAnswer:
    """A sweep that has run; ``out`` is the results file."""

    sweep: Sweep
    out: str
    run: SweepRun

    def to_json(self) -> dict[str, Any]:
        """Return how many points there are, by what became of them."""
        status = self.run.by_status
        return {
            "sweep": self.sweep.name,
            "out": self.out,
            "points": self.run.points,
            "found": self.run.found,
            "computed": self.run.computed,
            **{name: status.get(name, 0) for name in ("ok", "infeasible", "failed")},
            "others": self.run.others,
        }


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class SweepPreview:
    """What a sweep would compute; ``finished`` points are in the results file ``out`` already."""

    sweep: Sweep
    out: str
    finished: int

    def to_json(self) -> dict[str, Any]:
        """Return how many points there are, and of which values."""
        return {
            "sweep": self.sweep.name,
            "out": self.out,
            "points": len(self.sweep.points),
            "finished": self.finished,
            "to_compute": len(self.sweep.points) - self.finished,
            "axes": {name: list(values) for name, values in self.sweep.axes.items()},
        }


def run_sweep(
    sweep: Sweep,
    path: str | Path,
    crew: Crew,
    *,
    on_progress: Progress = silent,
    mix_versions: bool = False,
) -> SweepRun:
    """Compute what is missing, and write every answer before the next one is looked at.

    A process that is killed at any moment has lost only what was being computed: the next run goes on with it.

    Raises
    ------
    InvalidInput
        If the file holds no results, or those of another version.
    """
    with open_store(path, sweep, mix_versions=mix_versions) as store:
        finished = store.finished()
        missing = [point for point in sweep.points if point.digest not in finished]
        found = len(sweep.points) - len(missing)
        statuses: Counter[str] = Counter()
        with _closed(crew(tasks_of(missing, sweep.folder), store.begin)) as answers:
            for answer in answers:
                store.keep(answer)
                statuses[answer.status] += 1
                point = answer.point
                stage = f"{point.model}, {point.servers} servers: {point.fabric}"
                on_progress(stage, statuses.total(), len(missing))
        return SweepRun(len(sweep.points), found, statuses.total(), dict(statuses), len(finished) - found)


def count_finished(sweep: Sweep, path: str | Path) -> int:
    """Return how many points of a sweep are in a results file; none if there is no such file."""
    if not is_file(path):
        return 0
    with damage_in_a_line(path), closing(open_database(path, read_only=True)) as connection:
        rows = connection.execute("SELECT digest FROM points WHERE status <> 'failed'").fetchall()
    finished = {row[0] for row in rows}
    return sum(point.digest in finished for point in sweep.points)


@contextmanager
def _closed(answers: Iterator[Answer]) -> Iterator[Iterator[Answer]]:
    """End the crew at once when the run ends, also by Ctrl-C, and not when the iterator is collected."""
    try:
        yield answers
    finally:
        close = getattr(answers, "close", None)
        if close is not None:
            close()


@contextmanager
def open_store(path: str | Path, sweep: Sweep, *, mix_versions: bool = False) -> Iterator[Store]:
    """Open, or make, the results file of a sweep, and note the run.

    Any sweep may go into the file: a point is computed if it is not in there yet. What another version of
    topoopt has computed is not mixed with, unless that is asked for.

    Raises
    ------
    InvalidInput
        As :func:`~topoopt.studies.sweep.database.open_database`, and for results of another version.
    """
    create_database(path)
    with damage_in_a_line(path), closing(open_database(path)) as connection:
        if not mix_versions:
            _refuse_other_versions(connection, path)
        last = connection.execute("SELECT coalesce(max(run), 0) FROM runs").fetchone()
        assert last is not None
        run = last[0] + 1
        sweep_digest = digest(sweep.text.encode())
        row = [run, sweep.name, sweep_digest, sweep.text, len(sweep.points), __version__]
        with _transaction(connection):
            connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", row)
        yield Store(connection, run, __version__)


def _refuse_other_versions(connection: duckdb.DuckDBPyConnection, path: str | Path) -> None:
    rows = connection.execute(
        "SELECT DISTINCT version FROM points WHERE version <> ?", [__version__]
    ).fetchall()
    if rows:
        others = ", ".join(sorted(row[0] for row in rows))
        raise InvalidInput(
            f"{path}: holds results of topoopt {others}, and this is {__version__}, which may give others; name "
            "another file (out=FILE), or say mix_versions (each row says its version)"
        )


@contextmanager
def _transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    connection.begin()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
