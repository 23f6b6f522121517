"""How many hops bytes travel, and what that costs: path lengths and the bandwidth tax."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.routing.coin_change import CoinTable


def coin_length_distribution(table: CoinTable) -> Floats:
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
