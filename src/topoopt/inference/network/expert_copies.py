"""How many copies of a token go to each server that holds experts: one for each expert, or one for a server."""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.transformers import ExpertLoads, expected_places, rank_shares, taken_shares
from topoopt.workloads.transformer import Experts


def server_copies(
    experts: Experts, servers_of_ranks: Ints, servers: int, relayed: bool, loads: ExpertLoads | None = None
) -> Floats:
    """Return the copies of a token that reach the experts on each server, shape (servers,).

    Averages over layers. Where tokens are relayed inside servers, one copy goes to a server however many of a token's
    experts are there; then what counts is how often at least one of them is.

    Parameters
    ----------
    servers_of_ranks : int64 array, shape (expert,)
        The server of each rank of an expert group; rank j holds the j-th block of experts.
    loads : ExpertLoads, optional
        Even where not given.

    Examples
    --------
    Of DeepSeek-V3's 8 experts a token, on 8 servers of 8 ranks, 3.63 servers have some.

    >>> from topoopt.workloads.transformer import find_transformer
    >>> experts, ranks = find_transformer("deepseek-v3").experts, np.repeat(np.arange(8), 8)
    >>> server_copies(experts, ranks, 8, True).sum().round(2), server_copies(experts, ranks, 8, False).sum()
    (np.float64(3.63), np.float64(8.0))
    """
    ranks = len(servers_of_ranks)
    even = np.full((1, ranks), 1.0 / ranks)
    by_rank = even if loads is None else rank_shares(taken_shares(loads, experts), ranks)
    by_server = np.zeros((len(by_rank), servers))
    np.add.at(by_server.T, servers_of_ranks, by_rank.T)
    if not relayed:
        return np.asarray(experts.per_token * by_server.mean(axis=0))
    shares, place = np.unique(by_server, return_inverse=True)
    visits = np.array([_visits(experts, share) for share in shares.tolist()])
    return np.asarray(visits[place].reshape(by_server.shape).mean(axis=0))


def _visits(experts: Experts, share: float) -> float:
    """Return how often a token goes to a server that has such a share of the experts."""
    if share <= 0:
        return 0.0
    if share >= 1:
        return 1.0
    groups = experts.route_groups, experts.groups_per_token
    return share * expected_places(experts.count, experts.per_token, 1 / share, *groups)
