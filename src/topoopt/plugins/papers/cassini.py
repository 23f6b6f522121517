"""CASSINI's evaluation: snapshots and pairs of jobs on a link, and traces on 24 servers."""

from collections.abc import Iterator, Sequence

from topoopt.pages import Chart
from topoopt.plugins.papers.cassini_clusters import TraceGrid, trace_comparisons, trace_rows
from topoopt.plugins.papers.cassini_jobs import DRAWS, HEADROOM, ITERATIONS
from topoopt.plugins.papers.cassini_links import (
    SHOWN,
    pair_comparisons,
    pair_rows,
    snapshot_comparisons,
    snapshot_rows,
)
from topoopt.plugins.papers.description import description
from topoopt.plugins.papers.figure import Figure, Progress, Row, StudySettings

TEXT = description("cassini")


QUICK, FULL = TraceGrid(2 * 3600.0), TraceGrid(24 * 3600.0)


def cassini(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return our scores, shifts and times beside the published ones."""
    return cassini_on(QUICK if settings.quick else FULL, settings, on_progress)


def cassini_on(grid: TraceGrid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the figure with traces of any length."""
    on_progress("cassini: snapshots", 0, 3)
    rows = list(snapshot_rows(settings.seed))
    on_progress("cassini: pairs", 1, 3)
    rows += pair_rows(TEXT, settings.seed)
    on_progress("cassini: traces", 2, 3)
    traces = list(trace_rows(grid, settings.seed, on_progress))
    return TEXT.figure(
        [*rows, *traces],
        [
            *snapshot_comparisons(TEXT, rows),
            *pair_comparisons(TEXT, rows),
            *trace_comparisons(TEXT, traces),
        ],
        [*_charts(rows), TEXT.chart("traces", traces)],
        draws=DRAWS,
        iterations=ITERATIONS,
        headroom=HEADROOM,
        shown=SHOWN[0],
        hours=grid.horizon_s / 3600,
        load=grid.load,
        slowdown={row["scheduler"]: row["mean_slowdown"] for row in traces if row["name"] == "poisson"},
        jobs={row["name"]: row["trace_jobs"] for row in traces},
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
