"""The rings of a plan, for ranks that run on its servers."""

import os
from collections.abc import Sequence

from topoopt.base.errors import InvalidInput
from topoopt.plans import Plan, read_plan
from topoopt.plugins.testbeds.collectives.rings import Rings


def rings_of_plan(
    plan: Plan | str | os.PathLike[str],
    servers: Sequence[int] | None = None,
    rank_of: Sequence[int] | None = None,
) -> Rings:
    """Return the rings that a plan has for a group of its servers.

    Parameters
    ----------
    plan
        A plan or its file.
    servers
        Members of the group; all servers of the plan if not given. A group for which the plan has no rings gets one
        in the order of its members.
    rank_of
        Rank on each server of the plan; if not given, rank i is on server i.

    Raises
    ------
    InvalidInput
        If the plan cannot be read, or has not all of these servers.
    """
    read = plan if isinstance(plan, Plan) else read_plan(os.fspath(plan))
    count = read.fabric.topology.servers
    members = tuple(range(count)) if servers is None else tuple(sorted(servers))
    if not members or members[0] < 0 or members[-1] >= count:
        raise InvalidInput(f"servers: expected numbers in 0..{count - 1}, got {list(members)}")
    if rank_of is not None and len(rank_of) != count:
        raise InvalidInput(f"rank_of: expected a rank for each of {count} servers, got {len(rank_of)}")
    rings = tuple(ring.members for ring in read.fabric.rings.get(members, ())) or (members,)
    if rank_of is None:
        return rings
    return tuple(tuple(rank_of[server] for server in ring) for ring in rings)
