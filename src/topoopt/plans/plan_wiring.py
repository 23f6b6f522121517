"""The links of a plan as a direct wiring, with its rings of all servers, as in a wiring file."""

from collections import Counter
from dataclasses import replace

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.plans.plan import Plan
from topoopt.topologies import DirectWiring, Ring, Topology, WiredRing, most_turns, wiring_of_arcs


def plan_wiring(plan: Plan, name: str = "plan") -> DirectWiring:
    """Return the links of a plan and the rings of all its servers that need no relay.

    Raises
    ------
    InvalidInput
        If its servers are connected to switches; ``name`` is the name of the plan.
    """
    topology, cluster = plan.fabric.topology, plan.job.cluster
    if topology.nodes > topology.servers:
        raise InvalidInput(f"{name}: the servers of a {plan.fabric.name} hang on switches; it has no wiring")
    src, dst = (np.repeat(end, topology.ports).astype(np.int64) for end in (topology.src, topology.dst))
    rings = plan.fabric.rings.get(tuple(range(topology.servers)), ())
    steps = topology.offsets
    if cluster.links == "duplex":
        steps = tuple(sorted({min(step, topology.servers - step) for step in steps}))
    recipe = {"strides": list(steps)} if steps else {}
    duplex = cluster.links == "duplex"
    direct = [ring for ring in rings if ring.walk == ring.members]
    crossed = Counter(edge for ring in direct for edge in _edges(ring))
    alike: dict[frozenset[tuple[int, int]], list[Ring]] = {}
    for ring in direct:
        edges = _edges(ring)
        alike.setdefault(
            frozenset((min(edge), max(edge)) for edge in edges) if duplex else frozenset(edges), []
        ).append(ring)
    found = []
    for same in alike.values():
        count = -(-len(same) // 2) if duplex else len(same)
        share = count * _share(topology, same[0], crossed)
        whole = max(1, round(share))  # of rings that an AllReduce takes twice as often there is one
        found += [
            WiredRing(np.array(ring.members, np.int64), min(1.0, share / whole)) for ring in same[:whole]
        ]
    wired_rings = tuple(found)
    made = wiring_of_arcs(
        topology.family,
        cluster.links,
        topology.servers,
        cluster.degree,
        (src, dst),
        recipe,
        wired_rings,
        most_turns((src, dst), topology.servers),
    )
    chosen = plan.wiring
    if (
        chosen is not None and "names" in chosen.recipe
    ):  # a wiring of others keeps what its servers are called
        made = replace(made, recipe={**made.recipe, "names": chosen.recipe["names"]})
    if (
        chosen is None or topology.offsets or not made.rings_fill_links
    ):  # else there are other links beside it
        return made
    return replace(made, family=chosen.family, recipe=chosen.recipe)


def _share(topology: Topology, ring: Ring, crossed: Counter[tuple[int, int]]) -> float:
    """Return the part of an interface's rate that a ring has, where others cross the same links."""
    ports: list[int] = topology.ports[topology.link_ids(*ring.edges())].tolist()
    return min(have / crossed[edge] for edge, have in zip(_edges(ring), ports, strict=True))


def _edges(ring: Ring) -> list[tuple[int, int]]:
    src, dst = ring.edges()
    return list(zip(src.tolist(), dst.tolist(), strict=True))
