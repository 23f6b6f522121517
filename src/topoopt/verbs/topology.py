"""``topoopt.topology``: the best rings for so many servers and ports, and how far apart they leave the servers."""

from collections.abc import Sequence

from topoopt.finder import RingNetwork, ring_network
from topoopt.words import checked_arguments


@checked_arguments
def topology(
    servers: int, degree: int | None = None, *, links: str = "duplex", strides: str | Sequence[int] = "best"
) -> RingNetwork:
    """Choose the AllReduce rings of all servers, and return the network that they make together.

    Parameters
    ----------
    degree
        Ports of a server; not needed with a list of strides.
    links
        ``duplex`` (a port is a fiber pair to one neighbor) or ``directed`` (it sends to one and hears another).
    strides
        The rule that chooses the rings (``best``, ``nearest``, ``lower-bound``), or the strides themselves.

    Returns
    -------
    RingNetwork

    Raises
    ------
    InvalidInput
        For an unknown rule, or what cannot be wired.

    Examples
    --------
    >>> import topoopt
    >>> network = topoopt.topology(servers=128, degree=4)
    >>> network.strides, round(network.table.average_hops, 2)
    ((1, 15), 5.35)
    """
    return ring_network(servers, degree, links=links, strides=strides)
