"""The words of clusters: machines, traces and schedulers, and jobs that are interleaved on a link."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.arguments import Amount, Rate, Switch, Time, Word, panel
from topoopt.schema.words.plan import FinderWords, SearchWords


@panel("Jobs")
class SharedLinkWords(TypedDict, total=False):
    """The jobs and their link."""

    communication: Annotated[str | float | Sequence[float], Word("PARTS")]
    """Instead of job files: jobs with the same period that send at the full link rate for this part of it; 0.4 is
    two such jobs, 0.4,0.3,0.3 is three."""
    period: Annotated[Amount, Word("TIME", "100ms")]
    """Iteration time of these jobs."""
    capacity: Annotated[Amount, Word("RATE", "50Gbps")]
    """Bandwidth of the link."""
    offset: Annotated[float, Word("X", 0.05)]
    """Start of each job after the previous one, as a part of the first job's communication time."""
    noise: Annotated[float, Word("X", 0.0)]
    """Standard deviation of computation times, as a part of them."""
    iterations: Annotated[int, Word("N", 20)]
    """Iterations per job."""
    seed: Annotated[int, Word("N", 0)]
    """Random seed."""


@panel("Sharing")
class SharingWords(TypedDict, total=False):
    """How the link is shared."""

    simulator: Annotated[str, Word("fluid|packet", "fluid")]
    """fluid: rates follow weights; packet: every packet passes its queues under a transport protocol."""
    ways: Annotated[Sequence[str], Word("LIST")]
    """Sharing schemes to compare, with commas: mltcp, fair, static (fixed unequal weights), cassini (time shifts),
    ideal (a link per job); for packets, transports such as mltcp-reno, mltcp-cubic, mltcp-dcqcn, reno, cubic or
    dcqcn, then cassini and ideal (default: all, for packets all but DCQCN)."""
    form: Annotated[str, Word("linear|quadratic|reciprocal", "linear")]
    """Form of MLTCP's aggressiveness F, from the intercept where nothing is sent to intercept + slope where all
    is."""
    slope: Annotated[float, Word("S", 1.75)]
    """Slope of F; a negative one decreases."""
    intercept: Annotated[float, Word("I", 0.25)]
    """Intercept of F."""
    learn: Annotated[int, Word("N", 0)]
    """Iterations in which MLTCP learns the bytes of an iteration; 0: they are given."""
    static_part: Annotated[float, Word("X", 0.6)]
    """Link share of a job against the next one under static sharing."""


class MltcpWords(SharedLinkWords, SharingWords, total=False):
    """All words that ``topoopt.mltcp.simulate`` takes beside job files."""


class PhasesWords(TypedDict, total=False):
    """All words that :func:`topoopt.phases` takes beside the job."""

    simulator: Annotated[str, Word("analytic|flow|packet", "flow")]
    """Simulator that determines when a plan or task graph sends."""
    link: Annotated[str, Word("A-B|NAME|all")]
    """Link to extract: from node A to node B; a counter's name; or all links that carry traffic (default: the
    busiest link out of a server)."""
    steady_state: Switch
    """Take the mean over the middle iterations of a plan whose iterations overlap."""
    iteration_time: Time
    """Approximate iteration time of counter data (default: detected)."""
    tolerance: Annotated[float, Word("SHARE", 0.02)]
    """Share of an iteration's bytes that may be moved in time to get fewer phases."""
    name: str
    """Name of the job (default: that of its plan or file)."""


class InterleaveWords(TypedDict, total=False):
    """All words that :func:`topoopt.interleave` takes beside the jobs and the capacity of their link."""

    step: Annotated[float, Word("DEG", 5.0)]
    """Maximum step between two angles on the circle, in degrees."""
    solver: Annotated[str, Word("auto|fft|grid|descent|milp", "auto")]
    """Solver for the rotations. auto: fft for two jobs, grid while it takes seconds, then milp, and descent for
    many jobs."""
    quantum: Annotated[Amount, Word("TIME", "1ms")]
    """Iteration times are rounded to multiples of this, which keeps their common multiple short."""
    seed: Annotated[int, Word("N", 0)]
    """Random seed of the starting points of descent."""


@panel("Worker scheduler")
class ScheduleWords(TypedDict, total=False):
    """Who gets how many workers and where, on a network that jobs share; by default that is cassini-24."""

    scheduler: Annotated[Sequence[str], Word("LIST", commas="names with commas")]
    """Schedulers to compare, with commas: themis, pollux, proximity, random, ideal; also themis+cassini,
    pollux+mltcp. A worker is a server with one accelerator, and the servers of a trace are workers. The default
    network is cassini-24."""
    cassini: Switch
    """Add CASSINI to every scheduler but ideal: choose placements by compatibility, and shift jobs in time."""
    merging: Annotated[str, Word("strict|identical|contained", "identical")]
    """Merging of links by CASSINI. strict: not at all, and a placement with a loop of jobs and links is discarded;
    identical: links on which the same jobs send the same traffic; contained: also links whose jobs all share a
    busier one."""
    sharing: Annotated[str, Word("fair|mltcp|static", "fair")]
    """Sharing of a link among jobs: equal, by MLTCP, or 60 to 40."""
    epoch: Annotated[Amount, Word("TIME", "600s")]
    """Interval after which themis and pollux reassign all workers."""
    restart_time: Annotated[Amount, Word("TIME", "0s")]
    """Pause of a job when its workers change."""
    jitter: Annotated[float, Word("X", 0.0)]
    """Standard deviation of computation times, as a part of them."""
    noise_scale: Annotated[float, Word("X", 1.0)]
    """Gradient noise scale as a multiple of the requested batch, which determines the value of larger batches
    (assumed)."""


@panel("Generated trace")
class GeneratorWords(TypedDict, total=False):
    """What to draw."""

    generate: Switch
    """Draw a random trace; see ``seed``."""
    trace_preset: Annotated[str, Word("mixed|poisson|dynamic|snapshot-1..5")]
    """mixed: language models and mixtures of experts, pre-trained and fine-tuned, beside recommendation models, by
    load and horizon or number of jobs. The others are of CASSINI's evaluation: its models, batches, workers and
    iterations."""
    jobs: int
    """Number of jobs (default: as many as arrive)."""
    at_once: Switch
    """All ``jobs`` arrive at time 0."""
    load: Annotated[float, Word("X")]
    """Requested servers over servers of the cluster, averaged over time (default 0.8)."""
    horizon: Time
    """Period in which jobs arrive, such as 6h (default 24h)."""
    mix: Annotated[str, Word("default|released|MODEL=SHARE,…")]
    """Mix of models. default: dlrm=40,bert=30,candle=20,vgg16=10 (from memory of the paper); released: 36, 42, 18,
    4 as in the authors' trace; transformers are allowed. Also for the jobs of public traces, which do not say it."""
    servers_per_job: int
    """Servers per job (default 16)."""
    durations: Annotated[str, Word("lognormal|exponential|fixed")]
    """Distribution of job durations (default lognormal)."""
    mean_duration: Time
    """Mean duration of a job that has an ideal switch to itself (default 1h)."""
    save_trace: Annotated[str, Word("FILE.csv")]
    """Write the drawn trace to this file."""


@panel("Cluster")
class SharedMachineWords(TypedDict, total=False):
    """The machine: the authors' shared cluster, or with transformers the reference system of the accelerator."""

    servers: int
    """Number of servers (default 432)."""
    degree: int
    """Training ports per server (default 8; with transformers, the reference system's)."""
    bandwidth: Rate
    """Bandwidth per port (default 100Gbps; with transformers, the reference system's)."""
    accelerators_per_server: int
    """Accelerators per server (default 4; with transformers, the reference system's)."""
    accelerator: Annotated[str, Word("NAME")]
    """Accelerator, as topoopt hardware lists it (default a100; with transformers, h100)."""
    intra_server_bandwidth: Rate
    """Scale-up bandwidth per accelerator (default 200Gbps; for transformers, the catalogue's)."""
    latency: Annotated[Amount, Word("TIME", "1us")]
    """Latency per hop."""
    links: Annotated[str, Word("duplex|directed", "duplex")]
    """duplex: a port is a fiber pair to one neighbor; directed: it sends to one and receives from another."""
    logical_servers: Annotated[int, Word("N", 1)]
    """Logical servers per server, with its ports and accelerators split evenly; jobs then request logical
    servers."""


@panel("Operation")
class OperationWords(TypedDict, total=False):
    """Queueing, placement and fiber moves of a cluster."""

    queue: Annotated[str, Word("fifo|backfill", "fifo")]
    """Queueing discipline: first come, first served, or with short jobs first where they delay no other."""
    placement: Annotated[str, Word("contiguous|strided|random", "contiguous")]
    """Which free servers a job gets."""
    look_ahead: Annotated[bool, Word(default=True)]
    """Wire the next topoopt job on a second set of panels while the present one runs."""
    move_time: Annotated[Amount, Word("TIME", "30s")]
    """Time in which one robot moves one fiber (assumed)."""
    hands: Annotated[int, Word("N", 0)]
    """Robots or technicians per set of panels; 0 for one on each panel."""
    ocs: Annotated[str, Word("NAME", "piezo")]
    """Optical switch technology or product of topoopt-ocs; see topoopt hardware optical-switches."""
    simulator: Annotated[str, Word("analytic|flow|packet", "analytic")]
    """Simulator of jobs that have their links to themselves; jobs that share links are simulated as flows."""
    paths: Annotated[str, Word("spread|hashed", "spread")]
    """Paths of a connection where jobs share links: all of them by weight, as in topoopt compare, or one drawn by
    hashing."""
    weighting: Annotated[str, Word("jobs|iterations", "jobs")]
    """Weight of iteration times in the statistics: equal for each job, as in the paper, or for each iteration."""


class ClusterWords(
    GeneratorWords, SharedMachineWords, OperationWords, ScheduleWords, FinderWords, SearchWords, total=False
):
    """All words that ``topoopt.cluster.run`` takes."""
