"""Expert loads of a layer predicted from those of the layer before, so that circuits can be wired ahead.

A token's experts in one layer say something about its experts in the next: the loads of layer l+1 are about P·x, with
x those of layer l and P column-stochastic (column j: where the tokens of expert j go next). P is the least-squares fit
to pairs of loads that were seen.

References
----------
.. [1] X. Liao et al., "MixNet", SIGCOMM 2025: prediction of expert loads by transition matrices between layers.
"""

from collections.abc import Sequence

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.transformers.experts.loads import ExpertLoads

MOST_STEPS = 2_000
TOLERANCE = 1e-9
"""Of an entry; the search for the transition ends where none changes by more."""


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
        better = _on_simplex(ahead - step * (ahead @ gram - target))
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
        Of the iteration to be predicted: layer l+1 is predicted from its layer l. The first layer, which nothing comes
        before, is predicted to be as it was last.

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


def _on_simplex(columns: Floats) -> Floats:
    """Return the nearest point to each column that is >= 0 and sums to 1 (Duchi et al., ICML 2008)."""
    height = len(columns)
    ordered = -np.sort(-columns, axis=0)
    excess = (np.cumsum(ordered, axis=0) - 1.0) / np.arange(1, height + 1)[:, None]
    last = (ordered > excess).sum(axis=0) - 1
    projected: Floats = np.maximum(columns - excess[last, np.arange(columns.shape[1])], 0.0)
    return projected
