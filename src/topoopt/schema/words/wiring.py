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


@panel("Forwarding")
class ForwardingWords(TypedDict, total=False):
    """How servers forward."""

    paths: Annotated[str, Word("hashed|pinned", "hashed")]
    """Connections of a pair are hashed over its paths, by weights; or each path has an address of its own."""
    identity_prefix: Annotated[str, Word("PREFIX", "10.99.0.0/16")]
    """Addresses of servers, such as 10.99.0.0/16."""
    link_prefix: Annotated[str, Word("PREFIX", "10.9.0.0/16")]
    """Addresses of the ends of links, two for each cable."""


@panel("Wiring")
class CollectiveWiringWords(TypedDict, total=False):
    """Who is joined with whom."""

    servers: int
    """Servers; those of the file where ``wiring`` is one."""
    degree: int
    """Ports of a server; 4, or those of the strides or of the file."""
    wiring: Annotated[str | os.PathLike[str], Word("NAME|FILE")]
    """A family: best, circulant, lifted, kautz, de-bruijn, product, line-graph, torus, twisted-torus,
    complete-bipartite, slim-fly, lps, expander, full-mesh; or a file: of topoopt topology, of links (two servers a
    line, or node-link JSON), or a plan. Rings of strides if not given."""
    strides: Annotated[str | Sequence[int], Word("LIST")]
    """Join server i with i + p for each stride p, such as 1,15."""
    links: Annotated[str, Word("duplex|directed")]
    """A port is a fiber pair to one neighbor, or sends to one and hears another; duplex, or as the file says."""
    bandwidth: Rate
    """Of one port; 100Gbps."""
    seed: int
    """Of a search for lifted wirings; 0."""


@panel("Accelerators")
class CollectiveRankWords(TypedDict, total=False):
    """Ranks on accelerators, as in nccl-tests, in place of a wiring of servers."""

    accelerators: int
    """Number of accelerators, with one rank each; servers are filled in order."""
    accelerator: Annotated[str, Word("NAME")]
    """See topoopt hardware; h100."""
    accelerators_per_server: int
    """Accelerators of a server; as many as the catalogue says."""
    network_bandwidth: Rate
    """Rate of one accelerator's NIC, each way; by default that of the reference system."""
    fabric: Annotated[str, Word("ideal-switch|rail|fat-tree", "ideal-switch")]
    """What joins the servers. The time is the same: each gives every accelerator all of its NIC."""
    nvls: Switch
    """NVSwitches reduce inside servers (NVLink SHARP)."""
    one_shot: Switch
    """Also the kernels of inference engines, which read the others' memory inside a server in one round or two, where
    they are faster than NCCL: the AllReduce of topoopt serving."""
    runs: Annotated[str | os.PathLike[str], Word("FILE.csv")]
    """Measured collectives (nccl-tests), each with its prediction. Takes no other options."""


class CollectiveWords(CollectiveWiringWords, CollectiveRankWords, total=False):
    """All words that :func:`topoopt.collective` takes beside the operation and its bytes."""

    schedule: Annotated[str, Word("|".join(("best", *collective_algorithm_names(), "direct")), "best")]
    """best: the quickest for these bytes. bfb: breadth-first broadcast; tree: double binary tree. An all-to-all has
    direct and pairwise. multi-ring, hierarchical and parameter-server are compared only if named."""
    alpha: Annotated[Amount, Word("TIME", "1us")]
    """What each step takes beside its bytes."""


@panel("Wirings")
class WiringWords(TypedDict, total=False):
    """Which wirings are looked at."""

    wirings: Annotated[str, Word("strides|any")]
    """Any wiring of so many ports, or rings of strides coprime to the servers; any where no strides are asked for."""
    family: Annotated[str, Word("best|NAME")]
    """Of any: the best, or circulant, lifted, kautz, de-bruijn, product, line-graph, torus, twisted-torus,
    complete-bipartite, slim-fly, lps, expander; best."""
    objective: Annotated[str, Word("hops|balanced")]
    """Least mean hops, or least load of the fullest link of an all-to-all; hops."""
    ring_group: int
    """One factor is rings of each so many consecutive servers, in place of one ring of all."""
    seed: int
    """Of all chance; 0, which begins with the wirings that are known. Equal seeds give equal answers."""
    budget: Annotated[float, Word("S")]
    """Seconds of search on one core, counted in work done; 3, for 513 to 8,192 servers 10, and none with seed 0 where
    better searches' wirings come with the program: 8 to 4,096 servers of 3, 4, 6, 8 and 16 ports, duplex."""
