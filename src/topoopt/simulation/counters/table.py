"""The table of counters: for each simulator, how what its links had sent by when is read."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.routing import Fabric
from topoopt.simulation.counters.first_come import first_come_counters
from topoopt.simulation.counters.link_counters import LinkCounters
from topoopt.simulation.counters.max_min import max_min_counters
from topoopt.simulation.counters.packets import packet_counters
from topoopt.simulation.result import SimResult


class CounterReader(Protocol):
    """How counters of one simulator are read."""

    def __call__(self, result: SimResult, fabric: Fabric, links: Ints) -> LinkCounters:
        """Return what some links, by their numbers, had sent by when.

        Parameters
        ----------
        result : SimResult
            Of that simulator on this fabric.
        """
        ...


COUNTER_READERS: Mapping[str, CounterReader] = {
    "analytic": first_come_counters,
    "flow": max_min_counters,
    "packet": packet_counters,
}


def link_counters(result: SimResult, fabric: Fabric, links: Ints | None = None) -> LinkCounters:
    """Return what links had sent by when in a simulation.

    Parameters
    ----------
    links : int64 array, optional
        Numbers in the topology; all where not given.

    Raises
    ------
    InvalidInput
        If the fabric's circuits change over time: none of its links is there for all of an iteration.
    """
    if fabric.reconfiguration is not None:
        raise InvalidInput(
            f"fabric {fabric.name}: its circuits change within an iteration, so no link has a profile; "
            "take a fabric whose links stay"
        )
    wanted = np.arange(len(fabric.topology)) if links is None else np.asarray(links, np.int64)
    return COUNTER_READERS[result.simulator](result, fabric, wanted)
