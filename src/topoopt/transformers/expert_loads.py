"""ExpertLoads: distribution of tokens over the experts of each layer, and over their ranks.

Expert loads of a layer predicted from those of the layer before, so that circuits can be wired ahead.

A token's experts in one layer are correlated with its experts in the next: the loads of layer l+1 are about P·x, with
x those of layer l and P column-stochastic (column j: where the tokens of expert j go next). P is the least-squares fit
to observed pairs of loads.

References
----------
.. [1] X. Liao et al., "MixNet", SIGCOMM 2025: prediction of expert loads by transition matrices between layers.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

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
    """Return the shares that are sent: where experts have a capacity, excess tokens are dropped.

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
        As returned by :func:`taken_shares`.

    Examples
    --------
    >>> hottest_rank(np.array([[0.5, 0.25, 0.25, 0.0]]), 2)
    1.5
    """
    return float(ep * rank_shares(shares, ep).max(axis=-1).mean())


def token_matrix(shares: Floats, ep: int, tokens: float, per_token: int) -> Floats:
    """Return the tokens from each rank of an expert group to each, including itself.

    Parameters
    ----------
    shares : float64 array, shape (…, experts)
        Shares in one layer, or in several.
    tokens : float
        Tokens on each rank; every rank's go to the experts by the same shares.
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


SPREAD_AT_LAST = 0.1
"""Standard deviation of the logarithms of shares towards which :func:`loads_over_iterations` goes."""
SETTLING_ITERATIONS = 1000.0
"""Iterations in which the distance to that shrinks by a factor e."""
MEMORY_ITERATIONS = 50.0
"""Iterations in which the correlation of an expert's load with its own past shrinks by a factor e."""
LATEST = 100_000
"""The latest iteration that :func:`loads_at` goes to, step by step."""


def loads_over_iterations(first: ExpertLoads, seed: int = 0) -> Iterator[ExpertLoads]:
    """Yield loads of iteration 0, 1, 2 … without end; they wander, and grow more uniform.

    In each layer the logarithms of the shares are ``spread(i)·z(i)``. ``z`` is an autoregressive walk of unit
    variance, ``z(i+1) = r·z(i) + sqrt(1-r²)·noise`` with ``r = exp(-1/MEMORY_ITERATIONS)``. The spread goes from
    that of ``first`` to ``SPREAD_AT_LAST`` as ``exp(-i/SETTLING_ITERATIONS)``, and is never made wider: uniform loads
    stay uniform. The process is ours. It has the two published properties (loads change from one iteration to the
    next, and grow more uniform as training goes on; the MixNet paper), and its constants can be set from measurements.

    The constants are assumptions: :data:`SPREAD_AT_LAST`, :data:`SETTLING_ITERATIONS`, :data:`MEMORY_ITERATIONS`.
    """
    noise = np.random.default_rng((seed, 1))  # another stream than that of the first loads
    logs = np.log(np.maximum(first.shares, 1e-6 / first.experts))
    logs -= logs.mean(axis=1, keepdims=True)
    widest = logs.std(axis=1, keepdims=True)
    narrowest = np.minimum(widest, SPREAD_AT_LAST)
    walk = logs / np.where(widest > 0, widest, 1.0)
    keep = math.exp(-1.0 / MEMORY_ITERATIONS)
    yield first
    iteration = 0
    while True:
        iteration += 1
        walk = keep * walk + math.sqrt(1.0 - keep * keep) * noise.standard_normal(walk.shape)
        spread = narrowest + (widest - narrowest) * math.exp(-iteration / SETTLING_ITERATIONS)
        yield ExpertLoads(first.layers, _softmax(spread * walk))


def loads_at(first: ExpertLoads, iteration: int, seed: int = 0) -> ExpertLoads:
    """Return the loads of one iteration of :func:`loads_over_iterations`."""
    if not 0 <= iteration <= LATEST:
        raise InvalidInput(f"expert loads: iteration: expected one from 0 to {LATEST:,}, got {iteration}")
    return next(islice(loads_over_iterations(first, seed), iteration, None))


def _softmax(logs: Floats) -> Floats:
    weights: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


MOST_STEPS = 2_000
TOLERANCE = 1e-9
"""Tolerance per entry; the search for the transition ends when none changes by more."""


def fit_transition(before: Floats, after: Floats) -> Floats:
    """Return the column-stochastic P that minimizes ``|after - P·before|²`` over all samples.

    Accelerated projected gradients (FISTA), every column projected onto the simplex after each step. Where samples
    leave P open, it is the one reached from even columns.

    Parameters
    ----------
    before, after : float64 arrays, shape (samples, experts)
        Loads of one layer and of the next; every row sums to 1.

    Returns
    -------
    float64 array, shape (experts, experts)
        ``[next, before]``; every column is >= 0 and sums to 1.

    Raises
    ------
    InvalidInput
        If the samples are none, or not as many of both.

    Examples
    --------
    >>> fit_transition(np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])).round(6).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if before.shape != after.shape or before.ndim != 2 or not len(before):
        raise InvalidInput(
            f"expert prediction: need as many loads before as after, got {before.shape} and {after.shape}"
        )
    experts = before.shape[1]
    gram, target = before.T @ before, after.T @ before
    step = 1.0 / float(np.linalg.eigvalsh(gram)[-1])
    matrix = ahead = np.full((experts, experts), 1.0 / experts)
    momentum = 1.0
    for _ in range(MOST_STEPS):
        columns = ahead - step * (ahead @ gram - target)
        height = len(columns)
        ordered = -np.sort(-columns, axis=0)
        excess = (np.cumsum(ordered, axis=0) - 1.0) / np.arange(1, height + 1)[:, None]
        last = (ordered > excess).sum(axis=0) - 1
        better: Floats = np.maximum(columns - excess[last, np.arange(columns.shape[1])], 0.0)
        grown = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = better + (momentum - 1) / grown * (better - matrix)
        change, matrix, momentum = float(np.abs(better - matrix).max()), better, grown
        if change <= TOLERANCE:
            break
    return matrix


def predict_loads(history: Sequence[ExpertLoads], now: ExpertLoads) -> ExpertLoads:
    """Return the loads that each layer is predicted to have once those of the layer before it are known.

    Parameters
    ----------
    history : sequence of ExpertLoads
        Iterations seen so far, of the same layers; a transition is fitted to each two consecutive layers.
    now : ExpertLoads
        Loads of the iteration to be predicted: layer l+1 is predicted from its layer l. The first layer, which has
        no predecessor, is predicted to keep its last loads.

    Raises
    ------
    InvalidInput
        If nothing has been seen, or the layers differ.
    """
    if not history or any(one.layers != now.layers for one in history):
        raise InvalidInput("expert prediction: need at least one iteration of the same layers")
    seen = np.stack([one.shares for one in history])
    rows = [seen[-1, 0]]
    for layer in range(1, len(now.layers)):
        transition = fit_transition(seen[:, layer - 1], seen[:, layer])
        rows.append(transition @ now.shares[layer - 1])
    shares = np.stack(rows)
    return ExpertLoads(now.layers, shares / shares.sum(axis=1, keepdims=True))
