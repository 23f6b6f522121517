"""What a plan says of its wiring: family, recipe, and how much faster it is than the best strides."""

from collections.abc import Iterable

from topoopt.finder import STRIDES
from topoopt.plan import ChosenWiring
from topoopt.search.candidate import Candidate


def chosen_wiring(best: Candidate, others: Iterable[Candidate]) -> ChosenWiring:
    """Return it; ``others`` are what was simulated beside the best."""
    times_s = [row.time_s for row in (best, *others) if row.fabric.wiring is None]
    strides_time_s = min(times_s, default=None)
    over = None if strides_time_s is None else strides_time_s / best.time_s - 1
    made, topology = best.fabric.wiring, best.fabric.topology
    if made is not None:
        return ChosenWiring(made.family, made.group, made.recipe, strides_time_s, over)
    group = topology.servers if topology.offsets else 1
    recipe = {"offsets": list(topology.offsets)} if topology.offsets else {}
    return ChosenWiring(STRIDES, group, recipe, strides_time_s, over)
