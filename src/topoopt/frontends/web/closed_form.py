"""A graph of operators on every fabric in closed form: a few strategies, by the search's estimate of ports.

One switch of as many ports is the least that a network can take; so of all strategies only those are weighed on another
fabric that are faster on the switch than the best so far is there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from topoopt.catalog import (
    IDEAL_SWITCH,
    NETWORKS,
    OWN,
    ClusterSpec,
    Network,
    Sizing,
    Table,
    compare,
    compared_by,
    sizings_of,
)
from topoopt.finder import check_degree, wired_interfaces
from topoopt.frontends.web.question import Question, machines_of, request_of_question
from topoopt.jobs import Job
from topoopt.pricing import Pricing
from topoopt.search import (
    PortEstimate,
    PortNetwork,
    few_strategies,
    job_of,
    jobs_in_microbatches,
    port_estimate,
)
from topoopt.topologies import fat_tree_arity, moore_average_hops
from topoopt.workloads import ParallelStrategy


def _half(cluster: ClusterSpec, pricing: Pricing) -> tuple[int, float]:
    if cluster.degree == 1:
        return 1, cluster.link_bandwidth_bps / 2
    return cluster.degree // 2, cluster.link_bandwidth_bps


HALF_SIZE = Sizing("fat-tree", "full bisection, half of d·B a server", _half, "half", "half")


@dataclass(frozen=True, slots=True)
class FabricRule:
    """Parameters of a fabric for its closed form.

    Attributes
    ----------
    interfaces, bandwidth_bps
        Ports of a server, and the bandwidth of each.
    relays : float
        Mean links that a byte crosses, of servers or of the thinnest layer, unless between neighbors.
    """

    size: Sizing
    label: str
    interfaces: int
    bandwidth_bps: float
    relays: float

    @property
    def key(self) -> str:
        """Name of the sizing."""
        return self.size.key

    @property
    def network(self) -> Network:
        """The network that is sized so."""
        return NETWORKS[self.size.fabric]

    @property
    def wires_rings(self) -> bool:
        """Whether rings and neighbors have links of their own; where not, all traffic is relayed."""
        return self.network.carried_as == OWN or not self.network.relays

    @property
    def server_bandwidth_bps(self) -> float:
        """All ports together."""
        return self.interfaces * self.bandwidth_bps


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """A fabric's time: of the best configuration, if everything is relayed, and where it goes.

    Attributes
    ----------
    parts_s : mapping
        Parts of the iteration time by activity; they add up to it.
    configuration : str
        Short description of the split.
    """

    iteration_time_s: float
    most_time_s: float
    parts_s: Mapping[str, float]
    configuration: str


MOST_NEAR_PORTS = 2
"""Ports that are kept for the parts of a layer, as the two degree splits for them do."""
MANY, FEW = 256, 2
"""Servers above which only a few strategies are estimated on each fabric: the fastest on one switch."""
LAYER_DIMS = ("in", "out")


@dataclass(frozen=True, eq=False, slots=True)
class EstimatedJob:
    """A job and its few strategies, by name; a strategy counts once for every number of micro-batches.

    Attributes
    ----------
    parts : tuple of int
        Most parts of a layer in each strategy.
    free_s : tuple of float
        Time of each strategy on an ideal network.
    estimates : tuple of (PortEstimate, int)
        Estimate of each strategy, and its index there.
    """

    job: Job
    names: tuple[str, ...]
    parts: tuple[int, ...]
    free_s: tuple[float, ...]
    estimates: tuple[tuple[PortEstimate, int], ...]

    @property
    def bound_s(self) -> float:
        """Lower bound with these strategies on any network."""
        return min(self.free_s)


def estimated_job(question: Question) -> EstimatedJob:
    """Return the job of a question with its strategies, independent of prices and years.

    Raises
    ------
    InvalidInput
        If the model and the servers do not fit together.
    Infeasible
        If memory is enforced and nothing fits.
    """
    return _job(machines_of(question))


@lru_cache(maxsize=64)
def estimated_times(found: EstimatedJob, rules: tuple[FabricRule, ...]) -> Mapping[str, ClosedForm]:
    """Return the best of the strategies on each fabric, by the key of its rule."""
    switch = next(rule for rule in rules if rule.key == IDEAL_SWITCH)
    least_s = [_time_s(found, index, switch) for index in range(len(found.names))]
    return {rule.key: _best(found, rule, least_s) for rule in rules}


def _best(found: EstimatedJob, rule: FabricRule, least_s: Sequence[float]) -> ClosedForm:
    best, best_s = -1, float("inf")
    for index in _suited(found, rule, sorted(range(len(least_s)), key=least_s.__getitem__)):
        if least_s[index] >= best_s:
            break
        time_s = least_s[index] if rule.key == IDEAL_SWITCH else _time_s(found, index, rule)
        if time_s < best_s:
            best, best_s = index, time_s
    free_s = min(found.free_s[best], best_s)
    return ClosedForm(
        best_s, best_s, {"compute_s": free_s, "communication_s": best_s - free_s}, found.names[best]
    )


def _suited(found: EstimatedJob, rule: FabricRule, order: Sequence[int]) -> Sequence[int]:
    """Drop strategies that are slow on one switch with many servers, and split layers where servers are joined at
    random.

    No ports are reserved for exchanges between the parts. In simulations they were never faster than data parallelism,
    and up to eight times slower than with an even load of all links.
    """
    whole = [index for index in order if found.parts[index] == 1]
    if whole and not rule.wires_rings:
        return whole[:1] if found.job.cluster.servers > MANY else whole
    return order[:FEW] if found.job.cluster.servers > MANY else order


def _time_s(found: EstimatedJob, index: int, rule: FabricRule) -> float:
    networks = port_networks(rule, found.job.cluster, found.parts[index])
    estimate, place = found.estimates[index]
    return min((estimate.iteration_time_s(place, row) for row in networks), default=float("inf"))


@lru_cache(maxsize=32)
def _job(question: Question) -> EstimatedJob:
    job = job_of(request_of_question(question))
    known = few_strategies(job)
    parts, rows = tuple(map(_parts, known.values())), list[tuple[str, int, float, tuple[PortEstimate, int]]]()
    for count, batch in jobs_in_microbatches(job).items():
        estimate = port_estimate(batch, tuple(known.values()))
        suffix = f", {count} micro-batches" if count > 1 else ""
        for place, name in enumerate(known):
            rows.append((name + suffix, parts[place], estimate.free_time_s(place), (estimate, place)))
    return EstimatedJob(job, *zip(*rows, strict=True))


def _parts(strategy: ParallelStrategy) -> int:
    return max((one.channel_degree for one in strategy.splits if one.channel_dim in LAYER_DIMS), default=1)


def port_networks(rule: FabricRule, cluster: ClusterSpec, parts: int) -> tuple[PortNetwork, ...]:
    """Return the possible wirings of a fabric for a strategy whose layers are split in ``parts``."""
    ports, bandwidth_bps, latency_s = rule.interfaces, rule.bandwidth_bps, cluster.link_latency_s
    if rule.network.carried_as == OWN:
        return tuple(_in_parts(rule, cluster, parts)) or (_of_all(rule, cluster),)
    if rule.network.relays:
        return (_of_all(rule, cluster),)
    if not rule.network.trunks:
        return (PortNetwork(ports, ports, bandwidth_bps, latency_s, 2),)
    if rule.network.oversubscription > 1:
        return (_thin(cluster, ports * bandwidth_bps, parts, rule.network.oversubscription),)
    return (PortNetwork(1, 1, ports * bandwidth_bps, latency_s, 2),)


def _of_all(rule: FabricRule, cluster: ClusterSpec) -> PortNetwork:
    """Return all ports in one wiring of all servers: rings pass no other server, other traffic has the least mean
    hops.

    Three matchings that make a ring by twos carry rings on an odd number of ports, too; a random graph has none such.
    """
    n = cluster.servers
    ports = rule.interfaces - (rule.interfaces % 2 if n % 2 else 0)  # a cable has two ends
    rings = ports - (ports % 2 if n > 2 and rule.network.carried_as != OWN else 0)
    hops = moore_average_hops(n, ports, cluster.links)
    return PortNetwork(ports, max(rings, 1), rule.bandwidth_bps, cluster.link_latency_s, 1, hops, 1.0, hops)


def _in_parts(rule: FabricRule, cluster: ClusterSpec, parts: int) -> list[PortNetwork]:
    """Return wirings that keep ports for the parts of a layer, and give the others to the replicas of each part."""
    found = []
    for near in range(1, MOST_NEAR_PORTS + 1) if parts > 1 else ():
        replicas, ports = cluster.servers // parts, rule.interfaces - near
        rings = wired_interfaces(replicas, ports, cluster.links)
        if rings < 1 or (near == 1 and parts > 2):  # one port joins two
            continue
        hops = moore_average_hops(replicas, rings, cluster.links)
        near_hops = moore_average_hops(parts, near, cluster.links)
        found.append(
            PortNetwork(
                rings,
                rings,
                rule.bandwidth_bps,
                cluster.link_latency_s,
                1,
                hops,
                1.0,
                1.0,
                parts,
                near,
                near_hops,
            )
        )
    return found


def _thin(cluster: ClusterSpec, bandwidth_bps: float, parts: int, ratio: float) -> PortNetwork:
    """Return a fat-tree that is thin above its first switches, which racks of servers next to each other share."""
    n, rack = cluster.servers, fat_tree_arity(cluster.servers) // 2
    inside = (min(rack, n) - 1) / (n - 1)
    crossing = sum(
        i // rack != j // rack
        for first in range(0, n - parts + 1, parts)
        for i in range(first, first + parts)
        for j in range(first, first + parts)
    )
    return PortNetwork(
        1,
        1,
        bandwidth_bps,
        cluster.link_latency_s,
        4,
        ratio * (1 - inside),
        ratio / rack,
        ratio * min(parts / rack, 1.0),
        near=parts,
        near_hops=ratio * crossing / max(n * (parts - 1), 1),
    )


def fabric_rules(cluster: ClusterSpec, pricing: Pricing, own_nics: bool = False) -> Table[FabricRule]:
    """Return the fabrics that can be built, the plan's own first, and why others cannot; see :func:`sizings_of`."""
    return compare(_sizes(own_nics), lambda size: _rule(size, cluster, pricing), lambda size: size.key)


def _sizes(own_nics: bool) -> Iterator[Sizing]:
    """Yield the networks that have a closed form: none that relays over links whose mean number is not known."""
    for name in compared_by("studio"):
        yield from sizings_of([name], own_nics)
        if name == IDEAL_SWITCH:
            yield HALF_SIZE


def _rule(size: Sizing, cluster: ClusterSpec, pricing: Pricing) -> FabricRule:
    network = NETWORKS[size.fabric]
    relays = network.oversubscription
    if network.mean_hops is not None:
        check_degree(cluster.servers, cluster.degree, cluster.links)
        relays = network.mean_hops(cluster.servers, cluster.degree, cluster.links)
    label = "Half the ports" if size is HALF_SIZE else network.label
    return FabricRule(size, label, *size.interfaces(cluster, pricing), relays)
