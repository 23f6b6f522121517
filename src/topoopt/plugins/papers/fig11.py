"""Figure 11: six models, each on a dedicated cluster of 128 servers, on every fabric, over interface bandwidth."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from statistics import mean

from topoopt.base.answers import Progress
from topoopt.base.units import format_bandwidth
from topoopt.catalog import ClusterSpec, sizings_of
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import Job, job_traffic
from topoopt.pages import Chart, LineChart, Series
from topoopt.plans import Outcome
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.plugins.papers.published_jobs import (
    BULK,
    FLUID,
    MODEL_TITLES,
    published_job,
    released_fabric,
    search_options,
    times,
)
from topoopt.pricing import PAPER, Pricing, equivalent_fat_tree, find_prices, published_equivalent_bandwidth
from topoopt.search import Fidelity, compare_job, make_plan, outcome, simulated, starting_strategy

PRICES = "2022"
RELEASED_SERVERS = 128
TOPOOPT, IDEAL, TREE, PRICED_TREE = "topoopt", "ideal-switch", "fat-tree", "fat-tree at list prices"
PACKET_SWITCHED = ("ideal-switch", "fat-tree", "oversub-fat-tree")
CIRCUITS = ("sip-ml", "ocs-reconfig")
DATA_PARALLEL, RELEASED, WIDE = "data-parallel", "released", "default"
"""Strategies: none searched; found by the authors' search; found by our own, which also splits layers."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the figure."""

    model: str
    servers: int
    degree: int
    bandwidth_bps: float


TEXT = description("fig11")


@dataclass(frozen=True, slots=True)
class Fig11Grid:
    """Points of the figure, and the effort of the search.

    Attributes
    ----------
    circuits_bps : tuple of float
        Bandwidths at which the fabrics of changing circuits are simulated, too.
    searched_bps, wide_bps : tuple of float
        Bandwidths at which strategies are searched, by the authors' search and by our own.
    budget, baseline_budget : int
        Proposals for TopoOpt (NCF: twice as many) and for each other fabric.
    """

    models: tuple[str, ...]
    servers: int
    degrees: tuple[int, ...]
    bandwidths_bps: tuple[float, ...]
    circuits_bps: tuple[float, ...]
    searched_bps: tuple[float, ...]
    wide_bps: tuple[float, ...]
    budget: int
    baseline_budget: int


PUBLISHED_BPS = (10e9, 25e9, 40e9, 100e9, 200e9)
QUICK = Fig11Grid(tuple(MODEL_TITLES), 128, (4,), PUBLISHED_BPS, (100e9,), (100e9,), (), 100, 100)
FULL = Fig11Grid(
    tuple(MODEL_TITLES), 128, (4, 8), PUBLISHED_BPS, PUBLISHED_BPS, PUBLISHED_BPS, (10e9, 100e9), 4000, 500
)


def fig11(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the iteration times of the six models on every fabric, and the ratios that the paper quotes."""
    grid = QUICK if settings.quick else FULL
    return fig11_on(grid, settings, on_progress)


def fig11_on(grid: Fig11Grid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the figure over any grid."""
    times = Times(grid, tuple(_rows(grid, settings.seed, on_progress)))
    searched = [
        (name, where) for name, where in ((RELEASED, grid.searched_bps), (WIDE, grid.wide_bps)) if where
    ]
    return TEXT.figure(
        [{**row, "times_topoopt": times.ratio(row)} for row in times.rows],
        [*_released(times), *_quoted(times)],
        [_ratio_chart(times, searched), *_time_charts(times)],
        fluid=FLUID,
        shares=", ".join(_priced_shares(times)),
        searched=[
            {"strategy": name, "who": TEXT.tables["who"][name], "gains": _gains(times, name)}
            for name, _ in searched
        ],
        grid=grid,
        quick=settings.quick,
        circuits=", ".join(CIRCUITS),
    )


@dataclass(frozen=True, eq=False)
class Times:
    """The rows of the figure, and ratios of their iteration times."""

    grid: Fig11Grid
    rows: tuple[Row, ...]

    def where(self, **values: object) -> list[Row]:
        """Return the rows that have these values."""
        return [row for row in self.rows if values.items() <= row.items()]

    def ratio(self, row: Row, under: str = TOPOOPT) -> float:
        """Return a row's time over that of a fabric with the same job, cluster and strategy."""
        same = {key: row[key] for key in ("model", "degree", "bandwidth_bps", "strategy")}
        (other,) = self.where(**same, fabric=under)
        return float(row["iteration_time_s"] / other["iteration_time_s"])

    def mean_ratio(self, model: str, strategy: str, over: str, under: str) -> float:
        """Return the mean over bandwidths at the first degree."""
        same = {"model": model, "degree": self.grid.degrees[0], "strategy": strategy}
        return mean(self.ratio(row, under) for row in self.where(**same, fabric=over))


def _rows(grid: Fig11Grid, seed: int, on_progress: Progress) -> Iterator[Row]:
    points = [
        Point(model, grid.servers, degree, bandwidth_bps)
        for degree in grid.degrees
        for model in grid.models
        for bandwidth_bps in grid.bandwidths_bps
    ]
    for done, point in enumerate(points):
        where = f"d={point.degree}, {format_bandwidth(point.bandwidth_bps)}"
        on_progress(f"fig11: {MODEL_TITLES[point.model]}, {where}", done, len(points))
        yield from data_parallel_rows(point, seed, circuits=point.bandwidth_bps in grid.circuits_bps)
        budget = grid.budget * (2 if point.model == "ncf" else 1)
        for preset, where_bps in ((RELEASED, grid.searched_bps), (WIDE, grid.wide_bps)):
            if point.bandwidth_bps in where_bps:
                yield from searched_rows(point, preset, budget, grid.baseline_budget, seed)


def _released(times: Times) -> Iterator[Comparison]:
    at = {"servers": RELEASED_SERVERS, "bandwidth_bps": 100e9, "fabric": TOPOOPT, "strategy": DATA_PARALLEL}
    for case in TEXT.compared["released"]["published"]:
        model, _, degree = case.rpartition("-d")
        for row in times.where(**at, model=model, degree=int(degree)):
            ours_ms = row["iteration_time_s"] * 1e3
            yield TEXT.comparison("released", ours_ms, case, model=MODEL_TITLES[model], degree=degree)


def _quoted(times: Times) -> Iterator[Comparison]:
    for name, over, under in (("over-fat-tree", TREE, TOPOOPT), ("over-ideal", TOPOOPT, IDEAL)):
        for model in TEXT.compared[name]["published"]:
            if model in times.grid.models:
                ours = times.mean_ratio(model, DATA_PARALLEL, over, under)
                words = {"model": MODEL_TITLES[model], "degree": times.grid.degrees[0]}
                yield TEXT.comparison(name, ours, model, **words)
    trees = times.where(fabric=TREE, strategy=DATA_PARALLEL)
    yield TEXT.comparison("largest", max(map(times.ratio, trees)))


def _ratio_chart(times: Times, searched: list[tuple[str, tuple[float, ...]]]) -> Chart:
    """Return the mean ratio of the fat-tree to TopoOpt for each model, where a strategy is known at all bandwidths."""
    grid = times.grid
    words = tuple(MODEL_TITLES[model] for model in grid.models)
    drawn = [DATA_PARALLEL, *(name for name, where in searched if where == grid.bandwidths_bps)]
    ours = [
        Series(
            TEXT.tables["strategies"][name],
            words,
            tuple(times.mean_ratio(model, name, TREE, TOPOOPT) for model in grid.models),
        )
        for name in drawn
    ]
    memory = tuple(TEXT.compared["over-fat-tree"]["published"][model] for model in grid.models)
    return TEXT.chart("ratios", (), *ours, Series("published (from memory)", words, memory, published=True))


def _time_charts(times: Times) -> Iterator[LineChart]:
    """Yield a chart of iteration times for each model and degree, data parallel."""
    for degree in times.grid.degrees:
        for model in times.grid.models:
            rows = times.where(model=model, degree=degree, strategy=DATA_PARALLEL)
            seconds = [row["iteration_time_s"] for row in rows]
            # Where values are near each other, a logarithmic axis would make mountains of nothing.
            far_apart = max(seconds) > 1.5 * min(seconds)
            words = {"name": model, "model": MODEL_TITLES[model], "degree": degree}
            released = TEXT.compared["released"]["published"].get(f"{model}-d{degree}")
            known = times.grid.servers == RELEASED_SERVERS and released is not None
            theirs = [Series("TopoOpt (published)", (100.0,), (released,), published=True)] if known else []
            chart = TEXT.chart("time", rows, *theirs, **words, servers=times.grid.servers)
            assert isinstance(chart, LineChart)
            yield replace(chart, y_log=far_apart, y_from_zero=not far_apart)


def _gains(times: Times, strategy: str) -> str:
    """Return TopoOpt's gain from a search, where that is more than half a percent."""
    gains = []
    for row in times.where(fabric=TOPOOPT, strategy=strategy):
        same = {key: row[key] for key in ("model", "degree", "bandwidth_bps")}
        (unsearched,) = times.where(**same, fabric=TOPOOPT, strategy=DATA_PARALLEL)
        gain = 1 - row["iteration_time_s"] / unsearched["iteration_time_s"]
        if gain > 0.005:
            where = f"d={row['degree']}, {format_bandwidth(row['bandwidth_bps'])}"
            gains.append(f"{MODEL_TITLES[row['model']]} ({where}) by {gain:.1%}")
    return ", ".join([*gains, "no other by more than 0.5%" if gains else "nowhere by more than 0.5%"])


def _priced_shares(times: Times) -> Iterator[str]:
    """Yield the share of d·B that TopoOpt's price buys on a fat-tree, by bandwidth."""
    first = {"model": times.grid.models[0], "degree": times.grid.degrees[0], "strategy": DATA_PARALLEL}
    for row in times.where(**first, fabric=PRICED_TREE):
        share = row["server_bandwidth_bps"] / (row["degree"] * row["bandwidth_bps"])
        yield f"{share:.2f} at {format_bandwidth(row['bandwidth_bps'])}"


def data_parallel_rows(point: Point, seed: int, *, circuits: bool) -> Iterator[Row]:
    """Yield data parallelism with tables placed in turn, on every fabric; on changing circuits if requested."""
    job = _job(point)
    strategy = starting_strategy(job)
    traffic = job_traffic(job, strategy)
    groups = [group.members for group in traffic.allreduce]
    size = point.servers, point.degree, point.bandwidth_bps
    fabrics = [(TOPOOPT, released_fabric(job, traffic, seed), job.cluster.server_bandwidth_bps)]
    for name, wiring, server_bandwidth_bps in _fabrics(job.cluster, circuits=circuits):
        request = FabricRequest(*size, groups, server_bandwidth_bps=server_bandwidth_bps, seed=seed)
        fabrics.append((name, build_fabric(wiring, request), server_bandwidth_bps))
    for name, fabric, server_bandwidth_bps in fabrics:
        result = outcome(simulated(job, strategy, fabric, "flow", BULK))
        yield _row(point, name, DATA_PARALLEL, server_bandwidth_bps, result)


def _fabrics(cluster: ClusterSpec, *, circuits: bool) -> Iterator[tuple[str, str, float]]:
    """Yield name, wiring and bandwidth of a server of each fabric that TopoOpt is compared with."""
    whole_bps = cluster.server_bandwidth_bps
    size = cluster.degree, cluster.link_bandwidth_bps
    yield IDEAL, IDEAL, whole_bps
    yield TREE, TREE, published_equivalent_bandwidth(*size)
    tree = equivalent_fat_tree(cluster.servers, *size, find_prices(PRICES), PAPER)
    yield PRICED_TREE, TREE, tree.server_bandwidth_bps
    yield "oversub-fat-tree", "oversub-fat-tree", whole_bps
    yield "expander", "expander", whole_bps
    for name in CIRCUITS if circuits else ():
        yield name, name, whole_bps


def searched_rows(point: Point, preset: str, budget: int, baseline_budget: int, seed: int) -> Iterator[Row]:
    """Yield the results of searches for TopoOpt and for each packet-switched fabric."""
    options, job = search_options(preset, budget, baseline_budget, seed), _job(point)
    plans = [make_plan(job, row, fabrics=()) for row in dict.fromkeys((replace(options, budget=0), options))]
    rows = [(plan, simulated(job, plan.strategy, plan.fabric, "flow", BULK)) for plan in plans]
    plan, own = min(rows, key=lambda row: row[1].iteration_time_s)
    yield _row(point, TOPOOPT, preset, job.cluster.server_bandwidth_bps, outcome(own))
    starts = tuple(dict.fromkeys((starting_strategy(job), plan.strategy)))
    for row in compare_job(
        job,
        options,
        sizings_of(PACKET_SWITCHED),
        Pricing(find_prices(PRICES), PAPER),
        starts,
        fidelity=Fidelity("flow", BULK),
    ).rows:
        name = PRICED_TREE if row.rule == "fat-tree-priced" else row.fabric
        yield _row(point, name, preset, row.server_bandwidth_bps, row.outcome)


def _job(point: Point) -> Job:
    return published_job(point.model, point.servers, point.degree, point.bandwidth_bps)


def _row(point: Point, fabric: str, strategy: str, server_bandwidth_bps: float, result: Outcome) -> Row:
    return {
        **asdict(point),
        "fabric": fabric,
        "strategy": strategy,
        "server_bandwidth_bps": server_bandwidth_bps,
        **times(result),
    }
