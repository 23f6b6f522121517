"""MixNet's evaluation: mixtures of experts on a fat-tree, on regional circuits, on rails, and on TopoOpt wired once."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from topoopt.report import BarChart, LineChart, Series
from topoopt.reproduction.figure import Comparison, Figure, Progress, StudySettings
from topoopt.reproduction.mixnet_jobs import ACCELERATORS, FABRICS, JOBS, MICRO_BATCHES, PUBLISHED
from topoopt.reproduction.mixnet_loads import (
    EVEN,
    FOLLOWED,
    IMPROVED,
    PREDICTED,
    WIRED_ONCE,
    ZIPF,
    LoadsPoint,
    loads_points,
)
from topoopt.reproduction.mixnet_points import (
    AT_400G,
    VARIANTS,
    MixnetPoint,
    find_point,
    mixnet_points,
    reference_s,
)

TITLE = "Mixtures of experts on circuits that follow them: fat-tree, MixNet, rail and TopoOpt wired once"
ORIGIN = "MixNet (SIGCOMM 2025), normalized iteration times"
TITLES = {"fat-tree": "fat-tree", "mixnet": "MixNet", "rail": "rail-optimized", "topoopt": "TopoOpt"}


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
    points: list[MixnetPoint] = []
    for done, (name, bandwidth_bps) in enumerate(grid.cases):
        on_progress(f"mixnet: {JOBS[name].title} at {bandwidth_bps / 1e9:g} Gb/s", done, len(grid.cases) + 1)
        points += mixnet_points(
            name, bandwidth_bps, VARIANTS if bandwidth_bps in grid.variants_at_bps else ()
        )
    on_progress("mixnet: loads that change", len(grid.cases), len(grid.cases) + 1)
    job = JOBS["mixtral-8x22b"]
    loads = list(loads_points(job, AT_400G, grid.iterations, grid.every, settings.seed))
    return Figure(
        "mixnet",
        TITLE,
        (*(_row(point, points) for point in points), *(_loads_row(one) for one in loads)),
        tuple(_compared(points)),
        tuple(_charts(points, loads)),
        _notes(points, loads),
    )


def _row(one: MixnetPoint, points: list[MixnetPoint]) -> dict[str, object]:
    published = dict(zip(FABRICS, PUBLISHED.get((one.model, one.bandwidth_bps), ()), strict=False))
    return {
        **asdict(one),
        "normalized": one.iteration_time_s / reference_s(points, one),
        "published_normalized": published.get(one.fabric) if not one.circuits else None,
        "training_iteration": None,
        "exchange_time_s": None,
    }


def _loads_row(one: LoadsPoint) -> dict[str, object]:
    return {
        "model": "mixtral-8x22b",
        "bandwidth_bps": AT_400G,
        "fabric": "fat-tree" if one.circuits == "fat-tree" else "mixnet",
        "circuits": one.circuits,
        "iteration_time_s": None,
        "compute_time_s": None,
        "bandwidth_tax": None,
        "normalized": None,
        "published_normalized": None,
        "training_iteration": one.training_iteration,
        "exchange_time_s": one.exchange_time_s,
    }


WHY = {
    "fat-tree": "Our job is cut by our own count of micro-batches and timed by our calibration, so that computing and "
    "communication stand in another proportion.",
    "mixnet": "As for the fat-tree; besides, gradients have the two electrical NICs alone, an even all-to-all has 7 of "
    "8 NICs at work, and every stage waits for its first change of circuits in turn.",
    "rail": "A rail is as good as a fat-tree here: servers pass bytes from NIC to NIC inside. The paper's rails lose "
    "where members of an all-to-all are on different rails.",
    "topoopt": "Algorithm 1 gives nearly all NICs to the all-to-all, and pipeline neighbors are relayed along one "
    "ring; by the authors' released rule all NICs are on rings. Which of the two the paper took is not known to us.",
}
"""Why ours differ from the published ones, by fabric."""


def _compared(points: list[MixnetPoint]) -> Iterator[Comparison]:
    for (name, bandwidth_bps), published in PUBLISHED.items():
        if not any((one.model, one.bandwidth_bps) == (name, bandwidth_bps) for one in points):
            continue
        by_rail = name == "mixtral-8x22b"
        over = "rail at 800 Gb/s" if by_rail else "the fat-tree"
        for fabric, normalized in zip(FABRICS, published, strict=True):
            one = find_point(points, name, bandwidth_bps, fabric)
            if by_rail or fabric != "fat-tree":
                yield Comparison(
                    f"{_case(one)}: {TITLES[fabric]} over {over}",
                    "",
                    one.iteration_time_s / reference_s(points, one),
                    normalized if by_rail else normalized / published[0],
                    normalized if by_rail else normalized / published[0],
                    None,
                    ORIGIN,
                    WHY[fabric],
                )
    yield from _order(points)


def _order(points: list[MixnetPoint]) -> Iterator[Comparison]:
    """Yield that TopoOpt is the slowest on LLaMA-MoE, whichever way it is wired."""
    if not any(one.model == "llama-moe" for one in points):
        return
    published = dict(zip(FABRICS, PUBLISHED["llama-moe", AT_400G], strict=True))
    wired = [find_point(points, "llama-moe", AT_400G, name) for name in ("topoopt", "topoopt-released")]
    for other in ("fat-tree", "mixnet"):
        yield Comparison(
            f"{_case(wired[0])}: {TITLES[other]} over TopoOpt, however it is wired, at most 1",
            "",
            find_point(points, "llama-moe", AT_400G, other).iteration_time_s
            / min(one.iteration_time_s for one in wired),
            0.0,
            1.0,
            0.0,
            f"{ORIGIN}: {published[other] / published['topoopt']:.3f}; TopoOpt is the slower one",
        )


def _case(one: MixnetPoint) -> str:
    return f"{JOBS[one.model].title}, {one.bandwidth_bps / 1e9:g} Gb/s"


def _charts(points: list[MixnetPoint], loads: list[LoadsPoint]) -> Iterator[BarChart | LineChart]:
    for name in dict.fromkeys(one.model for one in points):
        at = sorted({one.bandwidth_bps for one in points if one.model == name})
        words = tuple(f"{bandwidth_bps / 1e9:g}" for bandwidth_bps in at)
        series = tuple(
            Series(
                TITLES[fabric],
                words,
                tuple(
                    find_point(points, name, bandwidth_bps, fabric).iteration_time_s for bandwidth_bps in at
                ),
            )
            for fabric in FABRICS
        )
        yield BarChart(
            f"mixnet-{name}",
            f"{JOBS[name].title}, {ACCELERATORS} accelerators",
            "bandwidth of a NIC, Gb/s",
            "iteration time, s",
            series,
        )
    lines = []
    for name in dict.fromkeys(one.circuits for one in loads):
        rows = [one for one in loads if one.circuits == name]
        x = tuple(str(one.training_iteration) for one in rows)
        lines.append(Series(name, x, tuple(one.exchange_time_s * 1e3 for one in rows)))
    yield LineChart(
        "mixnet-loads",
        "Mixtral 8×22B, 400 Gb/s: an all-to-all while loads change",
        "iteration of training",
        "all-to-all of a layer, ms",
        tuple(lines),
        y_from_zero=True,
    )


def _notes(points: list[MixnetPoint], loads: list[LoadsPoint]) -> tuple[str, ...]:
    slow = max((one for one in points if one.fabric == "topoopt"), key=lambda one: one.bandwidth_tax)
    return (
        f"{ACCELERATORS} H100 in servers of 8 with 900 GB/s inside, 8 NICs a server, sequences of 4096, micro-batches "
        f"of 8, {MICRO_BATCHES} of them a replica (our choice); computing by the calibration of H100, one iteration by "
        "the flow simulator, an AllReduce as one flow for all its rounds. Degrees as published (EP8 TP8 PP8, "
        "EP16 TP1 PP4, …); experts of Mixtral are cut like the rest of a layer, so that an all-to-all spans 8 servers.",
        "MixNet: 2 electrical and 6 optical NICs, regions of 8 servers, 25 ms a change, of which only the first of an "
        "iteration is waited for; greedy circuits; pairs without one on the electrical fabric, and everything that is "
        "no all-to-all. Fat-tree and rail have all 8 NICs without oversubscription. Expert loads are even.",
        "TopoOpt: Algorithm 1 for the traffic of the whole iteration, wired once. Its largest bandwidth tax is "
        f"{slow.bandwidth_tax:.2f} ({JOBS[slow.model].title}): the NICs go to the pairs of the all-to-all, and servers "
        "relay what pipeline neighbors send each other over the one ring that is left.",
        *_notes_on_loads(loads),
        "The paper's batch, its micro-batches and which TopoOpt it ran are not known to us; nothing was tuned.",
    )


def _notes_on_loads(loads: list[LoadsPoint]) -> tuple[str, ...]:
    ms = {(one.training_iteration, one.circuits): one.exchange_time_s * 1e3 for one in loads}
    last = max(one.training_iteration for one in loads)
    kept, followed = ms[last, WIRED_ONCE], ms[last, FOLLOWED]
    return (
        f"Loads that change: Zipf's law of exponent {ZIPF:g} at the start, wandering and growing even over training "
        f"(a process of ours). In iteration {last} an all-to-all takes {followed:.2f} ms on greedy circuits that "
        f"follow the loads, {ms[last, PREDICTED]:.2f} ms where they are predicted, and {kept:.2f} ms on circuits of "
        "iteration 0: MixNet follows, what is wired once does not.",
        "But while every server sends to the experts by the same shares, greedy circuits lose to even ones: "
        f"{ms[last, EVEN]:.2f} ms on even circuits, {ms[last, IMPROVED]:.2f} ms on those improved by exchanges (ours), "
        f"{ms[last, 'fat-tree']:.2f} ms on the fat-tree. The greedy rule spends the ports of busy servers first and "
        "leaves pairs of idle ones to two electrical ports.",
    )
