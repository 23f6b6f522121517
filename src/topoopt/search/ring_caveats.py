"""What to know of the rings of a wiring that somebody has brought: fewer than ports would do for, or with relays."""

import numpy as np

from topoopt.plans import Plan


def ring_caveats(plan: Plan) -> list[str]:
    """Return how many rings of all servers there are, where the wiring is of others and they are too few."""
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
