"""The noun ExpertLoads: how tokens are spread over the experts of each layer, and over the ranks that hold them."""

import math
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.workloads.transformer import Experts, TransformerModel


@dataclass(frozen=True, eq=False)
class ExpertLoads:
    """The share of the routed tokens that each expert gets, in each layer that has experts.

    Attributes
    ----------
    layers : tuple of int
        Numbers of those layers in the model, counted from 0.
    shares : float64 array, shape (layers, experts)
        Every row sums to 1.
    """

    layers: tuple[int, ...]
    shares: Floats

    def __post_init__(self) -> None:
        if self.shares.ndim != 2 or len(self.shares) != len(self.layers):
            raise InvalidInput(
                f"expert loads: {len(self.layers)} layers need as many rows, got shape {self.shares.shape}"
            )
        bad = ~np.isfinite(self.shares).all(axis=1) | (self.shares < 0).any(axis=1)
        bad |= ~(np.abs(self.shares.sum(axis=1) - 1.0) < 1e-9)
        if bad.any():
            layer = self.layers[int(bad.argmax())]
            raise InvalidInput(f"expert loads: layer {layer}: shares must be >= 0 and sum to 1")

    @property
    def experts(self) -> int:
        """Routed experts of a layer."""
        return int(self.shares.shape[1])


def experts_of(model: TransformerModel) -> Experts:
    """Return the model's experts.

    Raises
    ------
    InvalidInput
        If it has none.
    """
    if model.experts is None:
        raise InvalidInput(
            f"expert loads: {model.name} has no experts; name a mixture of experts such as mixtral-8x7b"
        )
    return model.experts


def expert_layers(model: TransformerModel) -> tuple[int, ...]:
    """Return the numbers of the layers that have experts."""
    return tuple(layer for layer in range(model.layers) if model.is_moe(layer))


def uniform_loads(model: TransformerModel) -> ExpertLoads:
    """Return loads where every expert gets the same."""
    layers, count = expert_layers(model), experts_of(model).count
    return ExpertLoads(layers, np.full((len(layers), count), 1.0 / count))


def zipf_loads(model: TransformerModel, exponent: float = 1.0, seed: int = 0) -> ExpertLoads:
    """Return loads where the r-th busiest expert of a layer gets a share in proportion to ``r**-exponent``.

    Which expert is the r-th busiest is drawn anew for each layer.

    Raises
    ------
    InvalidInput
        If the exponent is negative or no number; 0 is uniform.
    """
    if not 0.0 <= exponent < math.inf:
        raise InvalidInput(f"expert loads: the exponent of Zipf's law must be >= 0, got {exponent}")
    layers, count = expert_layers(model), experts_of(model).count
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    rows = np.tile(weights / weights.sum(), (len(layers), 1))
    return ExpertLoads(layers, np.random.default_rng(seed).permuted(rows, axis=1))


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


def hottest_rank(shares: Floats, ep: int) -> float:
    """Return the tokens of the busiest rank of an expert group, over the even share, on average over the layers.

    In every layer all ranks wait for the one that gets most: it has the longest matrix products and receives most.

    Parameters
    ----------
    shares : float64 array, shape (layers, experts)
        As of :func:`taken_shares`.

    Examples
    --------
    >>> hottest_rank(np.array([[0.5, 0.25, 0.25, 0.0]]), 2)
    1.5
    """
    return float(ep * rank_shares(shares, ep).max(axis=-1).mean())


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
