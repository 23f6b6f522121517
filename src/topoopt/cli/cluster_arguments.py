"""The arguments of ``topoopt cluster run``: the trace or its generator, the cluster, and how it is run."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated

from typer import Option

from topoopt.errors import InvalidInput
from topoopt.units import parse_bandwidth, parse_time

if TYPE_CHECKING:
    from topoopt.cluster import ClusterSettings, GeneratorSettings, Trace
    from topoopt.job import JobSettings
    from topoopt.search import SearchOptions

GENERATE, CLUSTER, OPERATION = "Generated trace", "Cluster", "How the cluster is run"
DAY = "24h"


@dataclass(frozen=True, slots=True)
class GeneratorArguments:
    """What to draw; ``None`` where a flag was not given."""

    generate: Annotated[
        bool, Option("--generate", rich_help_panel=GENERATE, help="Draw the trace by chance; see --seed.")
    ] = False
    jobs: Annotated[
        int | None, Option(metavar="N", rich_help_panel=GENERATE, help="Jobs; as many as come if not given.")
    ] = None
    at_once: Annotated[
        bool, Option("--at-once", rich_help_panel=GENERATE, help="All --jobs come at time 0.")
    ] = False
    load: Annotated[
        float | None,
        Option(
            metavar="X",
            rich_help_panel=GENERATE,
            help="Servers asked for over servers of the cluster, averaged over time; 0.8.",
        ),
    ] = None
    horizon: Annotated[
        str | None,
        Option(metavar="TIME", rich_help_panel=GENERATE, help="Jobs come for so long, such as 6h; 24h."),
    ] = None
    mix: Annotated[
        str | None,
        Option(
            metavar="default|released|MODEL=SHARE,…",
            rich_help_panel=GENERATE,
            help="default: dlrm=40,bert=30,candle=20,vgg16=10 (from memory of the paper); "
            "released: 36, 42, 18, 4 as in the authors' trace.",
        ),
    ] = None
    servers_per_job: Annotated[
        int | None, Option(metavar="N", rich_help_panel=GENERATE, help="Servers of a job; 16.")
    ] = None
    durations: Annotated[
        str | None,
        Option(
            metavar="lognormal|exponential|fixed",
            rich_help_panel=GENERATE,
            help="Their distribution; lognormal.",
        ),
    ] = None
    mean_duration: Annotated[
        str | None,
        Option(
            metavar="TIME", rich_help_panel=GENERATE, help="Mean, with an ideal switch to themselves; 1h."
        ),
    ] = None
    save_trace: Annotated[
        str | None, Option(metavar="FILE.csv", rich_help_panel=GENERATE, help="Write what was drawn.")
    ] = None


@dataclass(frozen=True, slots=True)
class ClusterArguments:
    """Servers, links, queue and switching of the cluster."""

    servers: Annotated[int, Option(metavar="N", rich_help_panel=CLUSTER, help="Servers of the cluster.")] = (
        432
    )
    degree: Annotated[
        int, Option(metavar="N", rich_help_panel=CLUSTER, help="Training ports of a server.")
    ] = 8
    bandwidth: Annotated[str, Option(metavar="RATE", rich_help_panel=CLUSTER, help="Of one port.")] = (
        "100Gbps"
    )
    accelerators_per_server: Annotated[
        int, Option(metavar="N", rich_help_panel=CLUSTER, help="Accelerators of a server.")
    ] = 4
    accelerator: Annotated[
        str, Option(metavar="NAME", rich_help_panel=CLUSTER, help="See topoopt hardware.")
    ] = "a100"
    latency: Annotated[str, Option(metavar="TIME", rich_help_panel=CLUSTER, help="Of one hop.")] = "1us"
    links: Annotated[
        str, Option(metavar="duplex|directed", rich_help_panel=CLUSTER, help="See topoopt plan --help.")
    ] = "duplex"
    logical_servers: Annotated[
        int,
        Option(
            metavar="N",
            rich_help_panel=CLUSTER,
            help="Divide each server into so many, ports and accelerators evenly; jobs then ask for these.",
        ),
    ] = 1
    queue: Annotated[
        str,
        Option(
            metavar="fifo|backfill",
            rich_help_panel=OPERATION,
            help="In order of arrival, or short jobs first where they delay nobody.",
        ),
    ] = "fifo"
    placement: Annotated[
        str,
        Option(
            metavar="contiguous|strided|random",
            rich_help_panel=OPERATION,
            help="Which free servers a job gets.",
        ),
    ] = "contiguous"
    look_ahead: Annotated[
        bool,
        Option(
            "--look-ahead/--no-look-ahead",
            rich_help_panel=OPERATION,
            help="Of topoopt: wire the next job on a second set of panels while the present one runs.",
        ),
    ] = True
    move_time: Annotated[
        str,
        Option(
            metavar="TIME", rich_help_panel=OPERATION, help="In which one robot moves one fiber (assumed)."
        ),
    ] = "30s"
    hands: Annotated[
        int,
        Option(
            metavar="N",
            rich_help_panel=OPERATION,
            help="Robots or technicians at a set of panels; 0 for one on each panel.",
        ),
    ] = 0
    ocs: Annotated[
        str,
        Option(
            metavar="NAME",
            rich_help_panel=OPERATION,
            help="Switch of topoopt-ocs; see topoopt hardware optical-switches.",
        ),
    ] = "piezo"
    simulator: Annotated[
        str,
        Option(
            metavar="analytic|flow|packet",
            rich_help_panel=OPERATION,
            help="Of jobs on links of their own; where jobs share links, flows do.",
        ),
    ] = "analytic"
    weighting: Annotated[
        str,
        Option(
            metavar="jobs|iterations",
            rich_help_panel=OPERATION,
            help="What counts the same in iteration times: each job, as in the paper, or each iteration.",
        ),
    ] = "jobs"


def requested_trace(path: str | None, generator: GeneratorArguments, servers: int, seed: int) -> "Trace":
    """Return the trace of a file, or draw one.

    Raises
    ------
    InvalidInput
        If both or neither are asked for, and whatever is wrong with either.
    """
    from topoopt.cluster import generate_trace, read_trace

    if path is not None and generator.generate:
        raise InvalidInput(f"--generate: {path} is a trace already; give a file or --generate, not both")
    if path is None and not generator.generate:
        raise InvalidInput("TRACE.csv: give the file of a trace, or --generate to draw one")
    if path is not None:
        given = [
            item.name for item in fields(generator) if getattr(generator, item.name) not in (None, False)
        ]
        if given:
            flag = "--" + given[0].replace("_", "-")
            raise InvalidInput(f"{flag}: is for --generate; the jobs of {path} are what they are")
        return read_trace(path)
    return generate_trace(_generator(generator, seed), servers)


def _generator(said: GeneratorArguments, seed: int) -> "GeneratorSettings":
    from topoopt.cluster import GeneratorSettings, parse_mix

    if said.jobs is not None and said.jobs < 1:
        raise InvalidInput(f"--jobs: expected an integer >= 1, got {said.jobs}")
    if said.load is not None and not 0 < said.load < float("inf"):
        raise InvalidInput(f"--load: expected a number > 0, such as 0.8, got {said.load:g}")
    if said.at_once and said.jobs is None:
        raise InvalidInput("--at-once: say how many jobs come at once with --jobs")
    for flag, value in (("--load", said.load), ("--horizon", said.horizon)):
        if said.at_once and value is not None:
            raise InvalidInput(f"{flag}: has no meaning with --at-once; leave one of them out")
    if said.jobs is not None and said.horizon is not None:
        raise InvalidInput("--horizon: with --jobs, jobs come until there are so many; leave one of them out")
    return GeneratorSettings(
        jobs=said.jobs or 0,
        load=0.0 if said.at_once else (0.8 if said.load is None else said.load),
        horizon_s=parse_time(said.horizon or DAY, "--horizon"),
        mix=parse_mix(said.mix or "default", "--mix"),
        servers_per_job=16 if said.servers_per_job is None else said.servers_per_job,
        durations=said.durations or "lognormal",
        mean_duration_s=parse_time(said.mean_duration or "1h", "--mean-duration"),
        seed=seed,
    )


def requested_settings(
    said: ClusterArguments, search: "SearchOptions", costs: "JobSettings", prices: str
) -> "ClusterSettings":
    """Return how the cluster is run.

    Raises
    ------
    InvalidInput
        For unknown names and numbers out of range.
    """
    from topoopt.cluster import ClusterSettings, PanelSettings
    from topoopt.hardware import ClusterSpec

    cluster = ClusterSpec(
        servers=said.servers,
        degree=said.degree,
        link_bandwidth_bps=parse_bandwidth(said.bandwidth, "--bandwidth"),
        accelerators_per_server=said.accelerators_per_server,
        accelerator=said.accelerator,
        link_latency_s=parse_time(said.latency, "--latency"),
        links=said.links,
    )
    return ClusterSettings(
        cluster,
        said.logical_servers,
        said.queue,
        said.placement,
        said.weighting,
        PanelSettings(said.look_ahead, parse_time(said.move_time, "--move-time"), said.hands),
        said.ocs,
        search,
        costs,
        said.simulator,
        prices,
    )
