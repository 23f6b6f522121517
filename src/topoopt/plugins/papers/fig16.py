"""Figure 16: 432 servers shared by up to 27 jobs of 16 servers, each on links of its own or all on one fat-tree."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean

from topoopt.base.progress import Progress
from topoopt.catalog import ClusterSpec
from topoopt.clusters import MIXES, ClusterSettings, FabricSnapshot, SharingOptions, TraceJob, snapshot
from topoopt.pages import Chart
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.plugins.papers.published_jobs import COUNTED, MODEL_TITLES, search_options
from topoopt.pricing import PAPER

SERVERS, DEGREE, BANDWIDTH_BPS = 432, 8, 100e9
JOB_SERVERS = 16
TOPOOPT, TREE, PRICED_TREE, OVERSUB, IDEAL = (
    "TopoOpt",
    "fat-tree, d·B/3.2",
    "fat-tree, list prices",
    "fat-tree, 2:1",
    "ideal switch",
)
NAMES = {"topoopt": TOPOOPT, "fat-tree": TREE, "oversub-fat-tree": OVERSUB, "ideal-switch": IDEAL}
IN_A_ROW, AT_RANDOM = "contiguous", "random"
PLACED = {IN_A_ROW: "servers in order", AT_RANDOM: "servers at random"}


@dataclass(frozen=True, slots=True)
class Fig16Grid:
    """Where the figure is evaluated.

    Attributes
    ----------
    loads : tuple of int
        Jobs at once; those of a lower load are among those of a higher one.
    seeds : int
        Placements and paths that are drawn, one after the other.
    budget, baseline_budget : int
        Proposals for a job on links of its own, and for each shared fabric.
    """

    loads: tuple[int, ...]
    placements: tuple[str, ...]
    seeds: int
    budget: int
    baseline_budget: int


@dataclass(frozen=True, eq=False)
class Drawn:
    """Jobs at once on one fabric, for one placement and seed."""

    placement: str
    seed: int
    fabric: str
    at_once: FabricSnapshot

    @property
    def jobs(self) -> int:
        """How many run at once."""
        return len(self.at_once.jobs)

    def times_s(self, model: str = "") -> list[float]:
        """Return the mean iteration time of each job, or of those of one model."""
        rows = zip(self.at_once.jobs, self.at_once.times, strict=True)
        return [times.mean_s for job, times in rows if model in ("", job.model)]

    def row(self) -> Row:
        """Return the row of the figure's file."""
        whole = self.at_once.iteration_time_s
        return {
            "jobs": self.jobs,
            "placement": self.placement,
            "seed": self.seed,
            "fabric": self.fabric,
            "server_bandwidth_bps": self.at_once.server_bandwidth_bps,
            "mean_iteration_time_s": whole.mean,
            "p99_iteration_time_s": whole.p99,
            "max_iteration_time_s": whole.max,
            **{
                f"{model}_iteration_time_s": mean(times_s) if (times_s := self.times_s(model)) else None
                for model in MIXES["released"]
            },
        }


@dataclass(frozen=True, eq=False)
class Draws:
    """Every draw of a figure."""

    all: tuple[Drawn, ...]

    def where(self, placement: str, jobs: int, fabric: str) -> list[Drawn]:
        """Return the draws of one placement, load and fabric."""
        return [row for row in self.all if (row.placement, row.jobs, row.fabric) == (placement, jobs, fabric)]

    def mean(
        self, statistic: str, placement: str, jobs: int, fabric: str, *, seed: int | None = None
    ) -> float:
        """Return the mean over seeds, or of one seed, of the ``mean`` or ``p99`` of iteration times."""
        rows = [row for row in self.where(placement, jobs, fabric) if seed in (None, row.seed)]
        return float(mean(getattr(row.at_once.iteration_time_s, statistic) for row in rows))


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


def all_drawn(grid: Fig16Grid, seed: int, on_progress: Progress) -> Iterator[Drawn]:
    """Yield every placement, draw, load and fabric of the grid; draws are numbered from ``seed``."""
    cases = [(placement, seed + more) for placement in grid.placements for more in range(grid.seeds)]
    jobs = even_jobs(max(grid.loads))
    for done, (placement, drawn_by) in enumerate(cases):
        for load in grid.loads:
            on_progress(f"fig16: {load} jobs, {PLACED[placement]}", done, len(cases))
            for at_once in snapshot(jobs[:load], _settings(grid, placement, drawn_by), tuple(NAMES)):
                name = PRICED_TREE if at_once.rule == "fat-tree-priced" else NAMES[at_once.fabric]
                yield Drawn(placement, drawn_by, name, at_once)


def even_jobs(count: int) -> list[TraceJob]:
    """Return jobs of which any first few hold the released mix as nearly as they can.

    So a mean over more of them differs for what the network does, not for other models among them.
    """
    mix = MIXES["released"]
    counts = dict.fromkeys(mix, 0)
    jobs = []
    for place in range(1, count + 1):
        due = {model: share * place / sum(mix.values()) - counts[model] for model, share in mix.items()}
        model = max(due, key=lambda name: due[name])
        counts[model] += 1
        jobs.append(TraceJob(f"job-{place:02d}", model, JOB_SERVERS, 0.0, iterations=1))
    return jobs


def _settings(grid: Fig16Grid, placement: str, seed: int) -> ClusterSettings:
    return ClusterSettings(
        ClusterSpec(SERVERS, DEGREE, BANDWIDTH_BPS),
        placement=placement,
        search=search_options("released", grid.budget, grid.baseline_budget, seed),
        costs=COUNTED,
        prices="2022",
        accounting=PAPER.name,
        sharing=SharingOptions(seed=seed),
    )
