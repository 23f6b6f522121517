"""Figures 16 and 17: a cluster shared by many jobs, and circuits that follow the traffic."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean

from topoopt.base.answers import Progress, fields_of
from topoopt.base.units import format_time
from topoopt.catalog import ClusterSpec
from topoopt.clusters import MIXES, ClusterSettings, FabricSnapshot, SharingOptions, TraceJob, snapshot
from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.jobs import job_traffic
from topoopt.pages import Chart, Series
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.plugins.papers.published_jobs import (
    BULK,
    COUNTED,
    FLUID,
    MODEL_TITLES,
    published_job,
    released_fabric,
    search_options,
    times,
)
from topoopt.pricing import PAPER
from topoopt.routing import Fabric
from topoopt.search import simulated, starting_strategy

FIG17 = description("fig17")
FIG17_BANDWIDTH_BPS = 100e9
OCS_S = 10e-3
"""A change of a 3D MEMS switch."""


@dataclass(frozen=True, slots=True)
class Fig17Grid:
    """Points of the figure.

    Attributes
    ----------
    relayed_delays_s : tuple of float
        Latencies at which DLRM is simulated with forwarding: fast changes of circuits for many pairs take long.
    """

    servers: int
    models: tuple[str, ...]
    degrees: tuple[int, ...]
    delays_s: tuple[float, ...]
    relayed_delays_s: tuple[float, ...]


DELAYS_S = (1e-6, 1e-5, 1e-4, 1e-3, OCS_S, 1e-1)
FIG17_QUICK = Fig17Grid(128, ("dlrm", "bert"), (4, 8), DELAYS_S[1:], DELAYS_S[2:])
FIG17_FULL = Fig17Grid(128, ("dlrm", "bert"), (4, 8), DELAYS_S, DELAYS_S)


@dataclass(frozen=True, slots=True)
class LatencyTimes:
    """A model at one degree: a row for TopoOpt, wired once, and one for each latency of circuits."""

    model: str
    degree: int
    rows: tuple[Row, ...]

    @property
    def once_s(self) -> float:
        """The iteration time of TopoOpt."""
        once_s: float = self.rows[0]["iteration_time_s"]
        return once_s

    @property
    def circuits_s(self) -> dict[tuple[bool, float], float]:
        """Iteration times on circuits, by forwarding and latency."""
        return {(row["host_forwarding"], row["delay_s"]): row["iteration_time_s"] for row in self.rows[1:]}

    def best_s(self, delay_s: float) -> float:
        """Return the iteration time on circuits with or without forwarding, whichever is less."""
        return min(time_s for (_, at), time_s in self.circuits_s.items() if at == delay_s)


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
    """Points of the figure.

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
        """Number of jobs that run at the same time."""
        return len(self.at_once.jobs)

    def times_s(self, model: str = "") -> list[float]:
        """Return the mean iteration time of each job, or of those of one model."""
        rows = zip(self.at_once.jobs, self.at_once.times, strict=True)
        return [times.mean_s for job, times in rows if model in ("", job.model)]

    def row(self) -> Row:
        """Return the row of the figure's file."""
        whole = self.at_once.iteration_time_s
        return {
            **fields_of(self, "jobs", "placement", "seed", "fabric"),
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


FIG16 = description("fig16")
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
    return FIG16.figure(
        [one.row() for one in draws.all],
        [*_released(grid, draws), *_ratios(grid, draws), *_isolation(grid, draws)],
        _charts(grid, draws),
        mix=", ".join(f"{share:.0f}% {MODEL_TITLES[model]}" for model, share in MIXES["released"].items()),
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
    for model in FIG16.compared["alone"]["published"]:
        times_s = [time_s for row in rows for time_s in row.times_s(model)]
        if times_s:
            ours_ms = mean(times_s) * 1e3
            yield FIG16.comparison("alone", ours_ms, model, model=MODEL_TITLES[model], degree=DEGREE)
    yield FIG16.comparison("all", draws.mean("mean", grid.placements[0], most, TOPOOPT) * 1e3, jobs=most)


def _ratios(grid: Fig16Grid, draws: Draws) -> Iterator[Comparison]:
    jobs = max(grid.loads)
    for placement in grid.placements:
        for statistic in STATISTICS:
            own = draws.mean(statistic, placement, jobs, TOPOOPT)
            for fabric in FIG16.compared[statistic]["published"]:
                ratio = draws.mean(statistic, placement, jobs, fabric) / own
                words = {"fabric": fabric, "jobs": jobs, "placed": PLACED[placement]}
                yield FIG16.comparison(statistic, ratio, fabric, **words)


def _isolation(grid: Fig16Grid, draws: Draws) -> Iterator[Comparison]:
    """Compare the time of the jobs of the lowest load among all jobs with that by themselves."""
    few, most = min(grid.loads), max(grid.loads)
    for placement in grid.placements:
        for name, fabric in (("isolated", TOPOOPT), ("shared", TREE)):
            before, after = (
                sum(sum(row.times_s()[:few]) for row in draws.where(placement, jobs, fabric))
                for jobs in (few, most)
            )
            yield FIG16.comparison(name, after / before, few=few, jobs=most, placed=PLACED[placement])


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
            most = max(grid.loads)
            own_ms = draws.mean(statistic, placement, most, TOPOOPT) * 1e3
            theirs = [
                Series(f"{fabric} (published)", (float(most),), (ratio * own_ms,), published=True)
                for fabric, ratio in FIG16.compared[statistic]["published"].items()
            ]
            yield FIG16.chart(statistic, rows, *theirs, placement=placement, placed=PLACED[placement])


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
    """Return jobs such that any first few match the released mix as closely as possible.

    So a mean over more of them differs by the network's effect, not by other models.
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


def fig17(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return iteration times of DLRM and BERT on OCS-reconfig over its latency, and on TopoOpt."""
    return fig17_on(FIG17_QUICK if settings.quick else FIG17_FULL, settings, on_progress)


def fig17_on(grid: Fig17Grid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the figure over any grid."""
    curves: list[LatencyTimes] = []
    cases = [(model, degree) for model in grid.models for degree in grid.degrees]
    for done, (model, degree) in enumerate(cases):
        on_progress(f"fig17: {MODEL_TITLES[model]}, d={degree}", done, len(cases))
        curves.append(LatencyTimes(model, degree, tuple(_rows(grid, model, degree, settings.seed))))
    return FIG17.figure(
        [row for one in curves for row in one.rows],
        [row for one in curves for row in _compared(one)],
        map(_chart, curves),
        fluid=FLUID,
        harm=[words for one in curves for words in _harm(one)],
        quick=settings.quick,
        left_out=", ".join(format_time(at) for at in FIG17_FULL.delays_s if at not in grid.delays_s),
        relayed_from=format_time(grid.relayed_delays_s[0]),
    )


def _rows(grid: Fig17Grid, model: str, degree: int, seed: int) -> Iterator[Row]:
    """Yield TopoOpt, which is wired once, and then circuits by forwarding and latency."""
    job = published_job(model, grid.servers, degree, FIG17_BANDWIDTH_BPS)
    strategy = starting_strategy(job)
    wired_once = released_fabric(job, job_traffic(job, strategy), seed)
    cases: list[tuple[bool | None, float | None, Fabric]] = [(None, None, wired_once)]
    for relayed in (True, False):
        for delay_s in grid.relayed_delays_s if model == "dlrm" and relayed else grid.delays_s:
            shape = FabricShape(delay_s=delay_s, host_forwarding=relayed)
            request = FabricRequest(grid.servers, degree, FIG17_BANDWIDTH_BPS, seed=seed, shape=shape)
            cases.append((relayed, delay_s, build_fabric("ocs-reconfig", request)))
    results = [simulated(job, strategy, fabric, "flow", BULK) for *_, fabric in cases]
    for (host_forwarding, at_s, fabric), result in zip(cases, results, strict=True):
        yield {
            "model": model,
            "servers": grid.servers,
            "degree": degree,
            "fabric": fabric.name,
            "host_forwarding": host_forwarding,
            "delay_s": at_s,
            **times(result),
            "times_topoopt": result.iteration_time_s / results[0].iteration_time_s,
        }


def _compared(one: LatencyTimes) -> Iterator[Comparison]:
    """Yield the figure's statements as ratios."""
    circuits_s, slow_s = one.circuits_s, one.best_s(OCS_S)
    least_s = min(at for _, at in circuits_s)
    fast_s = one.best_s(least_s)
    for name, ours in (
        ("slow", one.once_s / slow_s),
        ("catch-up", max(fast_s / one.once_s - 1, 0.0) / (slow_s / one.once_s - 1)),
        ("fast", fast_s / one.once_s),
        ("forwarding", circuits_s[True, OCS_S] / circuits_s[False, OCS_S]),
    ):
        yield FIG17.comparison(
            name,
            ours,
            model=MODEL_TITLES[one.model],
            degree=one.degree,
            slow=format_time(OCS_S),
            fast=format_time(least_s),
        )


def _chart(one: LatencyTimes) -> Chart:
    delays_s = [at for _, at in one.circuits_s]
    ends = min(delays_s) * 1e6, max(delays_s) * 1e6
    return FIG17.chart(
        "time",
        one.rows[1:],
        Series("TopoOpt, wired once", ends, (one.once_s * 1e3,) * 2),
        name=one.model,
        model=MODEL_TITLES[one.model],
        degree=one.degree,
        servers=one.rows[0]["servers"],
    )


def _harm(one: LatencyTimes) -> Iterator[dict[str, object]]:
    """Yield the values of a note where forwarding does harm, as it does with fast circuits."""
    circuits_s = one.circuits_s
    fast_s = min(at for relayed, at in circuits_s if (not relayed, at) in circuits_s)
    more = circuits_s[True, fast_s] / circuits_s[False, fast_s] - 1
    if more > 0.02:
        yield {
            "model": MODEL_TITLES[one.model],
            "degree": one.degree,
            "fast": format_time(fast_s),
            "more": more,
        }
