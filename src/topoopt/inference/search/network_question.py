"""The noun NetworkQuestion: which networks servers may be joined by, and what of it is given."""

from dataclasses import dataclass

from topoopt.catalog import ClusterSpec
from topoopt.inference.fabrics.compared import Priced
from topoopt.inference.network.demand import USUAL, SentBy
from topoopt.inference.network.pairing import PAIRINGS


@dataclass(frozen=True, slots=True, eq=False)
class NetworkQuestion:
    """What is asked of networks.

    Attributes
    ----------
    cluster : ClusterSpec
        Servers and their ports.
    fabrics : tuple of str
        Names in :data:`topoopt.inference.SERVING_FABRICS`.
    priced : Priced
        How networks and servers are priced.
    pairings : tuple of str
        Names in :data:`topoopt.inference.PAIRINGS` that the router knows.
    sent : SentBy
        Formats of what experts are sent.
    """

    cluster: ClusterSpec
    fabrics: tuple[str, ...]
    priced: Priced
    pairings: tuple[str, ...] = tuple(PAIRINGS)
    sent: SentBy = USUAL
