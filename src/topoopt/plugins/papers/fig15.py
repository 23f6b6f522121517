"""Figure 15: how evenly the links share AllReduce and forwarded model-parallel bytes."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor

import numpy as np
from numpy.typing import NDArray

from topoopt.base.progress import Progress
from topoopt.pages import Series
from topoopt.plugins.papers.figure import Figure, Row, StudySettings, description
from topoopt.plugins.papers.published_jobs import (
    BATCHES,
    DEGREES,
    SERVERS,
    run_study,
    study_traffic,
    topoopt_fabric,
)
from topoopt.routing import link_loads

TEXT = description("fig15")
ROUTINGS = {
    "coin-change": "CoinChangeMod over all shortest sequences",
    "k-shortest": "k shortest paths, equal weights",
    "single-shortest": "one path a pair, as in the released files",
}
DRAWN_BATCH = 256
"""That of the released files."""


@dataclass(frozen=True, slots=True)
class Loads:
    """Bytes on every link of one case, in all and of the AllReduce alone."""

    degree: int
    batch: int
    routing: str
    link_bytes: NDArray[np.float64]
    allreduce_bytes: NDArray[np.float64]


def fig15(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return what each link carries in the all-to-all study, by routing."""
    cases = list(_loads(on_progress))
    drawn = [case for case in cases if case.batch == DRAWN_BATCH]
    published = next(case for case in drawn if case.degree == 8).allreduce_bytes
    charts = [
        TEXT.chart(
            "bytes",
            (),
            *(_series(case) for case in drawn if case.degree == degree),
            degree=degree,
            batch=DRAWN_BATCH,
        )
        for degree in DEGREES
    ]
    return TEXT.figure(
        map(_row, cases),
        [
            TEXT.comparison("allreduce", floor(published.min()), which="least loaded"),
            TEXT.comparison("allreduce", floor(published.max()), which="busiest"),
        ],
        charts,
        servers=SERVERS,
        batch=DRAWN_BATCH,
        balance=", ".join(
            f"d={case.degree} {case.routing} {case.link_bytes.max() / case.link_bytes.mean():.2f}"
            for case in drawn
        ),
    )


def _loads(on_progress: Progress) -> Iterator[Loads]:
    cases = [(degree, batch, routing) for degree in DEGREES for batch in BATCHES for routing in ROUTINGS]
    for index, (degree, batch, routing) in enumerate(cases):
        on_progress("fig15: counting bytes on links", index, len(cases))
        fabric = topoopt_fabric(degree, routing=routing)
        carried = run_study(batch, fabric, simulator="analytic").link_bytes
        forwarded = link_loads(fabric.topology, fabric.routes, study_traffic(batch).mp_matrix())
        yield Loads(degree, batch, routing, carried, carried - forwarded)


def _row(case: Loads) -> Row:
    carried = case.link_bytes
    return {
        "degree": case.degree,
        "batch_per_accelerator": case.batch,
        "routing": case.routing,
        "links": len(carried),
        "allreduce_link_bytes": float(case.allreduce_bytes.mean()),
        "least_link_bytes": float(carried.min()),
        "mean_link_bytes": float(carried.mean()),
        "busiest_link_bytes": float(carried.max()),
        "busiest_over_mean": float(carried.max() / carried.mean()),
    }


def _series(case: Loads) -> Series:
    carried, count = np.unique(case.link_bytes.round(), return_counts=True)
    x, share = (carried / 1e9).tolist(), (np.cumsum(count) / count.sum()).tolist()
    return Series(ROUTINGS[case.routing], (x[0], *x), (0.0, *share), stepped=True)
