"""The noun NextHops: the entries of forwarding tables as a kernel takes them, by cable and with whole weights."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.routing.forwarding.addressing import Addressing
from topoopt.routing.forwarding.tables import ForwardingTables
from topoopt.routing.forwarding.weights import LARGEST_WEIGHT, integer_weights


@dataclass(frozen=True, slots=True)
class NextHops:
    """The ends of cables over which each entry sends; links of several ports are as many next hops.

    Attributes
    ----------
    first : int64 array, shape (entries+1,)
    end : int64 array, shape (hops,)
        The end of a cable at the server itself; bytes go to the other.
    weight : int64 array, shape (hops,)
    error : float
        By how much a share of an entry differs at most from what the tables say.
    """

    first: Ints
    end: Ints
    weight: Ints
    error: float


def next_hops(tables: ForwardingTables, addressing: Addressing, largest: int = LARGEST_WEIGHT) -> NextHops:
    """Return the next hops of every entry, where paths are pinned one of each.

    Parameters
    ----------
    largest : int
        The largest weight that whoever reads them takes.

    Raises
    ------
    InvalidInput
        If the cables are not those of the topology.
    """
    cable_first, cable_end = addressing.leaving(tables.topology)
    begin, ports = cable_first[tables.link], tables.topology.ports[tables.link].astype(np.int64)
    if tables.split == "pinned":  # each address has a cable of its own
        assert len(begin) == len(tables)
        one = np.ones(len(begin), np.int64)
        return NextHops(tables.hop_first, cable_end[begin + tables.turn % ports], one, 0.0)
    cable = np.repeat(begin - np.cumsum(ports) + ports, ports) + np.arange(ports.sum())
    share = np.repeat(tables.share / ports, ports)
    first = np.concatenate(([0], np.cumsum(ports)))[tables.hop_first]
    weight = integer_weights(first, share, largest)
    return NextHops(first, cable_end[cable], weight, _error(first, share, weight))


def _error(first: Ints, share: Floats, weight: Ints) -> float:
    entry = np.repeat(np.arange(len(first) - 1), np.diff(first))
    total = np.bincount(entry, weight)
    return float(np.abs(weight / total[entry] - share).max(initial=0.0))
