"""The arguments of ``topoopt cluster run``: the trace or its generator, the cluster, and how it is run."""

from dataclasses import dataclass
from typing import Annotated

from typer import Option

GENERATE, CLUSTER, OPERATION = "Generated trace", "Cluster", "How the cluster is run"


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
