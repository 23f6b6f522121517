"""From expert loads to how many tokens each rank of an expert group sends to each."""

import numpy as np

from topoopt.errors import InvalidInput
from topoopt.llm.columns import Floats
from topoopt.llm.experts.loads import ExpertLoads
from topoopt.transformer import Experts


def taken_shares(loads: ExpertLoads, experts: Experts) -> Floats:
    """Return the shares that are sent: where experts have a capacity, what exceeds it is dropped.

    Shape (layers, experts). A row then sums to less than 1.
    """
    if experts.capacity_factor <= 0:
        return loads.shares
    return np.minimum(loads.shares, experts.capacity_factor / experts.count)


def rank_shares(shares: Floats, ep: int) -> Floats:
    """Return the share of each rank of an expert group, shape (…, ep): rank j has the j-th block of experts.

    Raises
    ------
    InvalidInput
        If ``ep`` does not divide the number of experts.
    """
    experts = shares.shape[-1]
    if ep < 1 or experts % ep:
        allowed = ", ".join(str(degree) for degree in range(1, experts + 1) if experts % degree == 0)
        raise InvalidInput(f"ep: {ep} does not divide {experts} experts; allowed: {allowed}")
    blocks: Floats = shares.reshape(*shares.shape[:-1], ep, experts // ep).sum(axis=-1)
    return blocks


def token_matrix(shares: Floats, ep: int, tokens: float, per_token: int) -> Floats:
    """Return how many tokens go from each rank of an expert group to each, the diagonal included.

    Parameters
    ----------
    shares : float64 array, shape (…, experts)
        Of one layer, or of several.
    tokens : float
        That each rank holds; every rank's go to the experts by the same shares.
    per_token : int
        Experts that a token goes to.

    Returns
    -------
    float64 array, shape (…, ep, ep)
        ``[source, destination]``.

    Examples
    --------
    >>> token_matrix(np.array([0.5, 0.25, 0.25, 0.0]), 2, 100.0, 2)
    array([[150.,  50.],
           [150.,  50.]])
    """
    to_rank = tokens * per_token * rank_shares(shares, ep)
    return np.repeat(to_rank[..., None, :], ep, axis=-2)
