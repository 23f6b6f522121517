"""What a plan says of its wiring: family, recipe, and how much faster it is than the best strides."""

from collections.abc import Iterable

from topoopt.finder import STRIDES
from topoopt.jobs import Job
from topoopt.plans import ChosenWiring
from topoopt.search.candidate import Candidate

GROUPS = "group rings"
"""Name of what is wired group by group: replicas of parts of layers, each group for itself, and what joins them."""


def by_groups(row: Candidate) -> bool:
    """Return whether groups got their interfaces by a family of wirings, and not along strides."""
    return row.rules.lifts_groups and not row.fabric.topology.offsets


def best_strides(candidates: Iterable[Candidate]) -> Candidate | None:
    """Return the fastest of those in which all servers are joined along strides; None where there is none."""
    along = [row for row in candidates if row.fabric.wiring is None and not by_groups(row)]
    return min(along, key=lambda row: row.time_s, default=None)


def wiring_name(row: Candidate) -> str:
    """Return the family of wirings that a candidate is of."""
    if row.fabric.wiring is not None:
        return row.fabric.wiring.family
    return GROUPS if by_groups(row) else STRIDES


def chosen_wiring(job: Job, best: Candidate, looked_at: Iterable[Candidate]) -> ChosenWiring:
    """Return it; ``looked_at`` is what was simulated before gradient buckets were settled, as they are in ``job``."""
    made, topology = best.fabric.wiring, best.fabric.topology
    along = made is None and not by_groups(best)
    strides, time_s = best_strides(looked_at), best.time_s if along else None
    if time_s is None and strides is not None:
        time_s = strides.time_again_s(job)
    over = None if time_s is None else time_s / best.time_s - 1
    if made is not None:
        return ChosenWiring(made.family, made.group, made.recipe, time_s, over)
    if not along:
        return ChosenWiring(GROUPS, 1, {"degree_split": best.rules.degree_split}, time_s, over)
    group = topology.servers if topology.offsets else 1
    recipe = {"offsets": list(topology.offsets)} if topology.offsets else {}
    return ChosenWiring(STRIDES, group, recipe, time_s, over)
