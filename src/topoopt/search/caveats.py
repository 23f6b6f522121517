"""Caveats about the figures of a plan."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from topoopt.base.units import format_bandwidth, format_memory, format_time
from topoopt.catalog import ClusterSpec, find_accelerator
from topoopt.jobs import TIGHT, is_tight, operators_of, transformer_of
from topoopt.plans import Plan
from topoopt.search.options import affordable
from topoopt.search.starting_strategies import fullest_server
from topoopt.simulation import APPROXIMATE
from topoopt.topologies.wirings import DIRECTED_WARNING
from topoopt.workloads import DeviceProfile, PartSize, part_samples, signature_of


def caveats(plan: Plan) -> tuple[str, ...]:
    """Return caveats on missing memory, missing measurements, or an interrupted search."""
    sentences = CAVEATS[plan.job.work.kind](plan)
    sentences += ring_caveats(plan) + network_caveats(plan)
    if plan.job.cluster.links == "directed":
        sentences.append(DIRECTED_WARNING)
    if plan.outcome.folded.endswith(APPROXIMATE):
        sentences.append(
            f"Times of this plan and of networks whose links replicas share: {plan.outcome.folded}."
        )
    if plan.search.stopped_because == "interrupted":
        sentences.append("The search was interrupted: this is the best that it had found.")
    return tuple(sentences)


def _operator_caveats(plan: Plan) -> list[str]:
    use, part = fullest_server(plan.job, plan.strategy), find_accelerator(plan.job.cluster.accelerator)
    if plan.job.settings.memory_check == "off" or use.total_bytes <= part.usable_memory_bytes:
        memory_caveats = []
    else:
        memory_caveats = [
            f"Does not fit in memory: an accelerator of server {use.server} needs "
            f"{format_memory(use.total_bytes)}, {part.name} has {format_memory(part.usable_memory_bytes)}. "
            "With memory_check enforce only what fits is searched."
        ]
    sentences = [*memory_caveats, *_device_caveats(plan)]
    settings, measured = plan.job.settings, find_accelerator(ClusterSpec(2, 1, 1.0).accelerator).name
    if settings.compute == "profile" and part.name != measured and set(time_sources(plan)) == {"roofline"}:
        sentences.append(
            f"Operator times on {part.name} are of its {settings.precision} roofline, those on {measured} mostly "
            "measured: to compare accelerators, take compute roofline for both."
        )
    beyond = sum(count for source, count in time_sources(plan).items() if "extrapolated" in source)
    if beyond:
        times = "Times of 1 operator lie" if beyond == 1 else f"Times of {beyond} operators lie"
        sentences.append(f"{times} outside the measured range and are extrapolated.")
    budget, servers = int(plan.options.get("budget", 0)), plan.job.cluster.servers
    if affordable(budget, servers) < budget:
        sentences.append(
            f"Of {servers:,} servers fewer strategies are looked at: the search makes {affordable(budget, servers):,} "
            f"of the {budget:,} proposals that it may, and leaves layers whole to begin with; other fabrics run the "
            "plan's strategy or data parallelism, whichever is faster."
        )
    return sentences


def _device_caveats(plan: Plan) -> list[str]:
    """Return caveats about the user's own profile: it is of another device, or a size did not fit there."""
    part, sentences = find_accelerator(plan.job.cluster.accelerator).name, []
    for profile in operators_of(plan.job).profiles:
        if not isinstance(profile, DeviceProfile):
            continue
        device = profile.device
        if device.accelerator != part:
            sentences.append(
                f"Operator times were measured on {device.name} ({device.kind}), not on the cluster's {part}."
            )
        missing = [name for name, reason in _unmeasured(plan, profile) if reason.startswith("out of memory")]
        if missing:
            others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            sentences.append(
                f"{missing[0]}{others} did not fit into the memory of {device.name} at this size."
            )
    return sentences


def _unmeasured(plan: Plan, profile: DeviceProfile) -> Iterator[tuple[str, str]]:
    """Yield operators whose chosen size failed when it was to be measured, and why."""
    job, work, failures = (
        plan.job,
        operators_of(plan.job),
        {op.signature: op.failures for op in profile.operators},
    )
    for op, split in zip(work.graph.operators, plan.strategy.splits, strict=True):
        samples = part_samples(split, job.global_batch)
        per_device = samples if op.is_embedding else samples / job.cluster.accelerators_per_server
        size = PartSize(math.ceil(per_device), split.channel_degree, split.channel_dim)
        reason = failures.get(signature_of(op), {}).get(size)
        if reason:
            yield op.name, reason


def _layout_caveats(plan: Plan) -> list[str]:
    work = transformer_of(plan.job)
    needed = work.layout(plan.strategy).total_memory_bytes
    if is_tight(needed, work.capacity_bytes):
        return [
            f"Leaves less than {1 - TIGHT:.0%} of the memory free: an accelerator needs {format_memory(needed)} of "
            f"{format_memory(work.capacity_bytes)}, and estimates are good to some GiB: try it first."
        ]
    if needed <= work.capacity_bytes:
        return []
    return [
        f"Does not fit in memory: an accelerator needs {format_memory(needed)} and has "
        f"{format_memory(work.capacity_bytes)}."
    ]


LEAST_OF_SERVERS = 0.01
"""Fraction of the price of its servers; a network that costs less is far below those of reference systems."""


def network_caveats(plan: Plan) -> list[str]:
    """Return a caveat if the network is slow for the job, or cheap for its servers: a likely input error."""
    found, usd = plan.outcome, plan.price.get("cost_usd")
    sentences = []
    if found.exposed_communication_s > found.compute_time_s:
        sentences.append(
            f"Communication that nothing hides takes {format_time(found.exposed_communication_s)}, computation "
            f"{format_time(found.compute_time_s)}: more bandwidth a server matters more "
            "than the fabric."
        )
    servers_usd = plan.job.cluster.servers * (plan.terms.server.usd or 0.0) if plan.terms else 0.0
    if usd is not None and usd < LEAST_OF_SERVERS * servers_usd:
        sentences.append(
            f"The network costs {usd / servers_usd:.1%} of its servers: check that {plan.job.cluster.degree} × "
            f"{format_bandwidth(plan.job.cluster.link_bandwidth_bps)} a server is meant."
        )
    return sentences


CAVEATS: Mapping[str, Callable[[Plan], list[str]]] = {
    "operators": _operator_caveats,
    "traffic": lambda plan: [],
    "transformer": _layout_caveats,
}
"""Caveats about times and memory, by kind of work."""


def time_sources(plan: Plan) -> Counter[str]:
    """Return the number of operators by source of their times."""
    work = operators_of(plan.job)
    return Counter(work.time(index, split).source for index, split in enumerate(plan.strategy.splits))


def ring_caveats(plan: Plan) -> list[str]:
    """Return the caveat for a wiring by others with too few rings of all servers."""
    topology, chosen = plan.fabric.topology, plan.wiring
    rings = plan.fabric.rings.get(tuple(range(topology.servers)), ())
    if chosen is None or "read_from" not in chosen.recipe or not rings:
        return []
    ports = min(
        int(np.bincount(end, topology.ports, topology.nodes).min()) for end in (topology.src, topology.dst)
    )
    most = ports - ports % 2 if plan.job.cluster.links == "duplex" else ports
    direct = sum(ring.walk == ring.members for ring in rings)
    if direct >= most:
        return []
    relays = "" if direct == len(rings) else ", with relays" if not direct else ", some with relays"
    return [
        f"Of {most} rings of all servers that share no link, there and back, {direct} found: their AllReduce goes "
        f"around {len(rings)}{relays}, or by another algorithm where that is faster."
    ]
