"""The words of a simulation: which fabric, and what packets do."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypedDict

from topoopt.base.plugins import COLLECTIVES, entry_points
from topoopt.schema.words.word import Amount, Rate, Size, Time, Word, panel


def collective_algorithm_names() -> tuple[str, ...]:
    """Return the names of the collective algorithms: those of the files that declare them, and those of plug-ins."""
    folder = Path(__file__).parents[2] / "collectives" / "algorithms"
    own = sorted(file.stem.replace("_", "-") for file in folder.glob("[!_]*.py"))
    return (*own, *(one.name for one in entry_points(COLLECTIVES)))


COLLECTIVE_FORM = "|".join(("stepped", "bulk", *collective_algorithm_names(), "auto"))
"""The ways in which collectives run."""


@panel("Fabric")
class FabricWords(TypedDict, total=False):
    """What the tasks run on; the job's own fabric where nothing is said."""

    fabric: Annotated[str, Word("NAME|PLAN")]
    """One of {networks of simulate}; or a plan file, for its network. Default: a plan's own, and that of the
    connections in a .fbuf."""
    bandwidth: Rate
    """Of one interface; a server has degree × this on every fabric (a fat-tree, too: it is not divided by 3.2
    here). If not given, the plan's or the file's."""
    degree: int
    """Interfaces of a server. If not given, the plan's; for a .fbuf what the strides take, 1 on switches and
    4 elsewhere."""
    servers: int
    """Servers of the fabric; those that the jobs have."""
    strides: Annotated[str | Sequence[int], Word("1,5,…")]
    """Of the direct-connect fabric topoopt."""
    wiring: Annotated[str | os.PathLike[str], Word("FAMILY|FILE")]
    """Of topoopt in place of strides: lifted, kautz, torus ..., or a wiring file; of a plan, its strategy on it."""
    latency: Time
    """Of one hop; the plan's, or 1us."""
    routing: Annotated[str, Word("RULE")]
    """coin-change, k-shortest, ecmp or single-shortest; coin-change on topoopt, else ecmp."""
    reconfiguration_delay: Time
    """Of a change of circuits; 10ms for ocs-reconfig, 25us for sip-ml, 25ms for mixnet."""
    host_forwarding: bool
    """Whether servers relay on ocs-reconfig; they do."""
    electrical_ports: int
    """Of mixnet: ports of a server on the fat-tree, the others are for circuits; a quarter."""
    region_servers: int
    """Of mixnet: servers that circuits join; regions of 8."""
    circuits: Annotated[str, Word("break|skip|improved")]
    """Of mixnet: circuits are given to the pair that waits longest until that has no port left (break, the
    paper's rule), or until nobody has (skip), or so that an all-to-all ends early (improved)."""
    hiding: Annotated[str, Word("all-but-first|overlapped|none")]
    """Of mixnet: which changes of circuits an all-to-all waits for: an iteration's first alone; what
    computing leaves of each; or all."""
    placement: Annotated[str, Word("contiguous|strided|random")]
    """Of several jobs; contiguous."""


@panel("Packets")
class PacketWords(TypedDict, total=False):
    """What only the packet simulator knows."""

    transport: Annotated[
        str, Word("dctcp|dctcp-rfc8257|reno|cubic|dcqcn|line-rate|mltcp-reno|mltcp-cubic|mltcp-dcqcn")
    ]
    """When to send; dctcp. With an mltcp jobs that share links part by themselves."""
    connections: Annotated[str, Word("new|kept")]
    """What a transfer sends by: a new connection, or that of the one before it, with its window; kept with
    MLTCP, else new."""
    aggressiveness: Annotated[str, Word("SLOPE,INTERCEPT[,FORM]")]
    """Of MLTCP: growth is multiplied by SLOPE x r + INTERCEPT, with r the part of an iteration that is in;
    1.75,0.25; FORM is linear, quadratic or reciprocal."""
    totals: Annotated[str, Word("given|learned")]
    """Of MLTCP: what an iteration has is told to connections, or learned in the first iterations; given."""
    progress_of: Annotated[str, Word("pair|job")]
    """Of MLTCP: whose bytes count, those between two servers or all of a job; pair."""
    compat: Annotated[str, Word("none|flexnetpacket")]
    """With the shortcuts of the authors' simulator, to replay its outputs (the other simulators take over
    those of small AllReduces); none."""
    acks: Annotated[str, Word("free|reverse")]
    """Acknowledgments take no time, or are packets on the way back; free."""
    path_choice: Annotated[str, Word("connection|paths|packet")]
    """Who takes one of several paths: each connection, each part of a cut transfer, or each packet. For flow
    and analytic, too; connection for packets and auto, else packet."""
    recovery: Annotated[str, Word("selective|go-back-n")]
    """What is sent again after a loss: what was lost, or everything from there on; selective."""
    timeout_min: Time
    """Least retransmission timeout; the transport's own."""
    mark: Annotated[float, Word("K")]
    """Queue in packets above which packets are marked, 0 for never; the transport's own."""
    pfc: Annotated[float, Word("PACKETS")]
    """Pause a link when more packets that came by it wait, 0 for never; the transport's own."""
    buffer: Annotated[int, Word("PACKETS")]
    """Room of a queue; without limit."""
    fail_link: Annotated[Sequence[str], Word("A-B@TIME[:TIME]", repeated=True)]
    """Cut the cable between two nodes at a time, mend it at another; may be given several times."""
    memory_limit: Size
    """A run that needs more is refused; 8GB."""


@panel("Several jobs")
class TogetherWords(TypedDict, total=False):
    """How long jobs share a fabric, and when each begins."""

    iterations: Annotated[int, Word("N")]
    """Of every job, each with its time; as many as fit into the slowest job's first."""
    begin: Annotated[str | Sequence[Amount], Word("TIME,TIME,…")]
    """When each job begins, such as its time shift; all at once."""
    sharing: Annotated[str, Word("fair|mltcp")]
    """Of links in the flow simulator: equal shares, or each job weighs MLTCP's F of what it has sent of its
    iteration; fair. Packets have mltcp-reno among their transports."""


class SimulationWords(FabricWords, PacketWords, TogetherWords, total=False):
    """All words about fabric and packets that :func:`topoopt.simulate` takes."""
