"""Bytes: what links carry, summed path by path and ring by ring, is what the simulator counts and the plan says."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.units import format_bytes
from topoopt.collectives import RING
from topoopt.search import task_graph_of
from topoopt.simulation import TRANSFER
from topoopt.studies.verification.check import Check, checked, counted
from topoopt.studies.verification.subject import Subject

_SAME = 1e-6


def check_link_bytes(subject: Subject) -> Check:
    """Return whether the bytes of every link are those that traffic, routes and rings put there."""
    if subject.no_routes:
        return Check("bytes", skipped=subject.no_routes)
    if subject.on_switches:
        return Check("bytes", skipped="servers hang on switches, and transfers are spread over them")
    if subject.routed.drawn:
        return Check("bytes", skipped=subject.routed.drawn)
    own = summed_link_bytes(subject)
    looked_at = f"{counted(len(own), 'link')}, {format_bytes(float(own.sum()))} in all"
    return checked("bytes", looked_at, _wrong_bytes(subject, own))


def summed_link_bytes(subject: Subject) -> Floats:
    """Return the bytes on each link, shape (links,): of transfers along paths, of AllReduces along rings."""
    demand, rings = _demands(subject)
    routed, topology = subject.routed, subject.topology
    of, link = routed.steps[0], subject.step_links
    moved = demand[routed.src, routed.dst][routed.pair] * routed.weight
    on_links = np.zeros(len(topology))
    np.add.at(on_links, link, moved[of])
    assert subject.plan is not None
    for members, size_bytes in rings.items():
        of_group = subject.plan.fabric.rings.get(members, ())
        for ring in of_group:
            along = topology.link_ids(*ring.edges())
            share = 2 * (len(members) - 1) / len(members) * size_bytes / len(of_group)
            np.add.at(on_links, along[along >= 0], share)
    return on_links


def _demands(subject: Subject) -> tuple[Floats, dict[tuple[int, ...], float]]:
    """Return bytes of every pair, those of schedules among them, and bytes of every group that goes around rings."""
    plan, result = subject.plan, subject.simulated
    assert plan is not None
    traffic = plan.traffic()
    demand = traffic.mp_matrix()
    rings: dict[tuple[int, ...], float] = defaultdict(float)
    for group in traffic.allreduce:
        rings[group.members] += group.size_bytes
    played = [row for row in result.algorithms if row.algorithm != RING]
    if played:
        graph = result.graph
        task = np.arange(
            len(task_graph_of(plan.job, plan.strategy)), len(graph)
        )  # schedules come behind all tasks
        task = task[graph.kind[task] == TRANSFER]
        np.add.at(demand, (graph.src[task], graph.dst[task]), graph.size_bytes[task])
        np.fill_diagonal(demand, 0.0)
        for row in played:
            rings[tuple(sorted(row.members))] -= row.count * row.size_bytes
    return demand, dict(rings)


def _wrong_bytes(subject: Subject, own: Floats) -> Iterator[str]:
    topology, found, stated = subject.topology, subject.simulated.link_bytes, subject.stated
    near = _SAME * max(float(own.max(initial=0.0)), 1.0)
    for link in np.flatnonzero(~(np.abs(own - found) <= near)).tolist():
        name = subject.pair(int(topology.src[link]), int(topology.dst[link]))
        yield f"link {name}: {own[link]:,.0f} bytes by traffic and routes, {found[link]:,.0f} simulated"
    most = float(own.max(initial=0.0))
    if abs(most - stated.link_bytes_max) > near:
        yield f"link_bytes_max: the plan says {stated.link_bytes_max:,.0f}, traffic and routes {most:,.0f}"
