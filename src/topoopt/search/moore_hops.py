"""How far the servers of any wiring are apart at least: Moore's tree, server by server."""

import numpy as np
from numpy.typing import NDArray

from topoopt.topologies import moore_histogram


def moore_hops(servers: int, degree: int, links: str) -> NDArray[np.int64]:
    """Return the fewest hops to the 1st, 2nd, … other server in any graph of this degree, shape (servers-1,).

    Examples
    --------
    >>> moore_hops(8, 3, "duplex").tolist()
    [1, 1, 1, 2, 2, 2, 2]
    """
    met = list(moore_histogram(servers, degree, links))
    return np.repeat(np.arange(1, len(met) + 1), met)
