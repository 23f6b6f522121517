"""Figure 13: the bandwidth tax, what forwarding puts on links beyond what was asked for."""

from collections.abc import Iterator, Sequence

from topoopt.base.progress import Progress
from topoopt.pages import Series
from topoopt.plugins.papers.figure import Figure, Row, StudySettings, description
from topoopt.plugins.papers.published_jobs import (
    BATCHES,
    DEGREES,
    SERVERS,
    circulant_strides,
    run_study,
    study_traffic,
    topoopt_fabric,
)
from topoopt.routing import bandwidth_tax, coin_change_mod
from topoopt.topologies import stride_offsets

TEXT = description("fig13")
COUNTED, CLOSED_FORM = "tax_counted", "tax_closed_form"


def fig13(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the tax of the all-to-all study, counted on links and by the closed form."""
    cases = [(degree, batch) for degree in DEGREES for batch in BATCHES]
    rows = []
    for index, case in enumerate(cases):
        on_progress("fig13: counting bytes on links", index, len(cases))
        rows.append(_row(*case))
    first = rows[0]
    return TEXT.figure(
        rows,
        [
            TEXT.comparison("tax", first[COUNTED], how="counted on the links"),
            TEXT.comparison("tax", first[CLOSED_FORM], how="closed form"),
        ],
        [TEXT.chart("tax", (), *_series(rows))],
        ratio=rows[-1]["all_to_all_over_allreduce"],
        carried_once=bandwidth_tax(first["all_to_all_over_allreduce"] / 2, first["average_hops"]),
        largest=max(row[COUNTED] for row in rows),
    )


def _row(degree: int, batch: int) -> Row:
    traffic, strides = study_traffic(batch), circulant_strides(degree)
    hops = coin_change_mod(SERVERS, stride_offsets(SERVERS, strides, "duplex")).average_hops
    return {
        "degree": degree,
        "batch_per_accelerator": batch,
        "strides": "+".join(map(str, strides)),
        "average_hops": hops,
        "all_to_all_over_allreduce": traffic.mp_bytes / traffic.allreduce_wire_bytes,
        COUNTED: run_study(batch, topoopt_fabric(degree), simulator="analytic").bandwidth_tax,
        CLOSED_FORM: bandwidth_tax(TEXT.tables["ratio_at_largest"] * batch / BATCHES[-1], hops),
    }


def _series(rows: Sequence[Row]) -> Iterator[Series]:
    for degree in DEGREES:
        for how, column in (("closed form", CLOSED_FORM), ("counted", COUNTED)):
            values = tuple(row[column] for row in rows if row["degree"] == degree)
            joined = column == CLOSED_FORM
            yield Series(f"d={degree}, {how}", tuple(map(str, BATCHES)), values, joined=joined)
