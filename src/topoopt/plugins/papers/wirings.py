"""Beyond strides: other wirings of the same ports, by hops, all-to-all, and iterations of jobs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from topoopt.base.answers import Progress, fields_of
from topoopt.base.arrays import Floats
from topoopt.catalog import ClusterSpec
from topoopt.collectives import QUICKEST
from topoopt.finder import STRIDES, USUAL_RULES
from topoopt.jobs import AUTO_BUCKET, Job, JobRequest, JobSettings, job_traffic, make_job
from topoopt.pages import Chart, Series
from topoopt.plans import Outcome
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.plugins.papers.published_jobs import MODEL_TITLES, run_study, study_traffic, times
from topoopt.plugins.papers.wirings_fabrics import (
    DIRECT,
    EXPANDER,
    IDEAL,
    LIFTED,
    TORUS,
    TREE,
    WIRED,
    Size,
    reach,
    wired,
)
from topoopt.routing import Fabric, balanced_routes, link_loads
from topoopt.search import (
    Candidate,
    SearchOptions,
    balanced,
    fixed_fabric,
    for_search,
    job_of,
    make_plan,
    ringed,
    simulated,
    simulated_candidate,
    starting_strategy,
    with_gradients_settled,
)
from topoopt.simulation import SimResult
from topoopt.topologies import moore_average_hops
from topoopt.topologies.wirings import WiringRequest, search_wirings
from topoopt.workloads import ParallelStrategy, Traffic, load_model

EXPERT_TITLES = {"mixtral-8x22b": "Mixtral", "deepseek-v3": "DeepSeek"}
TITLES = {**MODEL_TITLES, **EXPERT_TITLES}
AS_A_PLAN = JobSettings(bucket_bytes=AUTO_BUCKET, collective=QUICKEST)
"""The fastest buckets of gradients and algorithms by message, as in a plan."""
PLANS: Mapping[str, Mapping[str, Any]] = {
    "plan, strides": {"wirings": "strides"},
    "plan, any wiring": {"wirings": "any"},
}
"""Options of the search for plans, by the name of their rows."""
TEXT = description("wirings")


@dataclass(frozen=True, eq=False)
class WiringTimes:
    """The rows of the study."""

    rows: tuple[Row, ...]

    def where(self, **values: object) -> list[Row]:
        """Return the rows that have these values."""
        return [row for row in self.rows if values.items() <= row.items()]

    def time_s(self, like: Row, fabric: str) -> float:
        """Return the iteration time of a row's job on another fabric."""
        same = {key: like[key] for key in ("what", "model", "servers", "degree")}
        (row,) = self.where(**same, fabric=fabric)
        return float(row["iteration_time_s"])

    def with_ratios(self) -> Iterator[Row]:
        """Yield the rows, those of jobs with their times over the ideal switch's and over those of strides."""
        for row in self.rows:
            if "iteration_time_s" not in row:
                yield row
                continue
            time_s = row["iteration_time_s"]
            ratios = (time_s / self.time_s(row, fabric) for fabric in (IDEAL, STRIDES))
            yield {**row, **dict(zip(("over_ideal_switch", "over_strides"), ratios, strict=True))}


@dataclass(frozen=True, slots=True, kw_only=True)
class WiringsGrid:
    """Points of the study.

    Attributes
    ----------
    servers, degrees, bandwidth_bps
        Sizes of the wirings, for the six models.
    batch : int
        Batch per accelerator in the all-to-all study, which has 128 servers; 0 skips it.
    models, experts : tuple of str
        Searched on every wiring at each of ``job_degrees``.
    expert_servers, expert_bps
        Servers and bandwidth for the mixtures of experts.
    planned_degrees : tuple of int
        Degrees at which the jobs are planned as well, which takes longer than everything else.
    budget : int
        Proposals on each wiring.
    search_s : float
        Seconds of search for each lifted wiring; 0 chooses.
    records : tuple of (servers, degree)
        Sizes for which hops of graphs have been published.
    """

    servers: int
    degrees: tuple[int, ...]
    bandwidth_bps: float
    batch: int
    models: tuple[str, ...]
    experts: tuple[str, ...]
    expert_servers: int
    expert_bps: float
    job_degrees: tuple[int, ...]
    planned_degrees: tuple[int, ...]
    budget: int
    search_s: float = 0.0
    records: tuple[tuple[int, int], ...] = ()

    @property
    def jobs(self) -> tuple[tuple[tuple[str, ...], int, float], ...]:
        """Models, servers and bandwidth of an interface of each kind."""
        return (
            (self.models, self.servers, self.bandwidth_bps),
            (self.experts, self.expert_servers, self.expert_bps),
        )


DEGREES = (3, 4, 6, 8)
FULL = WiringsGrid(
    servers=128,
    degrees=DEGREES,
    bandwidth_bps=100e9,
    batch=2048,
    models=tuple(MODEL_TITLES),
    experts=tuple(EXPERT_TITLES),
    expert_servers=64,
    expert_bps=400e9,
    job_degrees=DEGREES,
    planned_degrees=DEGREES,
    budget=1000,
    records=tuple((row["servers"], row["degree"]) for row in TEXT.tables["records"]),
)
QUICK = replace(FULL, job_degrees=(4, 8), planned_degrees=(4,))


def wirings(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return hops, the all-to-all study, six models and two mixtures of experts on each wiring, and their plans."""
    return wirings_on(QUICK if settings.quick else FULL, settings, on_progress)


def wirings_on(grid: WiringsGrid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the figure over any grid."""
    steps = len(grid.degrees) + len(grid.job_degrees) * (len(grid.models) + len(grid.experts))
    done = 0

    def step(what: str) -> None:
        nonlocal done
        on_progress(f"wirings: {what}", done, steps)
        done += 1

    rows: list[Row] = []
    for degree in grid.degrees:
        size = Size(grid.servers, degree, grid.bandwidth_bps, grid.search_s)
        step(f"{size.servers} servers, d={degree}")
        rows += _wiring_rows(size, grid.batch, settings.seed)
    rows += (record_row(servers, degree, settings.seed) for servers, degree in grid.records)
    for degree in grid.job_degrees:
        for models, servers, bandwidth_bps in grid.jobs:
            size = Size(servers, degree, bandwidth_bps, grid.search_s)
            for model in models:
                step(f"{TITLES[model]}, d={degree}")
                rows += _job_rows(model, size, grid, settings.seed)
    return wirings_figure(WiringTimes(tuple(rows)), grid.servers, grid.batch, quick=settings.quick)


def _wiring_rows(size: Size, batch: int, seed: int) -> Iterator[Row]:
    for name in WIRED:
        fabric = wired(name, size, seed)
        if name in DIRECT:
            yield wiring_row(name, fabric, size)
        if batch:
            yield exchange_row(name, fabric, size, batch)


def _job_rows(model: str, size: Size, grid: WiringsGrid, seed: int) -> Iterator[Row]:
    options = SearchOptions(budget=grid.budget, chains=1, seed=seed, processes=1)
    yield from wired_rows(model, size, options)
    if size.degree in grid.planned_degrees:
        yield from (plan_row(model, name, size, seed) for name in PLANS)


def wiring_row(name: str, fabric: Fabric, size: Size) -> Row:
    """Return the figures of a wiring without switches; its all-to-all as in
    :class:`topoopt.topologies.wirings.JudgedWiring`."""
    known = reach(fabric)
    return {
        "what": "wiring",
        "fabric": name,
        **fields_of(size, "servers", "degree"),
        "average_hops": known.hops.average_hops,
        "moore_average_hops": moore_average_hops(size.servers, size.degree),
        "diameter": known.hops.diameter,
        **fields_of(known, "balanced_hops", "broadcast_messages"),
    }


def record_row(servers: int, degree: int, seed: int) -> Row:
    """Return the lifted wiring with the fewest hops, at numbers for which others have published theirs."""
    found = search_wirings(WiringRequest(servers, degree, family=LIFTED, seed=seed))
    return {
        "what": "record",
        "fabric": LIFTED,
        "servers": servers,
        "degree": degree,
        "average_hops": found.chosen.hops.average_hops,
        "moore_average_hops": found.moore_average_hops,
        "diameter": found.chosen.hops.diameter,
    }


def exchange_row(name: str, fabric: Fabric, size: Size, batch: int) -> Row:
    """Return an iteration of DLRM with a table on every server, data parallel, by the flow simulator.

    Transfers are shifted from full links to others of the shortest paths, on all wirings without switches alike.
    """
    before = run_study(batch, fabric)
    result = before
    if name in DIRECT:
        demand = study_traffic(batch).mp_matrix()
        carried: Floats = before.link_bytes - link_loads(fabric.topology, fabric.routes, demand)
        rings_bytes = carried.clip(min=0.0)
        routes = balanced_routes(fabric.topology, demand, fabric.routes, rings_bytes)
        result = run_study(batch, replace(fabric, routes=routes))
    return {
        "what": "all-to-all",
        "fabric": name,
        **fields_of(size, "servers", "degree"),
        "model": "dlrm-alltoall",
        "batch_per_accelerator": batch,
        **times(result),
        "busiest_link_bytes": float(result.link_bytes.max()),
        "mean_link_bytes": float(result.link_bytes.mean()),
        "unbalanced_iteration_time_s": before.iteration_time_s,
    }


def wirings_figure(times: WiringTimes, servers: int, batch: int, *, quick: bool) -> Figure:
    """Return the figure of these rows."""
    rows = tuple(times.with_ratios())
    return TEXT.figure(rows, _compared(times), _charts(rows, servers, batch), quick=quick, batch=batch)


def _compared(times: WiringTimes) -> Iterator[Comparison]:
    """Yield the results of a prototype of the search, records of others, and the lag of fat-tree strides."""
    for entry in TEXT.tables["prototype"]:
        for row in times.where(
            what=entry["what"], fabric=entry["fabric"], degree=entry["degree"], servers=128
        ):
            words = {"fabric": entry["fabric"], "degree": entry["degree"], "published": entry["value"]}
            yield TEXT.comparison(entry["name"], row[entry["column"]] * entry.get("scale", 1), **words)
    for entry in TEXT.tables["records"]:
        size = {"servers": entry["servers"], "degree": entry["degree"]}
        for row in times.where(what="record", **size):
            yield TEXT.comparison("record", row["average_hops"], published=entry["hops"], **size)
    for row in times.where(what="all-to-all", fabric=LIFTED, degree=4):
        tree_s = times.time_s(row, TREE)
        strides = times.time_s(row, STRIDES) / tree_s
        yield TEXT.comparison("over-tree", row["iteration_time_s"] / tree_s, strides=strides)


def _charts(rows: tuple[Row, ...], servers: int, batch: int) -> Iterator[Chart]:
    direct = [row for row in rows if row["what"] == "wiring"]
    moore = {row["degree"]: row["moore_average_hops"] for row in direct}
    bound = Series("Moore's bound", tuple(moore), tuple(moore.values()))
    yield TEXT.chart("hops", direct, bound, servers=servers)
    if batch:
        yield TEXT.chart("exchange", [row for row in rows if row["what"] == "all-to-all"], batch=batch)
    for degree in dict.fromkeys(row["degree"] for row in rows if row["what"] == "job"):
        drawn = [
            {**row, "title": TITLES[row["model"]]}
            for row in rows
            if row["what"] == "job" and row["degree"] == degree and row["fabric"] in (*DIRECT, *PLANS)
        ]
        yield TEXT.chart("jobs", drawn, degree=degree)


@cache
def study_job(model: str, size: Size) -> Job:
    """Return a model of either zoo on ``size``: with four A100 per server, a mixture of experts with eight H100."""
    if model in EXPERT_TITLES:
        cluster = {"servers": size.servers, "degree": size.degree, "link_bandwidth_bps": size.bandwidth_bps}
        return job_of(JobRequest(model=model, cluster=cluster))
    cluster_spec = ClusterSpec(size.servers, size.degree, size.bandwidth_bps)
    return make_job(load_model(model, servers=size.servers), cluster_spec, AS_A_PLAN)


def wired_rows(model: str, size: Size, options: SearchOptions) -> Iterator[Row]:
    """Yield a model on each wiring, with the best of all strategies that were found on any of them.

    Transfers are shifted from full links to other paths on all wirings without switches alike, as a plan's are.
    """
    asked = study_job(model, size)
    job = for_search(asked)
    fabrics = {name: wired(name, size, options.seed) for name in WIRED}
    strategies = _strategies(job, tuple(fabrics.values()), options)
    for name, fabric in fabrics.items():
        best: Candidate | None = None
        for strategy in strategies:
            ready = ringed(job, strategy, fabric, options.seed)
            row = simulated_candidate(job, strategy, ready, USUAL_RULES, simulated(job, strategy, ready))
            best = row if best is None or row.time_s < best.time_s else best
        assert best is not None
        if name in DIRECT:
            best = balanced(job, best)
        _, best, _ = with_gradients_settled(job, asked, best)
        yield _row(model, name, size, job_traffic(job, best.strategy), best.result)


def plan_row(model: str, name: str, size: Size, seed: int) -> Row:
    """Return the plan of a model, whose wiring is chosen with its strategy."""
    options = SearchOptions(seed=seed, processes=1, **PLANS[name])
    # Baselines of the same ports are candidates for a plan of any wiring.
    fabrics = (EXPANDER, TORUS) if options.wirings == "any" else ()
    plan = make_plan(study_job(model, size), options, fabrics=fabrics, weigh_routes=False)
    row = _row(model, name, size, job_traffic(plan.job, plan.strategy), plan.outcome)
    return {**row, "wiring": "" if plan.wiring is None else plan.wiring.family}


def _strategies(job: Job, fabrics: Sequence[Fabric], options: SearchOptions) -> tuple[ParallelStrategy, ...]:
    """Return every layout of a transformer; otherwise the result of a search on each fabric, and its start."""
    layouts = job.work.choices(job.cluster.servers)
    if layouts:
        return tuple(layouts)
    starts = (starting_strategy(job),)
    rngs = (np.random.default_rng(options.seed) for _ in fabrics)
    found = [
        fixed_fabric(job, fabric, options, options.budget, rng, starts).strategy
        for fabric, rng in zip(fabrics, rngs, strict=True)
    ]
    return tuple(dict.fromkeys((*starts, *found)))


def _row(model: str, name: str, size: Size, traffic: Traffic, result: SimResult | Outcome) -> Row:
    return {
        "what": "job",
        "fabric": name,
        **fields_of(size, "servers", "degree"),
        "model": model,
        **times(result),
        **fields_of(traffic, "allreduce_bytes", "mp_bytes"),
    }
