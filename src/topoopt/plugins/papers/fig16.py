"""Figure 16: 432 servers shared by up to 27 jobs of 16 servers, each on links of its own or all on one fat-tree."""

from collections.abc import Iterator
from statistics import mean

from topoopt.clusters import MIXES
from topoopt.pages import Chart
from topoopt.plugins.papers.description import description
from topoopt.plugins.papers.fig16_draws import (
    AT_RANDOM,
    BANDWIDTH_BPS,
    DEGREE,
    IDEAL,
    IN_A_ROW,
    OVERSUB,
    PLACED,
    PRICED_TREE,
    TOPOOPT,
    TREE,
    Draws,
    Fig16Grid,
    all_drawn,
)
from topoopt.plugins.papers.figure import Comparison, Figure, Progress, StudySettings
from topoopt.plugins.papers.published_jobs import MODEL_TITLES

TEXT = description("fig16")
STATISTICS = ("mean", "p99")
QUICK = Fig16Grid((5, 10, 15, 20, 27), (IN_A_ROW, AT_RANDOM), 3, 400, 100)
FULL = Fig16Grid((5, 10, 15, 20, 27), (IN_A_ROW, AT_RANDOM), 10, 4000, 500)


def fig16(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return mean and 99th percentile of iteration times over the number of jobs, on four fabrics."""
    return fig16_on(QUICK if settings.quick else FULL, settings, on_progress)


def fig16_on(grid: Fig16Grid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the figure over any grid."""
    draws = Draws(tuple(all_drawn(grid, settings.seed, on_progress)))
    first, most = grid.placements[0], max(grid.loads)
    chances = [
        draws.mean("mean", first, most, TREE, seed=seed) / draws.mean("mean", first, most, TOPOOPT, seed=seed)
        for seed in range(settings.seed, settings.seed + grid.seeds)
    ]
    return TEXT.figure(
        [one.row() for one in draws.all],
        [*_released(grid, draws), *_ratios(grid, draws), *_isolation(grid, draws)],
        _charts(grid, draws),
        mix=", ".join(f"{share:.0f} % {MODEL_TITLES[model]}" for model, share in MIXES["released"].items()),
        degree=DEGREE,
        tree_gbps=DEGREE * BANDWIDTH_BPS / 3.2e9,
        grid=grid,
        full=FULL,
        jobs=most,
        placed=PLACED[first],
        several=grid.seeds > 1,
        least=min(chances),
        most=max(chances),
        quick=settings.quick,
    )


def _released(grid: Fig16Grid, draws: Draws) -> Iterator[Comparison]:
    most = max(grid.loads)
    rows = draws.where(grid.placements[0], most, TOPOOPT)
    for model in TEXT.compared["alone"]["published"]:
        times_s = [time_s for row in rows for time_s in row.times_s(model)]
        if times_s:
            ours_ms = mean(times_s) * 1e3
            yield TEXT.comparison("alone", ours_ms, model, model=MODEL_TITLES[model], degree=DEGREE)
    yield TEXT.comparison("all", draws.mean("mean", grid.placements[0], most, TOPOOPT) * 1e3, jobs=most)


def _ratios(grid: Fig16Grid, draws: Draws) -> Iterator[Comparison]:
    jobs = max(grid.loads)
    for placement in grid.placements:
        for statistic in STATISTICS:
            own = draws.mean(statistic, placement, jobs, TOPOOPT)
            for fabric in TEXT.compared[statistic]["published"]:
                ratio = draws.mean(statistic, placement, jobs, fabric) / own
                words = {"fabric": fabric, "jobs": jobs, "placed": PLACED[placement]}
                yield TEXT.comparison(statistic, ratio, fabric, **words)


def _isolation(grid: Fig16Grid, draws: Draws) -> Iterator[Comparison]:
    """Compare the time of the jobs of the lowest load among all jobs with that by themselves."""
    few, most = min(grid.loads), max(grid.loads)
    for placement in grid.placements:
        for name, fabric in (("isolated", TOPOOPT), ("shared", TREE)):
            before, after = (
                sum(sum(row.times_s()[:few]) for row in draws.where(placement, jobs, fabric))
                for jobs in (few, most)
            )
            yield TEXT.comparison(name, after / before, few=few, jobs=most, placed=PLACED[placement])


def _charts(grid: Fig16Grid, draws: Draws) -> Iterator[Chart]:
    for placement in grid.placements:
        for statistic in STATISTICS:
            rows = [
                {
                    "fabric": fabric,
                    "jobs": float(jobs),
                    statistic: draws.mean(statistic, placement, jobs, fabric),
                }
                for fabric in (TOPOOPT, TREE, PRICED_TREE, OVERSUB, IDEAL)
                for jobs in grid.loads
            ]
            yield TEXT.chart(statistic, rows, placement=placement, placed=PLACED[placement])
