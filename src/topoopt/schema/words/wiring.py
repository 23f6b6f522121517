"""The words of a fabric: the search for a wiring, and the simulation of a job on it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypedDict

from topoopt.base.plugins import COLLECTIVES, entry_points
from topoopt.schema.words.arguments import Amount, Rate, Size, Switch, Time, Word, panel


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
    """Network to simulate: {networks of simulate}; or a plan file, for its network (default: that of the plan, or
    the connections in a .fbuf)."""
    bandwidth: Rate
    """Bandwidth per interface; a server has degree × this on every fabric, a fat-tree included, where it is not
    divided by 3.2 (default: that of the plan or file)."""
    degree: int
    """Interfaces per server (default: the plan's; for a .fbuf what the strides need, 1 on switches and 4
    elsewhere)."""
    servers: int
    """Number of servers of the fabric (default: those of the jobs)."""
    strides: Annotated[str | Sequence[int], Word("1,5,…")]
    """Strides of the direct-connect fabric topoopt."""
    wiring: Annotated[str | os.PathLike[str], Word("FAMILY|FILE")]
    """Wiring of topoopt instead of strides: a family such as lifted, kautz or torus, or a wiring file; a plan's
    strategy is kept on it."""
    latency: Time
    """Latency per hop (default: the plan's, or 1us)."""
    routing: Annotated[str, Word("RULE")]
    """Routing: coin-change, k-shortest, ecmp or single-shortest (default: coin-change on topoopt, else ecmp)."""
    reconfiguration_delay: Time
    """Time to reconfigure circuits (default: 10ms for ocs-reconfig, 25us for sip-ml, 25ms for mixnet)."""
    host_forwarding: bool
    """Whether servers forward traffic on ocs-reconfig (default: they do)."""
    electrical_ports: int
    """Ports per server on mixnet's fat-tree; the rest are for circuits (default: a quarter)."""
    region_servers: int
    """Servers per region of mixnet, which circuits connect (default 8)."""
    circuits: Annotated[str, Word("break|skip|improved")]
    """Rule by which mixnet assigns circuits: to the pair that waits longest, until that pair has no free port
    (break, the paper's rule), until no pair has one (skip), or so that all-to-alls end earlier (improved)."""
    hiding: Annotated[str, Word("all-but-first|overlapped|none")]
    """Reconfigurations for which a mixnet all-to-all waits: only the first of an iteration, what computation does
    not hide of each, or all of each."""
    placement: Annotated[str, Word("contiguous|strided|random")]
    """Placement of several jobs on servers (default contiguous)."""


@panel("Packets")
class PacketWords(TypedDict, total=False):
    """What only the packet simulator knows."""

    transport: Annotated[
        str, Word("dctcp|dctcp-rfc8257|reno|cubic|dcqcn|line-rate|mltcp-reno|mltcp-cubic|mltcp-dcqcn")
    ]
    """Transport protocol (default dctcp). With an mltcp transport, jobs that share links interleave by
    themselves."""
    connections: Annotated[str, Word("new|kept")]
    """Whether each transfer opens a new connection, or continues the previous one between its servers with its
    congestion window (default: kept with MLTCP, else new)."""
    aggressiveness: Annotated[str, Word("SLOPE,INTERCEPT[,FORM]")]
    """MLTCP's aggressiveness: window growth is multiplied by SLOPE x r + INTERCEPT, with r the share of the
    iteration's bytes that is sent; FORM is linear, quadratic or reciprocal (default 1.75,0.25,linear)."""
    totals: Annotated[str, Word("given|learned")]
    """Whether MLTCP connections are given the bytes of an iteration, or learn them in the first iterations
    (default given)."""
    progress_of: Annotated[str, Word("pair|job")]
    """Whether MLTCP counts the bytes of a pair of servers or of the whole job (default pair)."""
    compat: Annotated[str, Word("none|flexnetpacket")]
    """Replay the authors' packet simulator with its simplifications; the other simulators adopt its rule for small
    AllReduces (default none)."""
    acks: Annotated[str, Word("free|reverse")]
    """Acknowledgments arrive at once, or are packets on the reverse path (default free)."""
    path_choice: Annotated[str, Word("connection|paths|packet")]
    """Path selection per connection, per part of a transfer that is split over paths, or per packet (spraying);
    for flow and analytic, too (default: connection for packet and auto, else packet)."""
    recovery: Annotated[str, Word("selective|go-back-n")]
    """Loss recovery: resend lost packets only, or everything from the first lost one (default selective)."""
    timeout_min: Time
    """Minimum retransmission timeout (default: the transport's)."""
    mark: Annotated[float, Word("K")]
    """ECN marking threshold of a queue in packets; 0 for no marking (default: the transport's)."""
    pfc: Annotated[float, Word("PACKETS")]
    """Priority flow control: pause an incoming link when more of its packets are queued; 0 for never (default: the
    transport's)."""
    buffer: Annotated[int, Word("PACKETS")]
    """Queue capacity in packets (default: unlimited)."""
    fail_link: Annotated[Sequence[str], Word("A-B@TIME[:TIME]", repeated=True)]
    """Cut the cable between two nodes at a time, and repair it at another; can be repeated."""
    memory_limit: Size
    """Refuse a run that needs more memory (default 8GB)."""


@panel("Flows")
class FlowWords(TypedDict, total=False):
    """Options of the flow simulator."""

    tolerance: Annotated[float, Word("SHARE")]
    """Share of the elapsed time within which changes are handled together, all else exact; 0 is exact (default: 0 up
    to 2,000 flows; beyond, 3e-4 or less, and of more than 100,000 a link's fair share stays until it is off by 2%)."""


@panel("Several jobs")
class TogetherWords(TypedDict, total=False):
    """How long jobs share a fabric, and when each begins."""

    iterations: Annotated[int, Word("N")]
    """Iterations of every job, each with its time (default: as many as fit into the slowest job's first
    iteration)."""
    begin: Annotated[str | Sequence[Amount], Word("TIME,TIME,…")]
    """Start time of each job, such as its time shift (default: all at once)."""
    sharing: Annotated[str, Word("fair|mltcp")]
    """Sharing of links among jobs in the flow simulator: equal, or weighted by MLTCP's aggressiveness (default fair).
    The packet simulator has MLTCP among its transports."""


@panel("Servers of a workload of SimAI")
class WorkloadWords(TypedDict, total=False):
    """Servers of the accelerators in a workload of SimAI; all other files say theirs."""

    accelerators_per_server: int
    """Accelerators per server; without it, a workload is refused."""
    accelerator: Annotated[str, Word("NAME")]
    """Accelerator, for the bandwidth inside servers (default a100)."""
    intra_server_bandwidth: Rate
    """Scale-up bandwidth per accelerator (default: the catalogue's)."""


class SimulationWords(FabricWords, PacketWords, FlowWords, TogetherWords, WorkloadWords, total=False):
    """All words about fabric and packets that :func:`topoopt.simulate` takes."""


@panel("Forwarding")
class ForwardingWords(TypedDict, total=False):
    """How servers forward."""

    paths: Annotated[str, Word("hashed|pinned", "hashed")]
    """Connections of a pair are hashed over its paths by weight, or each path has its own address."""
    identity_prefix: Annotated[str, Word("PREFIX", "10.99.0.0/16")]
    """Address block of the servers."""
    link_prefix: Annotated[str, Word("PREFIX", "10.9.0.0/16")]
    """Address block of the link ends, two addresses per cable."""


@panel("Wiring")
class CollectiveWiringWords(TypedDict, total=False):
    """Who is joined with whom."""

    servers: int
    """Number of servers (default: those of the ``wiring`` file)."""
    degree: int
    """Ports per server (default 4, or those of the strides or file)."""
    wiring: Annotated[str | os.PathLike[str], Word("NAME|FILE")]
    """Wiring family: best, circulant, lifted, kautz, de-bruijn, product, line-graph, torus, twisted-torus,
    complete-bipartite, slim-fly, lps, expander, full-mesh; or a file: from topoopt topology, a list of links (two
    servers per line, or node-link JSON), or a plan (default: rings of strides)."""
    strides: Annotated[str | Sequence[int], Word("LIST")]
    """Strides: server i is connected to i + p for each stride p, such as 1,15."""
    links: Annotated[str, Word("duplex|directed")]
    """duplex: a port is a fiber pair to one neighbor; directed: it sends to one and receives from another
    (default: duplex, or as the file says)."""
    bandwidth: Rate
    """Bandwidth per port (default 100Gbps)."""
    seed: int
    """Random seed of the search for lifted wirings (default 0)."""


@panel("Accelerators")
class CollectiveRankWords(TypedDict, total=False):
    """Ranks on accelerators, as in nccl-tests, in place of a wiring of servers."""

    accelerators: int
    """Number of accelerators, with one rank each; servers are filled in order."""
    accelerator: Annotated[str, Word("NAME")]
    """Accelerator, as topoopt hardware lists it (default h100)."""
    accelerators_per_server: int
    """Accelerators per server (default: the catalogue's)."""
    network_bandwidth: Rate
    """Bandwidth of one accelerator's NIC, each way (default: that of the reference system)."""
    fabric: Annotated[str, Word("ideal-switch|rail|fat-tree", "ideal-switch")]
    """Network between the servers. The time is the same on all of them: each gives every accelerator the full rate
    of its NIC."""
    nvls: Switch
    """Let NVSwitches reduce inside servers (NVLink SHARP)."""
    one_shot: Switch
    """Let kernels of inference engines reduce inside a server where they are faster than NCCL, as topoopt serving does:
    each rank reads the memory of the others."""
    runs: Annotated[str | os.PathLike[str], Word("FILE.csv")]
    """Measured collectives (nccl-tests), each with its prediction. Takes no other options."""


class CollectiveWords(CollectiveWiringWords, CollectiveRankWords, total=False):
    """All words that :func:`topoopt.collective` takes beside the operation and its bytes."""

    schedule: Annotated[str, Word("|".join(("best", *collective_algorithm_names(), "direct")), "best")]
    """Algorithm. best: the fastest for this size; bfb: breadth-first broadcast; tree: double binary tree. An
    all-to-all has direct and pairwise. multi-ring, hierarchical and parameter-server are compared only if
    named."""
    alpha: Annotated[Amount, Word("TIME", "1us")]
    """Latency per step."""


@panel("Wirings")
class WiringWords(TypedDict, total=False):
    """Which wirings are looked at."""

    wirings: Annotated[str, Word("strides|any")]
    """any: consider every wiring with this number of ports; strides: rings of strides coprime to the number of
    servers (default: any, unless strides are given)."""
    family: Annotated[str, Word("best|NAME")]
    """Wiring family: best, circulant, lifted, kautz, de-bruijn, product, line-graph, torus, twisted-torus,
    complete-bipartite, slim-fly, lps or expander (default best)."""
    objective: Annotated[str, Word("hops|balanced")]
    """Minimize the mean hop count, or the maximum link load of an all-to-all (default hops)."""
    ring_group: int
    """Build one factor from rings of this many consecutive servers, instead of one ring of all."""
    seed: int
    """Random seed; the same seed gives the same answer (default 0, which starts from the wirings that are
    shipped)."""
    budget: Annotated[float, Word("S")]
    """Search effort in seconds of one core, counted in work done (default 3; 10 for 513 to 8,192 servers; 0 with
    seed 0 where wirings of longer searches are shipped: 8 to 4,096 servers with 3, 4, 6, 8 or 16 duplex ports)."""
