"""Of stored points, those that no other beats in both price and time, for each job."""

from collections.abc import Sequence
from itertools import groupby

from topoopt.plans import front
from topoopt.studies.sweep.results import Results, Rows, check_expressions, select

FRONT = "front"
"""Word for what none beats in price and time."""
_FIGURES = ("cost_usd", "iteration_time_s")


def front_rows(
    results: Results,
    columns: Sequence[str],
    per: Sequence[str],
    *,
    where: str | None = None,
    limit: int = 0,
) -> Rows:
    """Return, of every combination of the columns ``per``, the points on the front, the cheapest first.

    A point without a price is on no front. Parameters as :func:`topoopt.studies.sweep.best`, without what there is
    least of.

    Raises
    ------
    InvalidInput
        As :func:`topoopt.studies.sweep.select`.
    """
    for place, expressions in (("columns", columns), ("per", per)):
        check_expressions(results, expressions, place)
    groups = ", ".join(per)
    kept = f"status = 'ok' AND ({where}\n)" if where else "status = 'ok'"
    found = select(results, (*columns, *_FIGURES, *per), where=kept, order=groups or None)
    price, time, first = len(columns), len(columns) + 1, len(columns) + len(_FIGURES)
    rows = [
        row[:price]
        for _, group in groupby(found.rows, key=lambda row: row[first:])
        for row in front(tuple(group), lambda row: row[price], lambda row: row[time])
    ]
    return Rows(found.columns[:price], tuple(rows[:limit] if limit else rows))
