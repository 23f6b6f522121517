"""Which fabric a simulation runs on: the job's own, or one that the words describe."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from topoopt.cli.simulation_arguments import FabricArguments
from topoopt.cli.simulation_limits import MOST_DELAY_S, MOST_SERVERS
from topoopt.cli.simulation_source import Source
from topoopt.errors import InvalidInput, unknown_name
from topoopt.limits import whole
from topoopt.units import parse_bandwidth, parse_time

if TYPE_CHECKING:
    from topoopt.finder import FabricShape
    from topoopt.routing import Fabric

OWN = "topoopt"
ON_SWITCHES = ("ideal-switch", "fat-tree", "oversub-fat-tree")
CIRCUITS = ("ocs-reconfig", "sip-ml")
REGIONAL = ("mixnet",)
_REGIONAL_FLAGS = ("electrical_ports", "region_servers", "circuits", "hiding")
DEFAULT_DEGREE = 4
_WIRING = (
    *("degree", "servers", "strides", "routing", "reconfiguration_delay", "host_forwarding"),
    *_REGIONAL_FLAGS,
)


def own_fabric(source: Source, asked: FabricArguments) -> "Fabric | None":
    """Return the network that the job brings along, unless another one is asked for.

    The bandwidth and latency of a FlexNet file's connections can be changed; a plan is what it is.

    Raises
    ------
    InvalidInput
        If a flag is about another fabric, and none is named.
    """
    if asked.fabric not in (None, _own_name(source)):
        return None
    wired = [name for name in _WIRING if getattr(asked, name) is not None]
    if asked.strides is not None or (wired and asked.fabric is not None):
        return None
    if source.plan is not None:
        wired += [name for name in ("bandwidth", "latency") if getattr(asked, name) is not None]
        if wired and asked.fabric is not None:
            return None
    if wired:
        flag = "--" + wired[0].replace("_", "-")
        raise InvalidInput(f"{flag}: {source.path} would run on its own fabric; name one with --fabric")
    if source.plan is not None:
        return source.plan.fabric
    if source.flexnet is None or not len(source.flexnet.connections):
        return None
    return _flexnet_fabric(source, asked)


def _own_name(source: Source) -> str | None:
    if source.plan is not None:
        return source.plan.fabric.name
    assert source.flexnet is not None
    direct = len(source.flexnet.connections) and not source.flexnet.nswitch
    return OWN if direct else None


def _flexnet_fabric(source: Source, asked: FabricArguments) -> "Fabric":
    from topoopt.simulate import flexnet_fabric
    from topoopt.topology import DEFAULT_LATENCY_S

    assert source.flexnet is not None
    latency_s = (
        DEFAULT_LATENCY_S if asked.latency is None else parse_time(asked.latency, "--latency", MOST_DELAY_S)
    )
    bandwidth_bps = None if asked.bandwidth is None else parse_bandwidth(asked.bandwidth, "--bandwidth")
    return flexnet_fabric(source.flexnet, source.graph.groups, latency_s, bandwidth_bps)


def named_fabric(
    sources: Sequence[Source],
    groups: Sequence[tuple[int, ...]],
    asked: FabricArguments,
    seed: int,
    switches: bool,
) -> "Fabric":
    """Return the fabric that the words describe, large enough for all jobs.

    Parameters
    ----------
    groups : members of each AllReduce group
        In the numbers of the fabric's servers.
    switches : bool
        Whether every switch must be a node of its own.

    Raises
    ------
    InvalidInput
        If no fabric is named and none goes without saying, or a flag does not go with it.
    """
    from topoopt.finder import FABRICS, FabricRequest, build_fabric

    name = _name(sources, asked)
    if name not in FABRICS:
        raise unknown_name("fabric", name, FABRICS)
    shape = _shape(name, asked, switches)
    needed = sum(source.graph.servers for source in sources)
    servers = needed if asked.servers is None else asked.servers
    if servers > MOST_SERVERS:
        raise InvalidInput(f"--servers: expected an integer <= {MOST_SERVERS}, got {servers}")
    if shape.strides and max(shape.strides) >= max(servers, needed):
        raise InvalidInput(
            f'--strides: expected numbers of 1..{max(servers, needed) - 1}, got "{asked.strides}"'
        )
    degree = _degree(name, sources[0], asked, shape, max(servers, needed))
    bandwidth_bps = _bandwidth_bps(sources[0], asked)
    return build_fabric(
        name,
        FabricRequest(
            servers,
            degree,
            bandwidth_bps,
            groups,
            latency_s=_latency_s(sources[0], asked),
            server_bandwidth_bps=degree * bandwidth_bps,
            seed=seed,
            shape=shape,
        ),
        needed,
    )


def _name(sources: Sequence[Source], asked: FabricArguments) -> str:
    from topoopt.finder import FABRICS

    if asked.fabric is not None:
        return asked.fabric
    if asked.strides is not None:
        return OWN
    flexnet = sources[0].flexnet
    if len(sources) == 1 and flexnet is not None and flexnet.nswitch == 1:
        return "ideal-switch"
    known = ", ".join(FABRICS)
    what = (
        f"{sources[0].path}: holds no connections"
        if len(sources) == 1
        else f"{len(sources)} jobs share one fabric"
    )
    raise InvalidInput(f"{what}; name a fabric with --fabric: {known}")


def _shape(name: str, asked: FabricArguments, switches: bool) -> "FabricShape":
    from topoopt.finder import FabricShape
    from topoopt.routing import ROUTING

    for flag, value, names in (
        ("--strides", asked.strides, (OWN,)),
        ("--reconfiguration-delay", asked.reconfiguration_delay, (*CIRCUITS, *REGIONAL)),
        ("--host-forwarding", asked.host_forwarding, CIRCUITS),
        *(("--" + flag.replace("_", "-"), getattr(asked, flag), REGIONAL) for flag in _REGIONAL_FLAGS),
    ):
        if value is not None and name not in names:
            known = " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
            raise InvalidInput(f"{flag}: not for the fabric {name}; it is for {known}")
    if asked.routing is not None and asked.routing not in ROUTING:
        raise unknown_name("routing", asked.routing, ROUTING)
    if asked.routing is not None and name in CIRCUITS:
        raise InvalidInput(f"--routing: not for the fabric {name}, whose paths change with its circuits")
    delay_s = (
        None
        if asked.reconfiguration_delay is None
        else parse_time(asked.reconfiguration_delay, "--reconfiguration-delay", MOST_DELAY_S)
    )
    return FabricShape(
        switches=switches,
        routing=asked.routing,
        strides=_strides(asked.strides),
        delay_s=delay_s,
        host_forwarding=asked.host_forwarding,
        electrical_ports=asked.electrical_ports,
        region_servers=asked.region_servers,
        circuits=asked.circuits,
        hiding=asked.hiding,
    )


def _strides(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    try:
        strides = tuple(int(word) for word in text.split(","))
    except ValueError:
        raise InvalidInput(f'--strides: expected numbers with commas, such as 1,5, got "{text}"') from None
    if min(strides) < 1 or len(set(strides)) < len(strides):
        raise InvalidInput(f'--strides: expected different numbers >= 1, got "{text}"')
    return strides


def _degree(name: str, source: Source, asked: FabricArguments, shape: "FabricShape", servers: int) -> int:
    from topoopt.topology import stride_offsets

    if asked.degree is not None:
        return whole("--degree", asked.degree, 1)
    if shape.strides:
        return len(stride_offsets(servers, shape.strides, "duplex"))
    if source.plan is not None:
        return source.plan.job.cluster.degree
    return 1 if name in ON_SWITCHES else DEFAULT_DEGREE


def _bandwidth_bps(source: Source, asked: FabricArguments) -> float:
    if asked.bandwidth is not None:
        return parse_bandwidth(asked.bandwidth, "--bandwidth")
    if source.plan is not None:
        return source.plan.job.cluster.link_bandwidth_bps
    assert source.flexnet is not None
    if not 0 < source.flexnet.bandwidth_bps < float("inf"):
        raise InvalidInput(f"{source.path}: names no bandwidth; give one with --bandwidth")
    return source.flexnet.bandwidth_bps


def _latency_s(source: Source, asked: FabricArguments) -> float:
    from topoopt.topology import DEFAULT_LATENCY_S

    if asked.latency is not None:
        return parse_time(asked.latency, "--latency", MOST_DELAY_S)
    return source.plan.job.cluster.link_latency_s if source.plan is not None else DEFAULT_LATENCY_S
