"""MixNet's evaluation: mixtures of experts on a fat-tree, on regional circuits, on rails, and on TopoOpt wired once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from topoopt.pages import Chart
from topoopt.plugins.papers.description import description
from topoopt.plugins.papers.figure import Comparison, Figure, Progress, Row, StudySettings
from topoopt.plugins.papers.mixnet_jobs import ACCELERATORS, FABRICS, JOBS, MICRO_BATCHES, PUBLISHED
from topoopt.plugins.papers.mixnet_loads import ZIPF, loads_rows
from topoopt.plugins.papers.mixnet_points import AT_400G, VARIANTS, mixnet_rows, reference_s, time_s

TEXT = description("mixnet")
TITLES: Mapping[str, str] = TEXT.charts["time"]["curves"]["names"]


@dataclass(frozen=True, slots=True)
class MixnetGrid:
    """Where the figure is evaluated.

    Attributes
    ----------
    cases : tuple of (job, bandwidth)
    iterations : tuple of int
        Of training, for loads that change.
    every : int
        Every so many-th layer of those is taken.
    variants_at_bps : tuple of float
        Bandwidths at which :data:`VARIANTS` are simulated, too.
    """

    cases: tuple[tuple[str, float], ...]
    iterations: tuple[int, ...]
    every: int
    variants_at_bps: tuple[float, ...]


QUICK = MixnetGrid(tuple(PUBLISHED), (0, 100, 1000), 14, (AT_400G,))
FULL = MixnetGrid(
    (*PUBLISHED, *((name, AT_400G) for name in JOBS if (name, AT_400G) not in PUBLISHED)),
    (0, 20, 100, 300, 1000),
    1,
    (100e9, 200e9, AT_400G, 800e9),
)


def mixnet(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return iteration times on the four fabrics, and what circuits are worth when loads change."""
    return mixnet_on(QUICK if settings.quick else FULL, settings, on_progress)


def mixnet_on(grid: MixnetGrid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the figure over any grid."""
    rows: list[Row] = []
    for done, (name, bandwidth_bps) in enumerate(grid.cases):
        on_progress(f"mixnet: {JOBS[name].title} at {bandwidth_bps / 1e9:g} Gb/s", done, len(grid.cases) + 1)
        variants = VARIANTS if bandwidth_bps in grid.variants_at_bps else ()
        rows += mixnet_rows(name, bandwidth_bps, variants)
    on_progress("mixnet: loads that change", len(grid.cases), len(grid.cases) + 1)
    loads = list(loads_rows("mixtral-8x22b", AT_400G, grid.iterations, grid.every, settings.seed))
    last = max(grid.iterations)
    slowest = max((row for row in rows if row["fabric"] == "topoopt"), key=lambda row: row["bandwidth_tax"])
    return TEXT.figure(
        [*(_normalized(row, rows) for row in rows), *loads],
        [*_compared(rows), *_order(rows)],
        [*_charts(rows), TEXT.chart("loads", loads)],
        accelerators=ACCELERATORS,
        micro_batches=MICRO_BATCHES,
        slowest=slowest,
        slowest_model=JOBS[slowest["model"]].title,
        zipf=ZIPF,
        last=last,
        ms={
            row["circuits"]: row["exchange_time_s"] * 1e3
            for row in loads
            if row["training_iteration"] == last
        },
    )


def _normalized(row: Row, rows: Sequence[Row]) -> Row:
    case = row["model"], row["bandwidth_bps"]
    published = PUBLISHED.get(case, {}).get(row["fabric"]) if not row["circuits"] else None
    normalized = row["iteration_time_s"] / reference_s(rows, *case)
    return {**row, "normalized": normalized, "published_normalized": published}


def _compared(rows: Sequence[Row]) -> Iterator[Comparison]:
    simulated = {(row["model"], row["bandwidth_bps"]) for row in rows}
    for case, published in PUBLISHED.items():
        by_rail = case[0] == "mixtral-8x22b"
        for fabric in FABRICS if case in simulated else ():
            if by_rail or fabric != "fat-tree":
                yield TEXT.comparison(
                    "normalized",
                    time_s(rows, *case, fabric) / reference_s(rows, *case),
                    fabric,
                    published=published[fabric] if by_rail else published[fabric] / published["fat-tree"],
                    job=_words(*case),
                    fabric=TITLES[fabric],
                    reference="rail at 800 Gb/s" if by_rail else "the fat-tree",
                )


def _order(rows: Sequence[Row]) -> Iterator[Comparison]:
    """Yield that TopoOpt is the slowest on LLaMA-MoE, whichever way it is wired."""
    case = "llama-moe", AT_400G
    if not any(row["model"] == case[0] for row in rows):
        return
    published = PUBLISHED[case]
    wired_s = min(time_s(rows, *case, name) for name in ("topoopt", "topoopt-released"))
    for other in ("fat-tree", "mixnet"):
        yield TEXT.comparison(
            "order",
            time_s(rows, *case, other) / wired_s,
            job=_words(*case),
            fabric=TITLES[other],
            ratio=published[other] / published["topoopt"],
        )


def _words(model: str, bandwidth_bps: float) -> str:
    return f"{JOBS[model].title}, {bandwidth_bps / 1e9:g} Gb/s"


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    for name in dict.fromkeys(row["model"] for row in rows):
        drawn = [
            {**row, "nic_gbps": f"{row['bandwidth_bps'] / 1e9:g}"}
            for row in sorted(rows, key=lambda row: row["bandwidth_bps"])
            if row["model"] == name and not row["circuits"]
        ]
        yield TEXT.chart("time", drawn, name=name, model=JOBS[name].title, accelerators=ACCELERATORS)
