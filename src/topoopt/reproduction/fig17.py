"""Figure 17: circuits that follow the traffic, against how long a change takes, with and without forwarding servers."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.job import job_traffic
from topoopt.report import LineChart, Series
from topoopt.reproduction.figure import Comparison, Figure, Progress, StudySettings
from topoopt.reproduction.published_jobs import (
    BULK,
    FLUID,
    MODEL_TITLES,
    published_job,
    released_fabric,
)
from topoopt.search import simulated, starting_strategy
from topoopt.units import format_time

TITLE = "Reconfiguration latency: circuits that follow the traffic against a topology wired once"
MEMORY = "in words only, from memory of the paper, unconfirmed; the range is our reading of them"
BANDWIDTH_BPS = 100e9
OCS_S = 10e-3
"""A change of a 3D MEMS switch."""


@dataclass(frozen=True, slots=True)
class LatencyPoint:
    """One iteration of a model; without ``host_forwarding`` and ``delay_s`` on TopoOpt, wired once."""

    model: str
    servers: int
    degree: int
    fabric: str
    host_forwarding: bool | None
    delay_s: float | None
    iteration_time_s: float
    compute_time_s: float
    bandwidth_tax: float


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

    def delays_of(self, model: str, host_forwarding: bool) -> tuple[float, ...]:
        """Return the latencies of a curve, in ascending order."""
        return self.relayed_delays_s if model == "dlrm" and host_forwarding else self.delays_s


DELAYS_S = (1e-6, 1e-5, 1e-4, 1e-3, OCS_S, 1e-1)
QUICK = Fig17Grid(128, ("dlrm", "bert"), (4, 8), DELAYS_S[1:], DELAYS_S[2:])
FULL = Fig17Grid(128, ("dlrm", "bert"), (4, 8), DELAYS_S, DELAYS_S)


def fig17(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return iteration times of DLRM and BERT on OCS-reconfig over its latency, and on TopoOpt."""
    return fig17_on(QUICK if settings.quick else FULL, settings, on_progress)


def fig17_on(grid: Fig17Grid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the figure over any grid."""
    curves: list[Curves] = []
    cases = [(model, degree) for model in grid.models for degree in grid.degrees]
    for done, (model, degree) in enumerate(cases):
        on_progress(f"fig17: {MODEL_TITLES[model]}, d={degree}", done, len(cases))
        curves.append(_curves(grid, model, degree, settings.seed))
    return Figure(
        "fig17",
        TITLE,
        tuple(row for one in curves for row in one.rows()),
        tuple(row for one in curves for row in _compared(one)),
        tuple(_chart(one) for one in curves),
        _notes(grid, curves, settings),
    )


@dataclass(frozen=True, slots=True)
class Curves:
    """A model at one degree: TopoOpt, and circuits by forwarding and latency."""

    model: str
    degree: int
    once: LatencyPoint
    circuits: dict[tuple[bool, float], LatencyPoint]

    def time_s(self, host_forwarding: bool, delay_s: float) -> float:
        """Return an iteration time on circuits."""
        return self.circuits[host_forwarding, delay_s].iteration_time_s

    def best_s(self, delay_s: float) -> float:
        """Return the iteration time on circuits with or without forwarding, whichever is less."""
        return min(row.iteration_time_s for (_, at), row in self.circuits.items() if at == delay_s)

    def fastest_s(self) -> float:
        """Return the least latency."""
        return min(delay_s for _, delay_s in self.circuits)

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield the rows of the figure's file."""
        for point in (self.once, *self.circuits.values()):
            times = point.iteration_time_s / self.once.iteration_time_s
            yield {**asdict(point), "times_topoopt": times}


def _curves(grid: Fig17Grid, model: str, degree: int, seed: int) -> Curves:
    job = published_job(model, grid.servers, degree, BANDWIDTH_BPS)
    strategy = starting_strategy(job)
    wired_once = released_fabric(job, job_traffic(job, strategy), seed)

    def point(host_forwarding: bool | None, delay_s: float | None) -> LatencyPoint:
        fabric = wired_once
        if delay_s is not None:
            shape = FabricShape(delay_s=delay_s, host_forwarding=host_forwarding)
            fabric = build_fabric(
                "ocs-reconfig", FabricRequest(grid.servers, degree, BANDWIDTH_BPS, seed=seed, shape=shape)
            )
        found = simulated(job, strategy, fabric, "flow", BULK)
        return LatencyPoint(
            model,
            grid.servers,
            degree,
            fabric.name,
            host_forwarding,
            delay_s,
            found.iteration_time_s,
            found.compute_time_s,
            found.bandwidth_tax,
        )

    circuits = {
        (relayed, delay_s): point(relayed, delay_s)
        for relayed in (True, False)
        for delay_s in grid.delays_of(model, relayed)
    }
    return Curves(model, degree, point(None, None), circuits)


def _compared(one: Curves) -> Iterator[Comparison]:
    """Yield what the figure says in words, as ranges of ratios."""
    what = f"{MODEL_TITLES[one.model]}, d={one.degree}"
    once_s, fast_s = one.once.iteration_time_s, one.fastest_s()
    fast, slow = format_time(fast_s), format_time(OCS_S)
    yield Comparison(
        f"{what}: TopoOpt over circuits at {slow}, the better of forwarding or not",
        "",
        once_s / one.best_s(OCS_S),
        0.0,
        0.8,
        0.0,
        f"{MEMORY}: far worse is a quarter more, or beyond",
    )
    yield Comparison(
        f"{what}: of what circuits lose to TopoOpt at {slow}, the share still lost at {fast}",
        "",
        max(one.best_s(fast_s) / once_s - 1, 0.0) / (one.best_s(OCS_S) / once_s - 1),
        0.0,
        0.5,
        0.0,
        f"{MEMORY}: to catch up is to make good a half, or more",
    )
    yield Comparison(
        f"{what}: circuits at {fast} over TopoOpt",
        "",
        one.best_s(fast_s) / once_s,
        1.0,
        1.0,
        None,
        MEMORY,
        "Circuits carry only 80 % of the time at any latency, since they live four times as long as a change takes; "
        "and a ring uses one way of its duplex circuits.",
    )
    yield Comparison(
        f"{what}: circuits at {slow}, with forwarding over without",
        "",
        one.time_s(True, OCS_S) / one.time_s(False, OCS_S),
        0.0,
        1.0,
        0.0,
        f"{MEMORY}: to help is not to be slower",
    )


def _chart(one: Curves) -> LineChart:
    series = []
    for relayed, name in ((True, "circuits, servers forward"), (False, "circuits, no forwarding")):
        points = sorted((at, row) for (by, at), row in one.circuits.items() if by is relayed)
        series.append(
            Series(
                name,
                tuple(at * 1e6 for at, _ in points),
                tuple(row.iteration_time_s * 1e3 for _, row in points),
            )
        )
    ends = min(at for _, at in one.circuits) * 1e6, max(at for _, at in one.circuits) * 1e6
    series.append(Series("TopoOpt, wired once", ends, (one.once.iteration_time_s * 1e3,) * 2))
    return LineChart(
        f"fig17-{one.model}-d{one.degree}",
        f"{MODEL_TITLES[one.model]}, {one.once.servers} servers, d={one.degree}, 100 Gb/s",
        "reconfiguration latency, µs",
        "iteration time, ms",
        tuple(series),
        x_log=True,
        y_log=True,
    )


def _notes(grid: Fig17Grid, curves: list[Curves], settings: StudySettings) -> tuple[str, ...]:
    notes = [
        f"{FLUID} Data parallel, tables placed in turn, embedding activations carried twice; 100 Gb/s an interface.",
        "OCS-reconfig: circuits are chosen greedily for the bytes under way, live four times as long as a change "
        "takes, and carry nothing while they change; the first change begins after a millisecond, or after as "
        "long as a change takes, whichever is less. TopoOpt was wired before the job began.",
        *_harm(curves),
    ]
    if settings.quick:
        slowest = ", ".join(format_time(at) for at in FULL.delays_s if at not in grid.delays_s)
        notes.append(
            f"Quick: without {slowest}, and DLRM with forwarding from {format_time(grid.relayed_delays_s[0])} on "
            "only: ten thousand changes of circuits for 16,000 pairs take minutes each to simulate."
        )
    return tuple(notes)


def _harm(curves: list[Curves]) -> Iterator[str]:
    """Say where forwarding does harm, as it does with fast circuits."""
    for one in curves:
        both = {at for by, at in one.circuits if by} & {at for by, at in one.circuits if not by}
        fast_s = min(both)
        over = one.time_s(True, fast_s) / one.time_s(False, fast_s)
        if over > 1.02:
            yield (
                f"{MODEL_TITLES[one.model]}, d={one.degree}: at {format_time(fast_s)} forwarding makes the iteration "
                f"{over - 1:.0%} longer, for bytes that are relayed take links from those that would have had a "
                "circuit of their own a moment later."
            )
