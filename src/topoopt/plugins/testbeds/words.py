"""Options of a testbed: fabric, scale, name."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words import Amount, Word


class TestbedWords(TypedDict, total=False):
    """Fabric, scale and name."""

    __test__ = False  # type: ignore[misc]

    fabric: Annotated[str, Word("NAME", "topoopt")]
    """topoopt: the plan's links; ideal-switch: one switch with d·B per server; fat-tree: d·B/3.2 per server (the
    paper's equal cost); switch: B per server."""
    scale: Annotated[float, Word("N", 1000.0)]
    """Factor by which links are slower than the plan's; unless given, larger where this machine carries less."""
    name: Annotated[str, Word("NAME")]
    """Name of the testbed (default: generated)."""


class TestbedRunWords(TypedDict, total=False):
    """Workload, fabrics and measurement."""

    __test__ = False  # type: ignore[misc]

    workload: Annotated[str, Word("NAME")]
    """plan: the plan's job; allreduce: one AllReduce of all its gradients; dlrm, candle, transformer, vgg, resnet:
    that job of the paper's testbed, data parallel (default: plan, or dlrm without one)."""
    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Networks to measure, with commas: topoopt (the plan's links), ideal-switch (one switch, d·B per server),
    fat-tree (d·B/3.2, the paper's equal cost), switch (B) (default: topoopt,ideal-switch,switch)."""
    scale: Annotated[float, Word("N", 1000.0)]
    """Factor by which links are slower than the plan's; unless given, larger where this machine carries less."""
    iteration_time: Annotated[Amount, Word("TIME", "3s")]
    """Target iteration time on the plan's links; messages are scaled down to reach it."""
    iterations: Annotated[int, Word("N", 3)]
    """Measured iterations, of which the median is reported."""
    warm_up: Annotated[int, Word("N", 1)]
    """Warm-up iterations before those."""
    cut: Annotated[str, Word("A-B@I")]
    """Cut the cable between servers A and B during measured iteration I, counted from 0; the plan's repair
    follows."""
    counters: Annotated[str, Word("FILE")]
    """Write the byte counters of every link of the first network over time as CSV, which topoopt phases reads."""
    simulators: Annotated[Sequence[str], Word("LIST")]
    """Simulators whose times are shown beside the measured ones, with commas: analytic, flow, packet (default:
    all; flow always runs)."""
    name: Annotated[str, Word("NAME")]
    """Name of the testbeds (default: generated)."""


class TestbedShareWords(TypedDict, total=False):
    """Sharing of a link, and measurement."""

    __test__ = False  # type: ignore[misc]

    congestion: Annotated[Sequence[str], Word("LIST")]
    """Congestion controls, with commas, measured one after the other: mltcp (compiled here, and registered while
    the run lasts), reno, cubic (default: reno,mltcp)."""
    cassini: Annotated[bool, Word(default=False)]
    """Run each of them with CASSINI's time shifts, too."""
    runs: Annotated[int, Word("N", 5)]
    """Repetitions, each with new connections."""
    iterations: Annotated[int, Word("N", 12)]
    """Iterations of the longest job per run; the last half counts as steady."""
    capacity: Annotated[Amount, Word("RATE", "50Gbps")]
    """Bandwidth of the link, in the units of the jobs."""
    scale: Annotated[float, Word("N", 500.0)]
    """Factor by which the link is slower here; unless given, larger where this machine carries less."""
    iteration_time: Annotated[Amount, Word("TIME", "2s")]
    """Duration here of the longest iteration with the link to itself; all times are stretched by the same
    factor."""
    queue: Annotated[Amount, Word("SIZE", "20kB")]
    """Queue size before the link; further packets are dropped."""
    connections: Annotated[int, Word("N", 1)]
    """Connections per job."""
    slope: Annotated[float, Word("S", 1.75)]
    """Slope of MLTCP's aggressiveness F, by which windows grow; a negative one decreases."""
    intercept: Annotated[float, Word("I", 0.25)]
    """Intercept of F."""
    by_job: Annotated[bool, Word(default=False)]
    """Count MLTCP's bytes ratio over all connections of a job, not per connection."""
    learn: Annotated[bool, Word(default=False)]
    """Let MLTCP learn the bytes and computation time of a job in the kernel, instead of being given them."""
    attach: Annotated[str, Word("socket|namespace", "socket")]
    """Select the congestion control per socket, or per network namespace of a job."""
    name: Annotated[str, Word("NAME")]
    """Name of the testbed (default: generated)."""
