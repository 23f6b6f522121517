"""The words of clusters: machines, traces and schedulers, and jobs that are interleaved on a link."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.arguments import Amount, Rate, Switch, Time, Word, panel
from topoopt.schema.words.plan import FinderWords, SearchWords


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


@panel("Scheduler of single workers")
class ScheduleWords(TypedDict, total=False):
    """Who gets how many workers and where, on a network that jobs share; by default that is cassini-24."""

    scheduler: Annotated[Sequence[str], Word("LIST", commas="names with commas")]
    """With commas, beside each other: themis, pollux, proximity, random, ideal; also themis+cassini, pollux+mltcp. A
    worker is a server of one accelerator, and the servers of a trace are workers."""
    cassini: Switch
    """With all of them but ideal: choose placements by compatibility, and shift jobs in time."""
    merging: Annotated[str, Word("strict|identical|contained", "identical")]
    """With CASSINI, which links count as one: none, and loops of jobs and links discard a placement; those on which the
    same jobs send the same; also those whose jobs all meet on a fuller one."""
    sharing: Annotated[str, Word("fair|mltcp|static", "fair")]
    """How jobs share a link: alike, as MLTCP lets them, or 60 to 40."""
    epoch: Annotated[Amount, Word("TIME", "600s")]
    """After which themis and pollux take all workers back."""
    restart_time: Annotated[Amount, Word("TIME", "0s")]
    """For which a job stands still when its workers change."""
    jitter: Annotated[float, Word("X", 0.0)]
    """Standard deviation of computing, as a part of it."""
    noise_scale: Annotated[float, Word("X", 1.0)]
    """Of gradients, over the batch that a job asks for: what samples of larger batches are worth (assumed)."""


@panel("Generated trace")
class GeneratorWords(TypedDict, total=False):
    """What to draw."""

    generate: Switch
    """Draw the trace by chance; see ``seed``."""
    trace_preset: Annotated[str, Word("mixed|poisson|dynamic|snapshot-1..5")]
    """mixed: language models and mixtures of experts, trained and fine-tuned, beside recommendation, by load and
    horizon or jobs. The others are of CASSINI's evaluation: its models, batches, workers and iterations."""
    jobs: int
    """Jobs; as many as come if not given."""
    at_once: Switch
    """All ``jobs`` come at time 0."""
    load: Annotated[float, Word("X")]
    """Servers asked for over servers of the cluster, averaged over time; 0.8."""
    horizon: Time
    """Jobs come for so long, such as 6h; 24h."""
    mix: Annotated[str, Word("default|released|MODEL=SHARE,…")]
    """default: dlrm=40,bert=30,candle=20,vgg16=10 (from memory of the paper); released: 36, 42, 18, 4 as in
    the authors' trace; transformers may be among them."""
    servers_per_job: int
    """Servers of a job; 16."""
    durations: Annotated[str, Word("lognormal|exponential|fixed")]
    """Their distribution; lognormal."""
    mean_duration: Time
    """Mean, with an ideal switch to themselves; 1h."""
    save_trace: Annotated[str, Word("FILE.csv")]
    """Write what was drawn."""


@panel("Cluster")
class SharedMachineWords(TypedDict, total=False):
    """The machine: the authors' shared cluster, or with transformers the reference system of the accelerator."""

    servers: Annotated[int, Word("N", 432)]
    """Servers of the cluster."""
    degree: int
    """Training ports of a server; 8, with transformers the reference system's."""
    bandwidth: Rate
    """Of one port; 100Gbps, with transformers the reference system's."""
    accelerators_per_server: int
    """Accelerators of a server; 4, with transformers the reference system's."""
    accelerator: Annotated[str, Word("NAME")]
    """See topoopt hardware; a100, with transformers h100."""
    intra_server_bandwidth: Rate
    """Of each accelerator in its server; 200Gbps, for transformers the catalogue's."""
    latency: Annotated[Amount, Word("TIME", "1us")]
    """Of one hop."""
    links: Annotated[str, Word("duplex|directed", "duplex")]
    """See topoopt plan --help."""
    logical_servers: Annotated[int, Word("N", 1)]
    """Divide each server into so many, ports and accelerators evenly; jobs then ask for these."""


@panel("How the cluster is run")
class OperationWords(TypedDict, total=False):
    """How the cluster is run."""

    queue: Annotated[str, Word("fifo|backfill", "fifo")]
    """In order of arrival, or short jobs first where they delay nobody."""
    placement: Annotated[str, Word("contiguous|strided|random", "contiguous")]
    """Which free servers a job gets."""
    look_ahead: Annotated[bool, Word(default=True)]
    """Of topoopt: wire the next job on a second set of panels while the present one runs."""
    move_time: Annotated[Amount, Word("TIME", "30s")]
    """In which one robot moves one fiber (assumed)."""
    hands: Annotated[int, Word("N", 0)]
    """Robots or technicians at a set of panels; 0 for one on each panel."""
    ocs: Annotated[str, Word("NAME", "piezo")]
    """Technology or product of topoopt-ocs; see topoopt hardware optical-switches."""
    simulator: Annotated[str, Word("analytic|flow|packet", "analytic")]
    """Of jobs on links of their own; where jobs share links, flows do."""
    paths: Annotated[str, Word("spread|hashed", "spread")]
    """Paths of a connection where jobs share links: all by weight, as in topoopt compare, or one that switches draw."""
    weighting: Annotated[str, Word("jobs|iterations", "jobs")]
    """What counts the same in iteration times: each job, as in the paper, or each iteration."""


class ClusterWords(
    GeneratorWords, SharedMachineWords, OperationWords, ScheduleWords, FinderWords, SearchWords, total=False
):
    """All words that ``topoopt.cluster.run`` takes."""
