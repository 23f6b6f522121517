"""Runs of a sweep and their DuckDB file: finished and open points, and one-line errors of DuckDB."""

import contextlib
import errno
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from topoopt.base.answers import Progress, __version__, digest, fields_of, shows_itself, silent
from topoopt.base.errors import InvalidInput
from topoopt.base.extras import LaterLibrary
from topoopt.schema.files import is_file
from topoopt.studies.sweep.file import Sweep
from topoopt.studies.sweep.point import DEGREES, FAILED, POINT_FIELDS, Answer, Crew, Point, Task, tasks_of

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = LaterLibrary("duckdb", "sweep", "results files")

_SQL_TYPES: Mapping[type, str] = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN"}
SETTING_COLUMNS: Mapping[str, str] = {name: _SQL_TYPES[get_type_hints(Point)[name]] for name in POINT_FIELDS}
"""Fields of :class:`~topoopt.studies.sweep.point.Point`, each with its type in SQL."""
RESULT_COLUMNS: Mapping[str, str] = {
    "variant": "VARCHAR",
    **dict.fromkeys(("accelerators", "global_batch"), "BIGINT"),
    "simulated_by": "VARCHAR",
    **dict.fromkeys(("iteration_time_s", "compute_time_s", "exposed_communication_s"), "DOUBLE"),
    **dict.fromkeys(("bandwidth_tax", "link_bytes_max", "lower_bound_s", "gap"), "DOUBLE"),
    **dict.fromkeys(("data_parallel_time_s", "server_bandwidth_bps", "cost_usd", "power_w"), "DOUBLE"),
    "strategy": "VARCHAR",
    "plan_strides": "BIGINT[]",
    **dict.fromkeys(("proposals", "sequence"), "BIGINT"),
    **dict.fromkeys(("tokens_per_s", "mfu", "memory_bytes"), "DOUBLE"),
    **dict.fromkeys(DEGREES, "BIGINT"),
}
"""Empty where there is no result, or a fabric has no such thing: a bound, a gap and strides are topoopt's. From
``sequence`` on they are of a transformer in the configuration that is the fastest on the fabric."""
KEPT_COLUMNS: Mapping[str, str] = {
    "digest": "VARCHAR PRIMARY KEY",
    "run": "BIGINT NOT NULL",
    "status": "VARCHAR NOT NULL",
    "error": "VARCHAR NOT NULL",
    "version": "VARCHAR NOT NULL",
    "cpu_s": "DOUBLE NOT NULL",
}
"""Columns of a row's key, the run that wrote it, its outcome, and the version of topoopt."""
COLUMNS: Mapping[str, str] = {**SETTING_COLUMNS, **RESULT_COLUMNS, **KEPT_COLUMNS}
FORMAT = "topoopt-sweep/2"
SPENT = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE)
"""Errors of the system that DuckDB repeats, and that are no damage."""
TABLES = ("points", "runs", "attempts")
"""``points``: a row each. ``runs``: every start of a sweep, with its text. ``attempts``: who began which point."""
_STATEMENTS = (
    "CREATE TABLE about (format VARCHAR NOT NULL)",
    "CREATE TABLE runs (run BIGINT PRIMARY KEY, sweep VARCHAR NOT NULL, sweep_digest VARCHAR NOT NULL, "
    "sweep_text VARCHAR NOT NULL, points BIGINT NOT NULL, version VARCHAR NOT NULL)",
    "CREATE TABLE attempts (digest VARCHAR NOT NULL, run BIGINT NOT NULL)",
    f"CREATE TABLE points ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})",
)


class Locked(InvalidInput):
    """Another process writes the results file."""


@dataclass(frozen=True, slots=True)
class Store:
    """A results file open for one run of a sweep; make it with :func:`open_store`."""

    connection: "duckdb.DuckDBPyConnection"
    run: int
    version: str

    def finished(self) -> frozenset[str]:
        """Return the digests of finished points; failed ones are computed again."""
        rows = self.connection.execute("SELECT digest FROM points WHERE status <> ?", [FAILED]).fetchall()
        return frozenset(row[0] for row in rows)

    def begin(self, task: Task) -> None:
        """Record that a task's points are about to be computed."""
        rows = [[point.digest, self.run] for point in task.points]
        with _transaction(self.connection):
            self.connection.executemany("INSERT INTO attempts VALUES (?, ?)", rows)

    def keep(self, answer: Answer) -> None:
        """Write an answer durably."""
        marks = ", ".join("?" * len(COLUMNS))
        row = row_of(answer, self.run, self.version)
        with _transaction(self.connection):
            self.connection.execute(f"INSERT OR REPLACE INTO points VALUES ({marks})", row)


@dataclass(frozen=True, slots=True)
class SweepRun:
    """Outcome of a run.

    Attributes
    ----------
    found : int
        Points that were in the file already.
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
        """Return the number of points by outcome."""
        status = self.run.by_status
        return {
            "sweep": self.sweep.name,
            "out": self.out,
            **fields_of(self.run, "points", "found", "computed"),
            **{name: status.get(name, 0) for name in ("ok", "infeasible", "failed")},
            "others": self.run.others,
        }


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class SweepPreview:
    """Preview of a sweep; ``finished`` points are in the results file ``out`` already."""

    sweep: Sweep
    out: str
    finished: int

    def to_json(self) -> dict[str, Any]:
        """Return the number of points, and their values."""
        return {
            "sweep": self.sweep.name,
            "out": self.out,
            "points": len(self.sweep.points),
            "finished": self.finished,
            "to_compute": len(self.sweep.points) - self.finished,
            "axes": {name: list(values) for name, values in self.sweep.axes.items()},
        }


def run_sweep(
    sweep: Sweep, path: str | Path, crew: Crew, *, on_progress: Progress = silent, mix_versions: bool = False
) -> SweepRun:
    """Compute the missing points, writing each answer before the next one.

    A process killed at any moment loses only the points being computed: the next run continues with them.

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
        if missing:
            on_progress("the first points (new workers compile kernels first: minutes)", 0, len(missing))
        with _closed(crew(tasks_of(missing, sweep.folder), store.begin)) as answers:
            for answer in answers:
                store.keep(answer)
                statuses[answer.status] += 1
                point = answer.point
                stage = f"{point.model}, {point.servers} servers: {point.fabric}"
                on_progress(stage, statuses.total(), len(missing))
        return SweepRun(len(sweep.points), found, statuses.total(), dict(statuses), len(finished) - found)


def count_finished(sweep: Sweep, path: str | Path) -> int:
    """Return the number of a sweep's points in a results file; zero if there is no such file."""
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
        As :func:`~topoopt.studies.sweep.run.open_database`, and for results of another version.
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


def _refuse_other_versions(connection: "duckdb.DuckDBPyConnection", path: str | Path) -> None:
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
def _transaction(connection: "duckdb.DuckDBPyConnection") -> Iterator[None]:
    connection.begin()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def create_database(path: str | Path) -> None:
    """Create a results file without results, atomically; an existing one is left as it is.

    Raises
    ------
    InvalidInput
        If the folder does not exist or may not be written.
    """
    target = Path(path)
    if target.exists():
        return
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
            made = str(Path(folder) / target.name)
            with contextlib.closing(duckdb.connect(made)) as connection:
                for statement in _STATEMENTS:
                    connection.execute(statement)
                connection.execute("INSERT INTO about VALUES (?)", [FORMAT])
                connection.execute("CHECKPOINT")  # closing says nothing of a full disk
            with contextlib.suppress(FileExistsError):  # another process was quicker
                os.link(made, target)
    except FileNotFoundError:
        raise InvalidInput(f"{path}: the folder {target.parent} does not exist") from None
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None
    except duckdb.Error as error:
        reason = " ".join(str(error).split()).split(": ")[-1]
        raise InvalidInput(f"{path}: cannot be written: {reason}") from None


def open_database(path: str | Path, *, read_only: bool = False) -> "duckdb.DuckDBPyConnection":
    """Return a connection to a results file. What a killed process had not committed is not in it.

    Raises
    ------
    Locked
        If another process writes it.
    InvalidInput
        If there is no such file, it is none of a sweep, or it is damaged.
    """
    if not Path(path).exists():
        raise InvalidInput(f"{path}: no such file")
    try:
        connection = duckdb.connect(str(path), read_only=read_only)
    except duckdb.Error as error:
        message = str(error)
        text = " ".join(message.split())
        if "Could not set lock" in text:
            owner = re.search(r"\(PID (\d+)\)", text)
            who = f"process {owner[1]}" if owner else "another process"
            refusal: InvalidInput = Locked(
                f"{path}: {who} writes it; wait until that has ended, or another file (out=FILE)"
            )
        elif "not a valid DuckDB" in text or "in-memory" in text:  # of plan.json DuckDB would make a table
            refusal = InvalidInput(f"{path}: is no DuckDB file; name another file")
        elif "WAL" in text:
            refusal = InvalidInput(
                f"{path}: the log beside it is damaged; move {Path(path).name}.wal away, and the next sweep computes "
                "again what was only there"
            )
        else:
            refusal = InvalidInput(
                f"{path}: cannot be opened: {text.split(': ', 1)[-1].split(' See also')[0]}"
            )
        raise refusal from None
    try:
        # No function of SQL reads or writes other files, and no statement can allow that again.
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        row = connection.execute("SELECT format FROM about").fetchone()
        if row != (FORMAT,):
            raise InvalidInput(f"{path}: expected results of format {FORMAT}, got {row and row[0]}")
        found, usual = _shape(connection), _usual_shape()
        if found != usual:
            lacks = min(usual.keys() - found.keys(), default="")
            more = min(found.keys() - usual.keys(), default="")
            how = f"lacks {lacks}" if lacks else f"has {more}" if more else "its columns are of other kinds"
            raise InvalidInput(
                f"{path}: holds results of another shape ({how}), as another version of topoopt writes them; read it "
                "with that version, or name another file"
            )
    except duckdb.Error as error:
        connection.close()
        with damage_in_a_line(path):
            if is_damage(error):
                raise
        raise InvalidInput(
            f"{path}: is a DuckDB file, but no results of a sweep; name another file"
        ) from None
    except InvalidInput:
        connection.close()
        raise
    return connection


def _shape(connection: "duckdb.DuckDBPyConnection") -> dict[str, tuple[Any, ...]]:
    """Return by table and column its place and kind, and whether the table has a key."""
    rows = connection.execute(
        "SELECT table_name, column_name, column_index, data_type, has_primary_key FROM duckdb_columns() "
        "JOIN duckdb_tables() USING (table_name)"
    ).fetchall()
    return {f"{table}.{column}": tuple(kind) for table, column, *kind in rows if table in TABLES}


@cache
def _usual_shape() -> dict[str, tuple[Any, ...]]:
    with closing(duckdb.connect()) as connection:
        for statement in _STATEMENTS:
            connection.execute(statement)
        return _shape(connection)


def is_damage(error: "duckdb.Error") -> bool:
    """Return whether DuckDB's error is about the file, not the query."""
    kinds = (
        duckdb.IOException | duckdb.InternalException | duckdb.FatalException | duckdb.SerializationException
    )
    return isinstance(error, kinds) or type(error) is duckdb.Error or "checksum" in str(error)


@contextlib.contextmanager
def damage_in_a_line(path: str | Path) -> Iterator[None]:
    """Report in one line that a file is damaged, where DuckDB finds that out."""
    try:
        yield
    except duckdb.Error as error:
        spent = next((words for words in map(os.strerror, SPENT) if words in str(error)), None)
        if spent is not None:
            raise InvalidInput(
                f"{path}: cannot be written: {spent}; what it has is kept, and the next run goes on with it"
            ) from None
        if not is_damage(error):
            raise
        reason = " ".join(str(error).split()).split(": ")[-1]
        raise InvalidInput(f"{path}: is damaged, make it again from its sweep: {reason}") from None


def row_of(answer: Answer, run: int, version: str) -> list[Any]:
    """Return an answer as the values of :data:`COLUMNS`."""
    point = answer.point
    kept = [point.digest, run, answer.status, answer.error, version, answer.cpu_s]
    settings = [getattr(point, name) for name in SETTING_COLUMNS]
    return [*settings, *(answer.values.get(name) for name in RESULT_COLUMNS), *kept]
