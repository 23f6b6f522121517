"""The servers of a plan by name, in the order of ranks: what launchers and schedulers are told."""

import re
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from topoopt.plans.inventory import Server
from topoopt.plugins.exports.deployment import Deployment


def servers_of(deployment: Deployment) -> tuple[Server, ...]:
    """Return the servers of the plan; rank r is on the r-th."""
    return deployment.inventory.servers[: deployment.plan.fabric.topology.servers]


def hosts_of(deployment: Deployment) -> list[str]:
    """Return their names."""
    return [server.name for server in servers_of(deployment)]


def linked_ring(deployment: Deployment) -> tuple[int, ...]:
    """Return all servers in the order of a ring whose neighbors have a link, from the first one on, or nothing.

    That of their numbers where it is one, else one of the plan's rings.
    """
    topology = deployment.plan.fabric.topology
    everyone = np.arange(topology.servers)
    if (topology.link_ids(everyone, np.roll(everyone, -1)) >= 0).all():
        return tuple(everyone.tolist())
    rings = deployment.plan.fabric.rings.get(tuple(everyone.tolist()), ())
    order = next((ring.members for ring in rings if ring.hops == len(ring.members)), ())
    first = order.index(0) if order else 0
    return order[first:] + order[:first]


def hostlist(names: Sequence[str]) -> str:
    """Return names as Slurm writes them: runs of numbers with equally many digits in brackets, in their order.

    Examples
    --------
    >>> hostlist(["gpu008", "gpu009", "gpu010", "login"])
    'gpu[008-010],login'
    """
    parts = [re.fullmatch(r"(.*?)(\d*)", name, re.DOTALL) for name in names]
    keys = [(part[1], len(part[2]), int(part[2] or 0) - place) for place, part in enumerate(parts) if part]
    written, at = [], 0
    for (prefix, digits, _), run in groupby(keys):
        count = len(list(run))
        first, last = names[at], names[at + count - 1]
        at += count
        if not digits or count == 1:
            written += [first] * count
        else:
            written.append(f"{prefix}[{first[-digits:]}-{last[-digits:]}]")
    return ",".join(written)
