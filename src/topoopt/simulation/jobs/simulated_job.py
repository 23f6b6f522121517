"""SimulatedJob (a plan, a FlexNet task graph or Chakra traces) and the fabric that it runs on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topoopt.base.answers import fields_of
from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.base.limits import whole
from topoopt.catalog import DEFAULT_LATENCY_S, NETWORKS, OWN, check_networks, networks_of
from topoopt.collectives import collective_name
from topoopt.finder import FabricRequest, FabricShape, build_fabric, cluster_of_wiring
from topoopt.jobs import scale_up_bandwidth_bps
from topoopt.plans import Plan
from topoopt.routing import ROUTING, Fabric
from topoopt.simulation.chakra import (
    COLLECTIVE_WAY,
    ChakraTraces,
    chakra_task_graph,
    read_chakra,
    workload_traces,
)
from topoopt.simulation.flexnet import FlexNetGraph, flexnet_fabric, flexnet_task_graph, read_fbuf
from topoopt.simulation.task_graph import TaskGraph
from topoopt.topologies import stride_offsets
from topoopt.topologies.wirings import check_bandwidth

PACKED = (".fbuf", ".fbuf.xz")


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedJob:
    """A job and its origin; ``plan`` or ``flexnet`` is there, or neither: traces have no network.

    Attributes
    ----------
    path, name : str
        The file, or ``plan`` where there is none, and the name of the job in tables.
    graph : TaskGraph
        Task graph of one iteration, or of several that overlap.
    collective : str
        Default algorithm of its collectives, a value of ``topoopt simulate --collective``.
    """

    path: str
    name: str
    graph: TaskGraph
    plan: Plan | None = None
    flexnet: FlexNetGraph | None = None
    collective: str = "stepped"


DEFAULT_DEGREE = 4
MOST_SERVERS = 100_000
"""A packet's times are 64 bits of picoseconds; beyond, a simulation could not count."""


@dataclass(frozen=True, slots=True)
class FabricChoice:
    """Requested properties of the fabric; ``None`` for those not requested."""

    fabric: str | None = None
    bandwidth_bps: float | None = None
    degree: int | None = None
    servers: int | None = None
    strides: tuple[int, ...] | None = None
    wiring: str | None = None
    latency_s: float | None = None
    routing: str | None = None
    reconfiguration_delay_s: float | None = None
    host_forwarding: bool | None = None
    electrical_ports: int | None = None
    region_servers: int | None = None
    circuits: str | None = None
    hiding: str | None = None

    def words(self, names: Sequence[str]) -> list[str]:
        """Return the options for those of these fields that are requested."""
        return [_word(name) for name in names if getattr(self, name) is not None]


_REGIONAL_FIELDS = ("electrical_ports", "region_servers", "circuits", "hiding")
_WIRING = (
    *("degree", "servers", "strides", "wiring", "routing", "reconfiguration_delay_s", "host_forwarding"),
    *_REGIONAL_FIELDS,
)
_SETTINGS = {
    "strides": "strides",
    "wiring": "wiring",
    "reconfiguration_delay_s": "delay_s",
    "host_forwarding": "host_forwarding",
    **{name: name for name in _REGIONAL_FIELDS},
}
"""Fields of a choice that only some fabrics take, with their names in a FabricShape."""


def _word(name: str) -> str:
    return name.removesuffix("_bps").removesuffix("_s")


def own_fabric(job: SimulatedJob, choice: FabricChoice) -> Fabric | None:
    """Return the network that the job brings along, unless another one is requested.

    The bandwidth and latency of a FlexNet file's connections can be changed; those of a plan cannot.

    Raises
    ------
    InvalidInput
        If a word is about another fabric, and none is named.
    """
    if job.plan is not None:
        own_name = job.plan.fabric.name
    elif job.flexnet is None:
        own_name = None
    else:
        direct = len(job.flexnet.connections) and not job.flexnet.nswitch
        own_name = OWN if direct else None
    if choice.fabric not in (None, own_name):
        return None
    wired = choice.words(_WIRING)
    if choice.strides is not None or choice.wiring is not None or (wired and choice.fabric is not None):
        return None
    if job.plan is not None:
        wired += choice.words(("bandwidth_bps", "latency_s"))
        if wired and choice.fabric is not None:
            return None
    if wired:
        raise InvalidInput(f"{wired[0]}: {job.path} would run on its own fabric; name one with fabric=NAME")
    if job.plan is not None:
        return job.plan.fabric
    if job.flexnet is None or not len(job.flexnet.connections):
        return None
    latency_s = DEFAULT_LATENCY_S if choice.latency_s is None else choice.latency_s
    return flexnet_fabric(job.flexnet, job.graph.groups, latency_s, choice.bandwidth_bps)


def named_fabric(
    jobs: Sequence[SimulatedJob],
    groups: Sequence[tuple[int, ...]],
    choice: FabricChoice,
    seed: int,
    switches: bool,
) -> Fabric:
    """Return the fabric that is described, large enough for all jobs.

    Parameters
    ----------
    groups : members of each AllReduce group
        Groups in the numbers of the fabric's servers.
    switches : bool
        Whether every switch must be a node of its own.

    Raises
    ------
    InvalidInput
        If no fabric is named and none is implied, or an option does not apply to it.
    """
    if choice.fabric is not None:
        name = choice.fabric
    elif choice.strides is not None or choice.wiring is not None:
        name = OWN
    else:
        flexnet, alone = jobs[0].flexnet, len(jobs) == 1
        if alone and flexnet is not None and flexnet.nswitch == 1:
            name = "ideal-switch"
        else:
            what = f"{jobs[0].path}: holds no connections" if alone else f"{len(jobs)} jobs share one fabric"
            raise InvalidInput(
                f"{what}; name a fabric with fabric=NAME: {', '.join(networks_of('simulate'))}"
            )
    check_networks("fabric", (name,), "simulate")
    shape = _shape(name, choice, switches)
    needed = sum(job.graph.servers for job in jobs)
    servers = needed if choice.servers is None else choice.servers
    if servers > MOST_SERVERS:
        raise InvalidInput(f"servers: expected an integer <= {MOST_SERVERS}, got {servers}")
    if shape.strides and max(shape.strides) >= max(servers, needed):
        listed = ",".join(map(str, shape.strides))
        raise InvalidInput(f'strides: expected numbers of 1..{max(servers, needed) - 1}, got "{listed}"')
    degree = _degree(name, jobs[0], choice, shape, max(servers, needed))
    bandwidth_bps = _bandwidth_bps(jobs[0], choice)
    request = FabricRequest(
        servers,
        degree,
        bandwidth_bps,
        groups,
        latency_s=_latency_s(jobs[0], choice),
        server_bandwidth_bps=degree * bandwidth_bps,
        seed=seed,
        shape=shape,
    )
    return build_fabric(name, request, needed)


def _shape(name: str, choice: FabricChoice, switches: bool) -> FabricShape:
    for field, setting in _SETTINGS.items():
        names = NETWORKS.that(lambda one, setting=setting: setting in one.settings)  # type: ignore[misc]
        if getattr(choice, field) is not None and name not in names:
            known = " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
            raise InvalidInput(f"{_word(field)}: not for the fabric {name}; it is for {known}")
    if choice.routing is not None and choice.routing not in ROUTING:
        raise unknown_name("routing", choice.routing, ROUTING)
    if choice.routing is not None and NETWORKS[name].changes and not NETWORKS[name].switched:
        raise InvalidInput(f"routing: not for the fabric {name}, whose paths change with its circuits")
    return FabricShape(
        switches=switches,
        routing=choice.routing,
        strides=choice.strides or (),
        wiring=choice.wiring or "",
        delay_s=choice.reconfiguration_delay_s,
        host_forwarding=choice.host_forwarding,
        **fields_of(choice, *_REGIONAL_FIELDS),
    )


def _degree(name: str, job: SimulatedJob, choice: FabricChoice, shape: FabricShape, servers: int) -> int:
    if choice.degree is not None:
        return whole("degree", choice.degree, 1)
    if shape.strides:
        return len(stride_offsets(servers, shape.strides, "duplex"))
    if job.plan is not None:
        return job.plan.job.cluster.degree
    if said := _of_wiring(choice).get("degree"):
        return int(said)
    return 1 if NETWORKS[name].trunks else DEFAULT_DEGREE


def _of_wiring(choice: FabricChoice) -> Mapping[str, Any]:
    """Return degree, bandwidth and latency of a wiring file; empty where none is named."""
    return cluster_of_wiring(choice.wiring, choice.degree) if choice.wiring else {}


def _bandwidth_bps(job: SimulatedJob, choice: FabricChoice) -> float:
    said = _of_wiring(choice).get("link_bandwidth_bps")
    check_bandwidth(choice.wiring or "", said, choice.bandwidth_bps)
    if choice.bandwidth_bps is not None:
        return choice.bandwidth_bps
    if said:
        return float(said)
    if job.plan is not None:
        return job.plan.job.cluster.link_bandwidth_bps
    if job.flexnet is None or not 0 < job.flexnet.bandwidth_bps < float("inf"):
        raise InvalidInput(f"{job.path}: names no bandwidth; give one, such as bandwidth=100Gbps")
    return job.flexnet.bandwidth_bps


def _latency_s(job: SimulatedJob, choice: FabricChoice) -> float:
    if choice.latency_s is not None:
        return choice.latency_s
    said = _of_wiring(choice).get("link_latency_s")
    if said is not None:
        return float(said)
    return job.plan.job.cluster.link_latency_s if job.plan is not None else DEFAULT_LATENCY_S


def is_fbuf(path: str) -> bool:
    """Return whether a file is a FlexNet task graph, by its name."""
    return path.lower().endswith(PACKED)


def job_of_fbuf(path: str) -> SimulatedJob:
    """Return the job of a FlexNet task graph.

    Raises
    ------
    InvalidInput
        If it is no whole task graph.
    """
    flexnet = read_fbuf(path)
    return SimulatedJob(path, Path(path).name.split(".fbuf")[0], flexnet_task_graph(flexnet), flexnet=flexnet)


def job_of_workload(path: str, cluster: Mapping[str, Any]) -> SimulatedJob:
    """Return the job of a workload of SimAI on servers of a requested cluster.

    Raises
    ------
    InvalidInput
        If it is none, or its ranks do not fill the servers.
    """
    per_server = cluster.get("accelerators_per_server")
    return _job_of_traces(path, workload_traces(path, per_server, scale_up_bandwidth_bps(cluster)))


def job_of_chakra(path: str) -> SimulatedJob:
    """Return the job of Chakra's traces (a folder, one of the files, or their prefix).

    Raises
    ------
    InvalidInput
        If a rank is missing, a file is damaged, or nodes do not fit together.
    """
    return _job_of_traces(path, read_chakra(path))


def _job_of_traces(path: str, traces: ChakraTraces) -> SimulatedJob:
    said = str(traces.ranks[0].attributes.get(COLLECTIVE_WAY, "stepped"))
    collective = collective_name(said, f"{traces.ranks[0].place}: {COLLECTIVE_WAY}")
    name = Path(traces.ranks[0].place).name.removesuffix(".txt").removesuffix(".et").removesuffix(".0")
    return SimulatedJob(path, name, chakra_task_graph(traces), collective=collective)
