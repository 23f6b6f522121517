"""The words of a testbed: which fabric, how much slower, what it is called."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words import Amount, Word


class TestbedWords(TypedDict, total=False):
    """What is built."""

    __test__ = False  # type: ignore[misc]

    fabric: Annotated[str, Word("NAME", "topoopt")]
    """topoopt: the plan's own links. ideal-switch: one switch, d·B a server. fat-tree: d·B/3.2 (the paper's equal
    cost). switch: B."""
    scale: Annotated[float, Word("N", 1000.0)]
    """Links are so many times slower than those of the plan."""
    name: Annotated[str, Word("NAME")]
    """What it is called; if not given, a name of its own."""


class TestbedRunWords(TypedDict, total=False):
    """What is trained, on what, and how it is measured."""

    __test__ = False  # type: ignore[misc]

    workload: Annotated[str, Word("NAME")]
    """plan: the plan's own job. allreduce: one AllReduce of all it AllReduces. dlrm, candle, transformer, vgg, resnet:
    that job of the paper's testbed, data parallel. If not given plan, or dlrm where there is none."""
    fabrics: Annotated[Sequence[str], Word("LIST")]
    """With commas: topoopt (the plan's own links), ideal-switch (one switch, d·B a server), fat-tree (d·B/3.2, the
    paper's equal cost), switch (B). If not given topoopt,ideal-switch,switch."""
    scale: Annotated[float, Word("N", 1000.0)]
    """Links are so many times slower than those of the plan."""
    iteration_time: Annotated[Amount, Word("TIME", "3s")]
    """How long an iteration on the plan's own links is to last: by so much messages are smaller."""
    iterations: Annotated[int, Word("N", 3)]
    """Of which the median counts."""
    warm_up: Annotated[int, Word("N", 1)]
    """Iterations before those."""
    cut: Annotated[str, Word("A-B@I")]
    """Cut the cable between servers A and B while measured iteration I runs, the first being 0; the plan's repair
    follows."""
    counters: Annotated[str, Word("FILE")]
    """Write what every link of the first fabric had carried by when, as CSV; topoopt phases reads it."""
    simulators: Annotated[Sequence[str], Word("LIST")]
    """With commas, whose times stand beside the measured: analytic, flow, packet; all if not given, flow always."""
    name: Annotated[str, Word("NAME")]
    """What the testbeds are called; if not given, a name of their own."""


class TestbedShareWords(TypedDict, total=False):
    """How jobs share a link, and how it is measured."""

    __test__ = False  # type: ignore[misc]

    congestion: Annotated[Sequence[str], Word("LIST")]
    """With commas, one after the other: mltcp (compiled here, registered for as long as the run lasts), reno, cubic. If
    not given reno,mltcp."""
    cassini: Annotated[bool, Word(default=False)]
    """Run each of them with CASSINI's time shifts, too."""
    runs: Annotated[int, Word("N", 5)]
    """Repetitions, each with new connections."""
    iterations: Annotated[int, Word("N", 12)]
    """Of the longest job in a run; the last half counts as steady."""
    capacity: Annotated[Amount, Word("RATE", "50Gbps")]
    """Of the link, in the units of the jobs."""
    scale: Annotated[float, Word("N", 500.0)]
    """The link is so many times slower here."""
    iteration_time: Annotated[Amount, Word("TIME", "2s")]
    """How long the longest iteration is here, with the link to itself: all times are longer by as much."""
    queue: Annotated[Amount, Word("SIZE", "20kB")]
    """What waits before the link; what comes then is dropped."""
    connections: Annotated[int, Word("N", 1)]
    """Of each job."""
    slope: Annotated[float, Word("S", 1.75)]
    """Of F, by which MLTCP's windows grow; below 0 it decreases."""
    intercept: Annotated[float, Word("I", 0.25)]
    """Of F."""
    by_job: Annotated[bool, Word(default=False)]
    """MLTCP's bytes ratio is that of all connections of a job together, not of each."""
    learn: Annotated[bool, Word(default=False)]
    """MLTCP learns in the kernel what a job sends and how long it computes, and is not told."""
    attach: Annotated[str, Word("socket|namespace", "socket")]
    """Who asks for the congestion control: sockets, each for itself, or the job's network namespace for all."""
    name: Annotated[str, Word("NAME")]
    """What the testbed is called; if not given, a name of its own."""
