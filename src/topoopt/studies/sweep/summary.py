"""What is in a results file, at a glance."""

from dataclasses import dataclass
from typing import Any

from topoopt.studies.sweep.results import Results, axes_of, query


@dataclass(frozen=True, slots=True)
class Summary:
    """What a results file holds.

    Attributes
    ----------
    by_status : mapping of status to points
    axes : mapping of column to its values
        Of the columns that have more than one, in order.
    sweeps : tuple of str
        Names of the sweep files that have been run, each once.
    runs : int
        How often a sweep was started.
    versions : tuple of str
        Of topoopt.
    errors : tuple of (message, points)
        Why points have no result, the most frequent first.
    """

    by_status: dict[str, int]
    axes: dict[str, tuple[Any, ...]]
    sweeps: tuple[str, ...]
    runs: int
    versions: tuple[str, ...]
    errors: tuple[tuple[str, int], ...]


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
