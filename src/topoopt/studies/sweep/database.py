"""The DuckDB file of a sweep, opened; whatever DuckDB says against it becomes one line."""

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

import duckdb

from topoopt.base.errors import InvalidInput
from topoopt.studies.sweep.point import DEGREES, POINT_FIELDS, Answer, Point

_SQL_TYPES: Mapping[type, str] = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN"}
SETTING_COLUMNS: Mapping[str, str] = {name: _SQL_TYPES[get_type_hints(Point)[name]] for name in POINT_FIELDS}
"""Fields of :class:`~topoopt.studies.sweep.point.Point`, each with its type in SQL."""
RESULT_COLUMNS: Mapping[str, str] = {
    "variant": "VARCHAR",
    "accelerators": "BIGINT",
    "global_batch": "BIGINT",
    "simulated_by": "VARCHAR",
    "iteration_time_s": "DOUBLE",
    "compute_time_s": "DOUBLE",
    "exposed_communication_s": "DOUBLE",
    "bandwidth_tax": "DOUBLE",
    "link_bytes_max": "DOUBLE",
    "lower_bound_s": "DOUBLE",
    "gap": "DOUBLE",
    "data_parallel_time_s": "DOUBLE",
    "server_bandwidth_bps": "DOUBLE",
    "cost_usd": "DOUBLE",
    "power_w": "DOUBLE",
    "strategy": "VARCHAR",
    "plan_strides": "BIGINT[]",
    "proposals": "BIGINT",
    "sequence": "BIGINT",
    "tokens_per_s": "DOUBLE",
    "mfu": "DOUBLE",
    "memory_bytes": "DOUBLE",
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
"""By what a row is known, which run has written it, how that went, and by which version of topoopt."""
COLUMNS: Mapping[str, str] = {**SETTING_COLUMNS, **RESULT_COLUMNS, **KEPT_COLUMNS}
FORMAT = "topoopt-sweep/2"
TABLES = ("points", "runs", "attempts")
"""``points``: a row each. ``runs``: every start of a sweep, with its text. ``attempts``: who began which point."""
_STATEMENTS = (
    "CREATE TABLE about (format VARCHAR NOT NULL)",
    "CREATE TABLE runs (run BIGINT PRIMARY KEY, sweep VARCHAR NOT NULL, sweep_digest VARCHAR NOT NULL, "
    "sweep_text VARCHAR NOT NULL, points BIGINT NOT NULL, version VARCHAR NOT NULL)",
    "CREATE TABLE attempts (digest VARCHAR NOT NULL, run BIGINT NOT NULL)",
    f"CREATE TABLE points ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})",
)


def create_database(path: str | Path) -> None:
    """Make a results file without results, whole or not at all; one that exists already is left as it is.

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
            with contextlib.suppress(FileExistsError):  # another process was quicker
                os.link(made, target)
    except FileNotFoundError:
        raise InvalidInput(f"{path}: the folder {target.parent} does not exist") from None
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None


def open_database(path: str | Path, *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
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
        raise _refusal(path, str(error)) from None
    try:
        # No function of SQL reads or writes other files, and no statement can allow that again.
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        row = connection.execute("SELECT format FROM about").fetchone()
        if row != (FORMAT,):
            raise InvalidInput(f"{path}: expected results of format {FORMAT}, got {row and row[0]}")
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


def is_damage(error: duckdb.Error) -> bool:
    """Return whether what DuckDB complains of is the file, and not the question."""
    kinds = (
        duckdb.IOException | duckdb.InternalException | duckdb.FatalException | duckdb.SerializationException
    )
    return isinstance(error, kinds) or type(error) is duckdb.Error or "checksum" in str(error)


@contextlib.contextmanager
def damage_in_a_line(path: str | Path) -> Iterator[None]:
    """Say in one line that a file is damaged, where DuckDB finds that out."""
    try:
        yield
    except duckdb.Error as error:
        if not is_damage(error):
            raise
        reason = " ".join(str(error).split()).split(": ")[-1]
        raise InvalidInput(f"{path}: is damaged, make it again from its sweep: {reason}") from None


class Locked(InvalidInput):
    """Another process writes the results file."""


def _refusal(path: str | Path, message: str) -> InvalidInput:
    text = " ".join(message.split())
    if "Could not set lock" in text:
        owner = re.search(r"\(PID (\d+)\)", text)
        who = f"process {owner[1]}" if owner else "another process"
        return Locked(f"{path}: {who} writes it; wait until that has ended, or another file (out=FILE)")
    if "not a valid DuckDB" in text or "in-memory" in text:  # of plan.json DuckDB would make a table
        return InvalidInput(f"{path}: is no DuckDB file; name another file")
    if "WAL" in text:
        return InvalidInput(
            f"{path}: the log beside it is damaged; move {Path(path).name}.wal away, and the next sweep computes "
            "again what was only there"
        )
    return InvalidInput(f"{path}: cannot be opened: {text.split(': ', 1)[-1].split(' See also')[0]}")


def row_of(answer: Answer, run: int, version: str) -> list[Any]:
    """Return an answer as the values of :data:`COLUMNS`."""
    point = answer.point
    kept = [point.digest, run, answer.status, answer.error, version, answer.cpu_s]
    settings = [getattr(point, name) for name in SETTING_COLUMNS]
    return [*settings, *(answer.values.get(name) for name in RESULT_COLUMNS), *kept]
