"""The writer of a results file: one process, one transaction for every answer."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from topoopt.base.errors import InvalidInput
from topoopt.base.provenance import digest
from topoopt.base.version import __version__
from topoopt.studies.sweep.answer import FAILED, Answer, Task
from topoopt.studies.sweep.columns import COLUMNS, row_of
from topoopt.studies.sweep.database import create_database, damage_in_a_line, open_database
from topoopt.studies.sweep.file import Sweep


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
