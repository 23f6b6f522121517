"""The words of interleaving: the link, how finely it is looked at, and what looks."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.word import Amount, Switch, Time, Word, panel


@panel("Jobs")
class SharedLinkWords(TypedDict, total=False):
    """The jobs and their link."""

    communication: Annotated[str | float | Sequence[float], Word("PARTS")]
    """In place of job files: jobs of one period that send for this part of it at the full rate of the link; 0.4 is
    two of them, 0.4,0.3,0.3 is three."""
    period: Annotated[Amount, Word("TIME", "100ms")]
    """Of these jobs."""
    capacity: Annotated[Amount, Word("RATE", "50Gbps")]
    """Of the link."""
    offset: Annotated[float, Word("X", 0.05)]
    """Each job begins so much of the first job's communication after the one before it."""
    noise: Annotated[float, Word("X", 0.0)]
    """Standard deviation of computing times, as a part of them."""
    iterations: Annotated[int, Word("N", 20)]
    """Of every job."""
    seed: Annotated[int, Word("N", 0)]
    """Of all chance."""


@panel("Sharing")
class SharingWords(TypedDict, total=False):
    """How the link is shared."""

    simulator: Annotated[str, Word("fluid|packet", "fluid")]
    """Bytes that flow by weight, or every packet through its queues, by a transport."""
    ways: Annotated[Sequence[str], Word("LIST")]
    """With commas: mltcp, fair, static (unequal weights that stay), cassini (time shifts), ideal (a link each). Of
    packets: transports such as mltcp-reno, mltcp-cubic, mltcp-dcqcn, reno, cubic or dcqcn, then cassini and ideal. All
    if not given, of packets without DCQCN."""
    form: Annotated[str, Word("linear|quadratic|reciprocal", "linear")]
    """Of F, from the intercept where nothing is sent to intercept + slope where all is."""
    slope: Annotated[float, Word("S", 1.75)]
    """Of F; below 0 it decreases."""
    intercept: Annotated[float, Word("I", 0.25)]
    """Of F."""
    learn: Annotated[int, Word("N", 0)]
    """Iterations in which MLTCP learns its totals; 0: they are given."""
    static_part: Annotated[float, Word("X", 0.6)]
    """What a job gets of the link beside the next one in the way static."""


class MltcpWords(SharedLinkWords, SharingWords, total=False):
    """All words that ``topoopt.mltcp.simulate`` takes beside job files."""


class PhasesWords(TypedDict, total=False):
    """All words that :func:`topoopt.phases` takes beside the job."""

    simulator: Annotated[str, Word("analytic|flow|packet", "flow")]
    """Of a plan or task graph: what says when it sends."""
    link: Annotated[str, Word("A-B|NAME|all")]
    """From node A to node B; of counters its name; all: every link that carries something. The busiest out of a
    server if not given."""
    steady_state: Switch
    """Of a plan whose iterations overlap: the mean of those in the middle."""
    iteration_time: Time
    """Of counters: about how long an iteration takes; looked for if not given."""
    tolerance: Annotated[float, Word("SHARE", 0.02)]
    """Of the bytes of an iteration, how many may be said to be sent at another moment, for fewer phases."""
    name: str
    """What the job is called; if not given as its plan or its file."""


class InterleaveWords(TypedDict, total=False):
    """All words that :func:`topoopt.interleave` takes beside the jobs and the capacity of their link."""

    step: Annotated[float, Word("DEG", 5.0)]
    """Degrees between two angles of the circle, at most."""
    solver: Annotated[str, Word("auto|fft|grid|descent|milp", "auto")]
    """What finds the rotations. auto: fft for two jobs, grid while it takes seconds, milp, descent for many."""
    quantum: Annotated[Amount, Word("TIME", "1ms")]
    """Iteration times are rounded to multiples of this, for a common multiple of them to be a short one."""
    seed: Annotated[int, Word("N", 0)]
    """Of the starts of descent."""
