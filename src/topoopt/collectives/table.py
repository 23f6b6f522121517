"""The table of collective algorithms."""

from collections.abc import Mapping

from topoopt.collectives.all_to_all import all_to_all
from topoopt.collectives.double_binary_tree import double_binary_tree
from topoopt.collectives.halving_doubling import halving_doubling
from topoopt.collectives.hierarchical import hierarchical
from topoopt.collectives.multi_ring import multi_ring
from topoopt.collectives.parameter_server import parameter_server
from topoopt.collectives.ring import all_gather, reduce_scatter, ring
from topoopt.collectives.schedule import MakeSchedule, Schedule
from topoopt.errors import unknown_name

SCHEDULES: Mapping[str, MakeSchedule] = {
    "ring": ring,
    "multi-ring": multi_ring,
    "double-binary-tree": double_binary_tree,
    "halving-doubling": halving_doubling,
    "hierarchical": hierarchical,
    "reduce-scatter": reduce_scatter,
    "all-gather": all_gather,
    "all-to-all": all_to_all,
    "parameter-server": parameter_server,
}


def make_schedule(name: str, ranks: int) -> Schedule:
    """Return the named collective's steps on ``ranks`` ranks.

    Raises
    ------
    InvalidInput
        If the name is unknown or there are fewer than two ranks.

    Examples
    --------
    >>> len(make_schedule("ring", 4).steps)
    6
    """
    if name not in SCHEDULES:
        raise unknown_name("collective", name, SCHEDULES)
    return SCHEDULES[name](ranks)
