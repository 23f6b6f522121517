"""A simulation as JSON: the same keys from every simulator, null where one has no meaning."""

import resource
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from topoopt.cli.simulation_run import Ran

if TYPE_CHECKING:
    from topoopt.simulate import LinkRow, SimResult, SimulationOptions

PERCENTILES = (50, 90, 99, 100)


def document(ran: Ran) -> dict[str, Any]:
    """Return all figures of a simulation."""
    from topoopt.simulate import flow_table

    result, iterations = ran.result, ran.iterations
    hops = range(1, len(result.hop_pairs))
    plan = ran.sources[0].plan
    return {
        "model": " + ".join(source.name for source in ran.sources),
        "servers": sum(source.graph.servers for source in ran.sources),
        "fabric": ran.fabric.name,
        "fabric_servers": ran.fabric.topology.servers,
        **result.summary(),
        "iteration_time_s": ran.iteration_time_s,
        "link_bytes_max": result.link_bytes_max / iterations,
        "collective": _collective(result.options),
        **_algorithms(result),
        "seed": result.options.seed,
        "transport": result.options.packet.transport if result.packet is not None else None,
        "compat": result.options.packet.compat,
        "chosen_because": ran.reason or None,
        "expected_error": asdict(ran.expected_error) if ran.expected_error is not None else None,
        "iterations": iterations,
        "planned_iteration_time_s": plan.outcome.iteration_time_s if plan is not None else None,
        "jobs": _jobs(ran),
        "tasks": len(result.graph),
        "flows": result.packet.connections if result.packet else len(flow_table(result, ran.fabric)),
        **_counts(ran),
        "cpu_s": ran.cpu_s,
        "peak_memory_bytes": peak_memory_bytes(),
        "demanded_bytes": result.demanded_bytes / iterations,
        "flow_completion": completion_times(result),
        "hop_bytes": {str(hop): float(result.hop_bytes[hop]) / iterations for hop in hops},
        "hop_pairs": {str(hop): float(result.hop_pairs[hop]) for hop in hops},
        "links": [row._asdict() for row in links_of_an_iteration(ran)],
    }


def _collective(options: "SimulationOptions") -> str:
    """Return the word that was asked for."""
    return options.ring_model if options.algorithm == "ring" else options.algorithm


def _algorithms(result: "SimResult") -> dict[str, Any]:
    """Return which algorithm the collectives of each group and size took, where not all took the ring."""
    if not result.algorithms:
        return {}
    return {"collective_algorithms": [asdict(row) for row in result.algorithms]}


def links_of_an_iteration(ran: Ran) -> "list[LinkRow]":
    """Return the links; bytes are those of one iteration, everything else of the whole run."""
    from topoopt.simulate import link_statistics

    rows = link_statistics(ran.result, ran.fabric)
    return [row._replace(bytes=row.bytes / ran.iterations) for row in rows]


def peak_memory_bytes() -> int:
    """Return the most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def completion_times(result: "SimResult") -> dict[str, float] | None:
    """Return percentiles of the flow completion times and slowdowns of all connections, if they were logged."""
    import numpy as np

    if result.flows is None or not len(result.flows):
        return None
    times_s = np.percentile(result.flows.completion_s, PERCENTILES).tolist()
    slowdowns = np.percentile(result.flows.slowdown, PERCENTILES).tolist()
    named = dict(zip((f"p{rank}_s" for rank in PERCENTILES), times_s, strict=True))
    return {**named, **dict(zip((f"p{rank}_slowdown" for rank in PERCENTILES), slowdowns, strict=True))}


def _counts(ran: Ran) -> dict[str, Any]:
    packet = ran.result.packet
    names = (
        "packets",
        "delivered",
        "packet_hops",
        "events",
        "marks",
        "drops",
        "timeouts",
        "resent",
        "pauses",
    )
    counts: dict[str, Any] = {name: getattr(packet, name) if packet else None for name in names}
    for name in ("packet_hops", "events"):
        counts[f"{name}_per_cpu_s"] = counts[name] / ran.cpu_s if packet and ran.cpu_s > 0 else None
    counts["engine_memory_bytes"] = packet.peak_memory_bytes if packet else None
    return counts


def _jobs(ran: Ran) -> list[dict[str, Any]] | None:
    together = ran.together
    if together is None:
        return None
    rows = zip(
        ran.sources, together.placement, together.first_s, together.mean_s, together.iterations, strict=True
    )
    return [
        {
            "file": source.path,
            "model": source.name,
            "servers": list(servers),
            "first_iteration_time_s": first_s,
            "mean_iteration_time_s": mean_s,
            "iterations": count,
        }
        for source, servers, first_s, mean_s, count in rows
    ]
