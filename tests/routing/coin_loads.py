"""What links carry under coin-change routes where demand depends on distance alone."""

import numpy as np
from numpy.typing import NDArray

from topoopt.routing import CoinChangeRoutes


def class_bytes(routes: CoinChangeRoutes, demand_by_distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bytes on any one link of each coin, shape (coins,)."""
    server = np.arange(len(demand_by_distance))
    demand = demand_by_distance[(server - server[:, None]) % len(server)]
    by_server_and_coin = routes.link_bytes(demand)[routes.link_of]
    assert np.allclose(by_server_and_coin, by_server_and_coin[0])
    return np.asarray(by_server_and_coin[0], np.float64)
