"""Hops and all-to-alls of the study "beyond strides": a wiring by itself, and the authors' all-to-all study on it."""

from dataclasses import replace

from topoopt.base.arrays import Floats
from topoopt.plugins.papers.all_to_all_study import run_study, study_traffic
from topoopt.plugins.papers.figure import Row
from topoopt.plugins.papers.published_jobs import times
from topoopt.plugins.papers.wirings_fabrics import DIRECT, LIFTED, Size, reach
from topoopt.routing import Fabric, balanced_routes, link_loads
from topoopt.simulation import SimResult
from topoopt.topologies import moore_average_hops
from topoopt.topologies.wirings import WiringRequest, search_wirings


def wiring_row(name: str, fabric: Fabric, size: Size) -> Row:
    """Return what a wiring without switches is like; its all-to-all as in
    :class:`topoopt.topologies.wirings.JudgedWiring`."""
    known = reach(fabric)
    return {
        "what": "wiring",
        "fabric": name,
        "servers": size.servers,
        "degree": size.degree,
        "average_hops": known.hops.average_hops,
        "moore_average_hops": moore_average_hops(size.servers, size.degree),
        "diameter": known.hops.diameter,
        "balanced_hops": known.balanced_hops,
        "broadcast_messages": known.broadcast_messages,
    }


def record_row(servers: int, degree: int, seed: int) -> Row:
    """Return the lifted wiring with the fewest hops, at numbers for which others have published theirs."""
    found = search_wirings(WiringRequest(servers, degree, family=LIFTED, seed=seed))
    return {
        "what": "record",
        "fabric": LIFTED,
        "servers": servers,
        "degree": degree,
        "average_hops": found.chosen.hops.average_hops,
        "moore_average_hops": found.moore_average_hops,
        "diameter": found.chosen.hops.diameter,
    }


def exchange_row(name: str, fabric: Fabric, size: Size, batch: int) -> Row:
    """Return an iteration of DLRM with a table on every server, data parallel, by the flow simulator.

    Transfers are shifted from full links to others of the shortest paths, on all wirings without switches alike.
    """
    before = run_study(batch, fabric)
    result = before
    if name in DIRECT:
        demand = study_traffic(batch).mp_matrix()
        routes = balanced_routes(fabric.topology, demand, fabric.routes, _rings_bytes(fabric, demand, before))
        result = run_study(batch, replace(fabric, routes=routes))
    return {
        "what": "all-to-all",
        "fabric": name,
        "servers": size.servers,
        "degree": size.degree,
        "model": "dlrm-alltoall",
        "batch_per_accelerator": batch,
        **times(result),
        "busiest_link_bytes": float(result.link_bytes.max()),
        "mean_link_bytes": float(result.link_bytes.mean()),
        "unbalanced_iteration_time_s": before.iteration_time_s,
    }


def _rings_bytes(fabric: Fabric, demand: Floats, result: SimResult) -> Floats:
    """Return the bytes on each link that are no transfers."""
    carried: Floats = result.link_bytes - link_loads(fabric.topology, fabric.routes, demand)
    return carried.clip(min=0.0)
