"""Answers from a results file: rows, and a summary of the file."""

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.base.extras import LaterLibrary
from topoopt.studies.sweep.run import (
    COLUMNS,
    SETTING_COLUMNS,
    TABLES,
    Locked,
    damage_in_a_line,
    is_damage,
    open_database,
)

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = LaterLibrary("duckdb", "sweep", "results files")

TRIES = 5
"""Copies of a file that is being written; one in a million is torn by a checkpoint."""
BEST: Mapping[str, str] = {"fastest": "iteration_time_s", "cheapest": "cost_usd"}
"""Quantities by which the best is the least."""


@dataclass(frozen=True, slots=True)
class Results:
    """An open results file; make it with :func:`open_results`.

    Attributes
    ----------
    live : bool
        Whether a sweep is writing it: the rows are those of the moment in which it was opened.
    """

    connection: "duckdb.DuckDBPyConnection"
    path: str
    live: bool


@dataclass(frozen=True, slots=True)
class Rows:
    """Result of a query: names of columns, and rows of as many values."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


_DEFAULT_ORDER = ", ".join(name for name in SETTING_COLUMNS if name != "inputs")
_SHOWN = ("model", "servers", "degree", "bandwidth_bps", "fabric", "seed", "iteration_time_s", "cost_usd")


@dataclass(frozen=True, slots=True)
class Summary:
    """Contents of a results file.

    Attributes
    ----------
    by_status : mapping of status to points
    axes : mapping of column to its values
        Columns with more than one value, in order.
    sweeps : tuple of str
        Names of the sweep files that have been run, each once.
    runs : int
        Number of runs of a sweep.
    errors : tuple of (message, points)
        Reasons why points have no result, the most frequent first.
    """

    by_status: dict[str, int]
    axes: dict[str, tuple[Any, ...]]
    sweeps: tuple[str, ...]
    runs: int
    versions: tuple[str, ...]
    errors: tuple[tuple[str, int], ...]


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class ResultsAnswer:
    """Rows of a results file.

    Attributes
    ----------
    live : bool
        Whether a sweep is writing the file: the rows are those of the moment in which it was opened.
    limit : int
        Row limit of the request; 0 for all.
    whole : bool
        Whether there was no query: then the summary is shown, too.
    """

    file: str
    live: bool
    summary: Summary
    rows: Rows
    limit: int = 0
    whole: bool = True

    def to_frame(self) -> Frame:
        """Return the rows; needs pandas."""
        return frame(self._records())

    def to_json(self) -> dict[str, Any]:
        """Return the rows with the summary of the file."""
        return {
            **fields_of(self, "file", "live"),
            **asdict(self.summary),
            "columns": self.rows.columns,
            "rows": self._records(),
        }

    def _records(self) -> list[dict[str, Any]]:
        columns = self.rows.columns
        return [dict(zip(columns, map(_plain, row), strict=True)) for row in self.rows.rows]


def _plain(value: Any) -> Any:
    """Return a value in JSON's types; other values of SQL as text."""
    if isinstance(value, float) and not float("-inf") < value < float("inf"):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else str(value)


def summarized(results: Results) -> Summary:
    """Return the summary of a results file."""

    def column(sql: str) -> tuple[Any, ...]:
        return tuple(row[0] for row in query(results, sql).rows)

    statuses = query(results, "SELECT status, count(*) FROM points GROUP BY status ORDER BY status").rows
    errors = query(
        results,
        "SELECT error, count(*) AS points FROM points WHERE status <> 'ok' GROUP BY error "
        "ORDER BY points DESC, error",
    ).rows
    return Summary(
        dict(statuses),
        {name: column(f"SELECT DISTINCT {name} FROM points ORDER BY {name}") for name in axes_of(results)},
        column("SELECT sweep FROM runs GROUP BY sweep ORDER BY min(run)"),
        column("SELECT count(*) FROM runs")[0],
        column("SELECT DISTINCT version FROM points ORDER BY version"),
        tuple((message, count) for message, count in errors),
    )


@contextmanager
def open_results(path: str | Path) -> Iterator[Results]:
    """Open a results file for reading; queries can change neither it nor another file.

    Raises
    ------
    InvalidInput
        If it is no results file, or is damaged.
    """
    with ExitStack() as stack:
        try:
            connection, live = stack.enter_context(closing(open_database(path, read_only=True))), False
        except Locked:
            folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            connection, live = stack.enter_context(closing(_of_copy(Path(path), Path(folder)))), True
        with damage_in_a_line(path):
            yield Results(connection, str(path), live)


def _of_copy(path: Path, folder: Path) -> "duckdb.DuckDBPyConnection":
    """Return a connection to a copy of a file that is being written.

    Between two checkpoints only the log beside the file grows, and a log that ends in the middle of a transaction
    is one without that transaction. So a copy is whole if the file itself has not changed meanwhile.
    """
    copy, log = folder / path.name, Path(f"{path}.wal")
    for attempt in range(TRIES):
        before = path.stat()
        shutil.copyfile(path, copy)
        try:
            shutil.copyfile(log, f"{copy}.wal")
        except FileNotFoundError:
            Path(f"{copy}.wal").unlink(missing_ok=True)
        after = path.stat()
        if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
            continue
        try:
            return open_database(copy, read_only=True)
        except InvalidInput:
            if attempt == TRIES - 1:
                raise
    raise Locked(f"{path}: is being written at this moment; ask again")


def axes_of(results: Results) -> tuple[str, ...]:
    """Return the settings that have more than one value in the file, in the order of the columns."""
    names = [name for name in SETTING_COLUMNS if name != "inputs"]
    counts = ", ".join(f"count(DISTINCT {name})" for name in names)
    (row,) = query(results, f"SELECT {counts} FROM points", "results").rows
    return tuple(name for name, count in zip(names, row, strict=True) if count > 1)


def select(
    results: Results,
    columns: Sequence[str],
    *,
    where: str | None = None,
    order: str | None = None,
    limit: int = 0,
) -> Rows:
    """Return rows of points.

    Parameters
    ----------
    columns : expressions of SQL
    where, order : str, optional
        A condition and a list of expressions; by default all rows, by model, servers, degree and so on.
    limit : int
        Most rows; 0 for all.

    Raises
    ------
    InvalidInput
        For a misspelled column (the nearest are named) or invalid SQL.
    """
    _check_clauses(results, columns, where, order)
    statement = f"SELECT {', '.join(columns)} FROM points WHERE {_condition(where)}"
    return query(results, f"{statement} ORDER BY {order or _DEFAULT_ORDER}{_limited(limit)}", "results")


def best(
    results: Results,
    columns: Sequence[str],
    least: str,
    per: Sequence[str],
    *,
    where: str | None = None,
    limit: int = 0,
) -> Rows:
    """Return, of every combination of the columns ``per``, the point that has least of something.

    Parameters
    ----------
    least : str
        ``fastest``, ``cheapest`` or an expression, such as ``cost_usd * iteration_time_s``.

    Raises
    ------
    InvalidInput
        As :func:`select`.
    """
    value = BEST.get(least, least)
    if value.isidentifier() and value not in COLUMNS:
        raise unknown_name("best", least, [*BEST, *COLUMNS])
    _check_clauses(results, columns, where, None)
    check_expressions(results, (value,), "best")
    check_expressions(results, per, "per")
    groups = ", ".join(per)
    statement = (
        f"SELECT {', '.join(columns)} FROM points WHERE status = 'ok' AND ({value}) IS NOT NULL AND "
        f"{_condition(where)} QUALIFY row_number() OVER ({f'PARTITION BY {groups} ' if groups else ''}"
        f"ORDER BY {value}, {_DEFAULT_ORDER}) = 1 ORDER BY {groups or _DEFAULT_ORDER}"
    )
    return query(results, statement + _limited(limit), "best")


def check_expressions(results: Results, expressions: Sequence[str], place: str) -> None:
    """Refuse invalid expressions about points, before they become part of a longer query.

    Raises
    ------
    InvalidInput
        As :func:`select`, with ``place`` in front.
    """
    _check(results, f"SELECT {', '.join(expressions) or '1'} FROM points", place)


def query(results: Results, sql: str, place: str = "sql") -> Rows:
    """Return the result of an SQL query; the tables are ``points``, ``runs`` and ``attempts``.

    Raises
    ------
    InvalidInput
        For invalid SQL, or a statement that would change something; ``place`` is the prefix.
    """
    try:
        cursor = results.connection.execute(sql)
        if cursor is None:  # what duckdb gives for a comment alone, whatever its types say
            raise InvalidInput(f"{place}: expected a question in SQL, got none")
        names = tuple(column[0] for column in cursor.description)
        return Rows(names, tuple(tuple(row) for row in cursor.fetchall()))
    except duckdb.Error as error:
        if is_damage(error):
            raise
        raise _mistake(str(error), place) from None


def _condition(where: str | None) -> str:
    return f"({where}\n)" if where else "true"  # the line break ends a comment of theirs


def _limited(limit: int) -> str:
    return f" LIMIT {limit}" if limit else ""


def _check_clauses(results: Results, columns: Sequence[str], where: str | None, order: str | None) -> None:
    """Check each clause separately, so that an error names its flag."""
    check_expressions(results, columns, "columns")
    if where is not None:
        _check(results, f"SELECT 1 FROM points WHERE {_condition(where)}", "where")
    if order is not None:
        _check(results, f"SELECT {', '.join(columns)} FROM points ORDER BY {order}", "order")


def _check(results: Results, sql: str, place: str) -> None:
    query(results, f"{sql} LIMIT 0", place)


def _mistake(message: str, place: str) -> InvalidInput:
    """Return DuckDB's complaint in one line; a misspelled column is answered with the nearest."""
    text = " ".join(message.split("\n\nLINE", maxsplit=1)[0].split())
    column = re.search(r'[Cc]olumn (?:named )?"([^"]+)"', text)
    if column is not None and ("not found" in text or "does not have" in text):
        return unknown_name(f"{place}: column", column[1], COLUMNS)
    kind, _, rest = text.partition(": ")
    if text.startswith("Catalog Error: Table"):
        return InvalidInput(f"{place}: {rest.split(' Did you mean')[0]} Known: {', '.join(TABLES)}")
    if kind == "Permission Error" or "read-only mode" in text:
        return InvalidInput(f"{place}: results are only read here, and no other file: {rest}")
    return InvalidInput(f"{place}: {rest or text}; columns: {', '.join(_SHOWN)}, ... (sql='DESCRIBE points')")
