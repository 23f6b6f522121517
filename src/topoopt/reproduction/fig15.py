"""Figure 15: how evenly the links share AllReduce and forwarded model-parallel bytes."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor

import numpy as np
from numpy.typing import NDArray

from topoopt.report import LineChart, Series
from topoopt.reproduction.all_to_all_study import (
    BATCHES,
    DEGREES,
    SERVERS,
    run_study,
    study_traffic,
    topoopt_fabric,
)
from topoopt.reproduction.figure import Comparison, Figure, Progress, Row, StudySettings
from topoopt.routing import link_loads

TITLE = "Link traffic balance: bytes of every link, AllReduce and forwarded"
FILES = "the authors' released files"
ROUTINGS = {
    "coin-change": "CoinChangeMod over all shortest sequences",
    "k-shortest": "k shortest paths, equal weights",
    "single-shortest": "one path a pair, as in the released files",
}
PUBLISHED_ALLREDUCE_BYTES = 337_163_664
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
    found = list(_loads(on_progress))
    drawn = [case for case in found if case.batch == DRAWN_BATCH]
    published = next(case for case in drawn if case.degree == 8)
    least, most = (floor(pick(published.allreduce_bytes)) for pick in (np.min, np.max))
    return Figure(
        "fig15",
        TITLE,
        tuple(_row(case) for case in found),
        tuple(
            Comparison(
                f"AllReduce bytes of the {which} link, d=8",
                "bytes",
                value,
                PUBLISHED_ALLREDUCE_BYTES,
                PUBLISHED_ALLREDUCE_BYTES,
                0,
                FILES,
            )
            for which, value in (("least loaded", least), ("busiest", most))
        ),
        tuple(_chart(drawn, degree) for degree in DEGREES),
        (
            f"DLRM with a table on each of {SERVERS} servers, strides of the released code, activations carried twice. "
            "Rings load every link alike; whatever is uneven comes from the routes of the all-to-all.",
            _balance(drawn),
            "Routes of CoinChangeMod look the same from every server, so all links of a stride carry the same and only "
            "strides can differ; the shortest sequences are weighed so that no stride is crowded.",
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


def _balance(drawn: list[Loads]) -> str:
    words = ", ".join(
        f"d={case.degree} {case.routing} {case.link_bytes.max() / case.link_bytes.mean():.2f}"
        for case in drawn
    )
    return f"Busiest link over the mean at batch {DRAWN_BATCH}: {words}."


def _chart(drawn: list[Loads], degree: int) -> LineChart:
    series = []
    for case in drawn:
        if case.degree == degree:
            carried, count = np.unique(case.link_bytes.round(), return_counts=True)
            x, share = (carried / 1e9).tolist(), (np.cumsum(count) / count.sum()).tolist()
            series.append(Series(ROUTINGS[case.routing], (x[0], *x), (0.0, *share), stepped=True))
    return LineChart(
        f"fig15-d{degree}",
        f"Bytes of a link, d={degree}, batch {DRAWN_BATCH}",
        "GB on the link in an iteration",
        "share of the links with no more",
        tuple(series),
    )
