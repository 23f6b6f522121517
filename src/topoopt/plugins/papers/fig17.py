"""Figure 17: circuits that follow the traffic, against how long a change takes, with and without forwarding servers."""

from collections.abc import Iterator
from dataclasses import dataclass

from topoopt.base.progress import Progress
from topoopt.base.units import format_time
from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.jobs import job_traffic
from topoopt.pages import Chart, Series
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.plugins.papers.published_jobs import (
    BULK,
    FLUID,
    MODEL_TITLES,
    published_job,
    released_fabric,
    times,
)
from topoopt.routing import Fabric
from topoopt.search import simulated, starting_strategy

TEXT = description("fig17")
BANDWIDTH_BPS = 100e9
OCS_S = 10e-3
"""A change of a 3D MEMS switch."""


@dataclass(frozen=True, slots=True)
class Fig17Grid:
    """Where the figure is evaluated.

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
QUICK = Fig17Grid(128, ("dlrm", "bert"), (4, 8), DELAYS_S[1:], DELAYS_S[2:])
FULL = Fig17Grid(128, ("dlrm", "bert"), (4, 8), DELAYS_S, DELAYS_S)


def fig17(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return iteration times of DLRM and BERT on OCS-reconfig over its latency, and on TopoOpt."""
    return fig17_on(QUICK if settings.quick else FULL, settings, on_progress)


def fig17_on(grid: Fig17Grid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the figure over any grid."""
    curves: list[LatencyTimes] = []
    cases = [(model, degree) for model in grid.models for degree in grid.degrees]
    for done, (model, degree) in enumerate(cases):
        on_progress(f"fig17: {MODEL_TITLES[model]}, d={degree}", done, len(cases))
        curves.append(LatencyTimes(model, degree, tuple(_rows(grid, model, degree, settings.seed))))
    return TEXT.figure(
        [row for one in curves for row in one.rows],
        [row for one in curves for row in _compared(one)],
        map(_chart, curves),
        fluid=FLUID,
        harm=[words for one in curves for words in _harm(one)],
        quick=settings.quick,
        left_out=", ".join(format_time(at) for at in FULL.delays_s if at not in grid.delays_s),
        relayed_from=format_time(grid.relayed_delays_s[0]),
    )


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


def _rows(grid: Fig17Grid, model: str, degree: int, seed: int) -> Iterator[Row]:
    """Yield TopoOpt, which is wired once, and then circuits by forwarding and latency."""
    job = published_job(model, grid.servers, degree, BANDWIDTH_BPS)
    strategy = starting_strategy(job)
    wired_once = released_fabric(job, job_traffic(job, strategy), seed)
    cases: list[tuple[bool | None, float | None, Fabric]] = [(None, None, wired_once)]
    for relayed in (True, False):
        for delay_s in grid.relayed_delays_s if model == "dlrm" and relayed else grid.delays_s:
            shape = FabricShape(delay_s=delay_s, host_forwarding=relayed)
            request = FabricRequest(grid.servers, degree, BANDWIDTH_BPS, seed=seed, shape=shape)
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
    """Yield what the figure says in words, as ratios."""
    circuits_s, slow_s = one.circuits_s, one.best_s(OCS_S)
    least_s = min(at for _, at in circuits_s)
    fast_s = one.best_s(least_s)
    for name, ours in (
        ("slow", one.once_s / slow_s),
        ("catch-up", max(fast_s / one.once_s - 1, 0.0) / (slow_s / one.once_s - 1)),
        ("fast", fast_s / one.once_s),
        ("forwarding", circuits_s[True, OCS_S] / circuits_s[False, OCS_S]),
    ):
        yield TEXT.comparison(
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
    return TEXT.chart(
        "time",
        one.rows[1:],
        Series("TopoOpt, wired once", ends, (one.once_s * 1e3,) * 2),
        name=one.model,
        model=MODEL_TITLES[one.model],
        degree=one.degree,
        servers=one.rows[0]["servers"],
    )


def _harm(one: LatencyTimes) -> Iterator[dict[str, object]]:
    """Yield the words of a note where forwarding does harm, as it does with fast circuits."""
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
