"""How many hops bytes travel, and what that costs: path lengths and the bandwidth tax."""

import numpy as np
from numpy.typing import NDArray

from topoopt.routing.coin_change import CoinTable
from topoopt.routing.coin_routes import CoinChangeRoutes
from topoopt.routing.link_loads import all_pair_links
from topoopt.routing.routes import Routes
from topoopt.topology import Topology


def hop_counts(topology: Topology, routes: Routes) -> NDArray[np.float64]:
    """Return the mean hops of every ordered pair of servers, shape (servers, servers), 0 on the diagonal."""
    n = topology.servers
    if isinstance(routes, CoinChangeRoutes) and routes.topology is topology:
        server = np.arange(n)
        return np.take(routes.table.distance.astype(np.float64), (server - server[:, None]) % n)
    return all_pair_links(topology, routes).mean_hops().reshape(n, n)


def path_length_distribution(topology: Topology, routes: Routes) -> NDArray[np.float64]:
    """Return the share of ordered pairs within 1, 2, 3, … hops; the last entry is 1.

    A pair whose paths differ in length counts with its mean, rounded up.
    """
    if isinstance(routes, CoinChangeRoutes) and routes.topology is topology:
        return coin_length_distribution(routes.table)
    hops = hop_counts(topology, routes)
    pairs = hops[~np.eye(len(hops), dtype=bool)]
    histogram = np.bincount(np.ceil(pairs - 1e-9).astype(np.int64))[1:]
    return np.cumsum(histogram) / len(pairs)


def coin_length_distribution(table: CoinTable) -> NDArray[np.float64]:
    """Return the share of ordered pairs within 1, 2, 3, … hops on the circulant of a coin table.

    Examples
    --------
    >>> from topoopt.routing import coin_change_mod
    >>> coin_length_distribution(coin_change_mod(12, (1, 5, 7, 11))).round(3).tolist()
    [0.364, 0.818, 1.0]
    """
    return np.cumsum(table.histogram()[1:]) / (table.n - 1)


def bandwidth_tax(ratio: float, average_hops: float) -> float:
    """Return bytes on links over bytes demanded, AllReduce bytes travelling one hop and MP bytes several.

    Parameters
    ----------
    ratio : float
        All-to-all bytes over AllReduce bytes.
    average_hops : float
        Mean hops of the all-to-all bytes.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, section 5.4.

    Examples
    --------
    >>> round(bandwidth_tax(0.8 * 64 / 2048, 5.622), 2)
    1.11
    """
    return (1 + ratio * average_hops) / (1 + ratio)
