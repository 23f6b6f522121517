"""The words of a cluster: the machine and how it is run, and what to draw where there is no trace."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.plan import FinderWords, SearchWords
from topoopt.schema.words.word import Amount, Rate, Switch, Time, Word, panel


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
    """The machine; where nothing is given, the authors' shared cluster of 432 servers."""

    servers: Annotated[int, Word("N", 432)]
    """Servers of the cluster."""
    degree: Annotated[int, Word("N", 8)]
    """Training ports of a server."""
    bandwidth: Annotated[Amount, Word("RATE", "100Gbps")]
    """Of one port."""
    accelerators_per_server: Annotated[int, Word("N", 4)]
    """Accelerators of a server."""
    accelerator: Annotated[str, Word("NAME", "a100")]
    """See topoopt hardware."""
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
    """Switch of topoopt-ocs; see topoopt hardware optical-switches."""
    simulator: Annotated[str, Word("analytic|flow|packet", "analytic")]
    """Of jobs on links of their own; where jobs share links, flows do."""
    weighting: Annotated[str, Word("jobs|iterations", "jobs")]
    """What counts the same in iteration times: each job, as in the paper, or each iteration."""


class ClusterWords(
    GeneratorWords, SharedMachineWords, OperationWords, ScheduleWords, FinderWords, SearchWords, total=False
):
    """All words that ``topoopt.cluster.run`` takes."""
