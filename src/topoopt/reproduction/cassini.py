"""CASSINI's evaluation: snapshots and pairs of jobs on a link."""

from collections.abc import Iterator, Sequence

from topoopt.report import Chart
from topoopt.reproduction.cassini_jobs import DRAWS, HEADROOM, ITERATIONS
from topoopt.reproduction.cassini_links import (
    SHOWN,
    pair_comparisons,
    pair_rows,
    snapshot_comparisons,
    snapshot_rows,
)
from topoopt.reproduction.description import description
from topoopt.reproduction.figure import Figure, Progress, Row, StudySettings

TEXT = description("cassini")


def cassini(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return our scores, shifts and times beside the published ones."""
    on_progress("cassini: snapshots", 0, 2)
    rows = list(snapshot_rows(settings.seed))
    on_progress("cassini: pairs", 1, 2)
    rows += pair_rows(TEXT, settings.seed)
    return TEXT.figure(
        rows,
        [*snapshot_comparisons(TEXT, rows), *pair_comparisons(TEXT, rows)],
        list(_charts(rows)),
        draws=DRAWS,
        iterations=ITERATIONS,
        headroom=HEADROOM,
        shown=SHOWN[0],
    )


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    shown = [
        {
            "way": way,
            "job": f"{row['name']}: {row['job']}",
            "time_s": row[f"{way}_communication_time_s"],
        }
        for row in rows
        if row["what"] == "snapshot" and (row["workers"], row["periods"]) == SHOWN
        for way in TEXT.charts["snapshots"]["curves"]["names"]
    ]
    yield TEXT.chart("snapshots", shown)
