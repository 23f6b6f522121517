"""The arguments of ``topoopt simulate``: which fabric, what packets do, which files."""

from dataclasses import dataclass
from typing import Annotated

from typer import Option

FABRIC, PACKETS, FILES = "Fabric", "Packets", "Files"


@dataclass(frozen=True, slots=True)
class FabricArguments:
    """What the tasks run on; ``None`` where a flag was not given."""

    fabric: Annotated[
        str | None,
        Option(
            metavar="NAME",
            rich_help_panel=FABRIC,
            help="topoopt, ideal-switch, fat-tree, oversub-fat-tree, rail, expander, torus, full-mesh, sip-ml, "
            "ocs-reconfig or mixnet. If not given, a plan's own, and that of the connections in a .fbuf.",
        ),
    ] = None
    bandwidth: Annotated[
        str | None,
        Option(
            metavar="RATE",
            rich_help_panel=FABRIC,
            help="Of one interface; a server has degree × this on every fabric (a fat-tree, too: it is not divided "
            "by 3.2 here). If not given, the plan's or the file's.",
        ),
    ] = None
    degree: Annotated[
        int | None,
        Option(
            metavar="N",
            rich_help_panel=FABRIC,
            help="Interfaces of a server. If not given, the plan's; for a .fbuf what the strides take, 1 on switches "
            "and 4 elsewhere.",
        ),
    ] = None
    servers: Annotated[
        int | None,
        Option(metavar="N", rich_help_panel=FABRIC, help="Servers of the fabric; those that the jobs have."),
    ] = None
    strides: Annotated[
        str | None,
        Option(metavar="1,5,…", rich_help_panel=FABRIC, help="Of the direct-connect fabric topoopt."),
    ] = None
    latency: Annotated[
        str | None, Option(metavar="TIME", rich_help_panel=FABRIC, help="Of one hop; the plan's, or 1us.")
    ] = None
    routing: Annotated[
        str | None,
        Option(
            metavar="RULE",
            rich_help_panel=FABRIC,
            help="coin-change, k-shortest, ecmp or single-shortest; coin-change on topoopt, else ecmp.",
        ),
    ] = None
    reconfiguration_delay: Annotated[
        str | None,
        Option(
            metavar="TIME",
            rich_help_panel=FABRIC,
            help="Of a change of circuits; 10ms for ocs-reconfig, 25us for sip-ml, 25ms for mixnet.",
        ),
    ] = None
    host_forwarding: Annotated[
        bool | None,
        Option(
            "--host-forwarding/--no-host-forwarding",
            rich_help_panel=FABRIC,
            help="Whether servers relay on ocs-reconfig; they do.",
        ),
    ] = None
    electrical_ports: Annotated[
        int | None,
        Option(
            metavar="N",
            rich_help_panel=FABRIC,
            help="Of mixnet: ports of a server on the fat-tree, the others are for circuits; a quarter.",
        ),
    ] = None
    region_servers: Annotated[
        int | None,
        Option(
            metavar="N", rich_help_panel=FABRIC, help="Of mixnet: servers that circuits join; regions of 8."
        ),
    ] = None
    circuits: Annotated[
        str | None,
        Option(
            metavar="break|skip|improved",
            rich_help_panel=FABRIC,
            help="Of mixnet: circuits are given to the pair that waits longest until that has no port left (break, "
            "the paper's rule), or until nobody has (skip), or so that an all-to-all ends early (improved).",
        ),
    ] = None
    hiding: Annotated[
        str | None,
        Option(
            metavar="all-but-first|overlapped|none",
            rich_help_panel=FABRIC,
            help="Of mixnet: which changes of circuits an all-to-all waits for: an iteration's first alone; what "
            "computing leaves of each; or all.",
        ),
    ] = None
    placement: Annotated[
        str | None,
        Option(
            metavar="contiguous|strided|random",
            rich_help_panel=FABRIC,
            help="Of several jobs; contiguous.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class PacketArguments:
    """What only the packet simulator knows; ``None`` where a flag was not given."""

    transport: Annotated[
        str | None,
        Option(
            metavar="dctcp|dctcp-rfc8257|reno|cubic|dcqcn|line-rate",
            rich_help_panel=PACKETS,
            help="When to send; dctcp.",
        ),
    ] = None
    compat: Annotated[
        str | None,
        Option(
            metavar="none|flexnetpacket",
            rich_help_panel=PACKETS,
            help="With the shortcuts of the authors' simulator, to replay its outputs (the other simulators take "
            "over those of small AllReduces); none.",
        ),
    ] = None
    acks: Annotated[
        str | None,
        Option(
            metavar="free|reverse",
            rich_help_panel=PACKETS,
            help="Acknowledgments take no time, or are packets on the way back; free.",
        ),
    ] = None
    path_choice: Annotated[
        str | None,
        Option(
            metavar="connection|paths|packet",
            rich_help_panel=PACKETS,
            help="Who takes one of several paths: each connection, each part of a cut transfer, or each packet. "
            "For flow and analytic, too; connection for packets and auto, else packet.",
        ),
    ] = None
    recovery: Annotated[
        str | None,
        Option(
            metavar="selective|go-back-n",
            rich_help_panel=PACKETS,
            help="What is sent again after a loss: what was lost, or everything from there on; selective.",
        ),
    ] = None
    timeout_min: Annotated[
        str | None,
        Option(
            metavar="TIME", rich_help_panel=PACKETS, help="Least retransmission timeout; the transport's own."
        ),
    ] = None
    mark: Annotated[
        float | None,
        Option(
            metavar="K",
            rich_help_panel=PACKETS,
            help="Queue in packets above which packets are marked, 0 for never; the transport's own.",
        ),
    ] = None
    pfc: Annotated[
        float | None,
        Option(
            metavar="PACKETS",
            rich_help_panel=PACKETS,
            help="Pause a link when more packets that came by it wait, 0 for never; the transport's own.",
        ),
    ] = None
    buffer: Annotated[
        int | None,
        Option(metavar="PACKETS", rich_help_panel=PACKETS, help="Room of a queue; without limit."),
    ] = None
    fail_link: Annotated[
        list[str] | None,
        Option(
            metavar="A-B@TIME[:TIME]",
            rich_help_panel=PACKETS,
            help="Cut the cable between two nodes at a time, mend it at another; may be given several times.",
        ),
    ] = None
    memory_limit: Annotated[
        str | None,
        Option(metavar="SIZE", rich_help_panel=PACKETS, help="A run that needs more is refused; 8GB."),
    ] = None


@dataclass(frozen=True, slots=True)
class FileArguments:
    """Files to be written."""

    timeline: Annotated[
        str | None, Option(metavar="FILE", rich_help_panel=FILES, help="Who did what when, as CSV.")
    ] = None
    trace: Annotated[
        str | None,
        Option(
            metavar="FILE",
            rich_help_panel=FILES,
            help="The same task by task, as a trace for Perfetto (JSON).",
        ),
    ] = None
    flows: Annotated[
        str | None,
        Option(
            metavar="FILE",
            rich_help_panel=FILES,
            help="Flow completion times, as .csv or .parquet (which needs topoopt\\[parquet]).",
        ),
    ] = None
    links: Annotated[
        str | None,
        Option(metavar="FILE", rich_help_panel=FILES, help="What links and queues saw, likewise."),
    ] = None
    write_fbuf: Annotated[
        str | None,
        Option(
            metavar="FILE",
            rich_help_panel=FILES,
            help="Tasks and fabric as .fbuf or .fbuf.xz, for the authors' simulator to replay.",
        ),
    ] = None
    drop_rings: Annotated[
        bool,
        Option(
            "--drop-rings",
            rich_help_panel=FILES,
            help="Write groups whose rings a .fbuf cannot hold without rings: one along the routes.",
        ),
    ] = False
