"""Routed experts under a batch: how many are touched, on how many ranks, and the load of the busiest."""

import numpy as np

from topoopt.base.arrays import Floats

Number = float | Floats


def touched_experts(experts: Number, per_token: Number, tokens: Number) -> Floats:
    """Return how many different experts of a layer so many tokens meet, each choosing at random.

    Examples
    --------
    >>> touched_experts(256.0, 8.0, np.array([1.0, 64.0])).round(2).tolist()
    [8.0, 222.44]
    """
    return np.asarray(experts * (1 - (1 - per_token / experts) ** tokens))


def touched_ranks(ranks: Number, per_token: Number) -> Floats:
    """Return how many different ranks the experts of a token lie on, spread at random.

    Examples
    --------
    >>> round(float(touched_ranks(32.0, 8.0)), 3)
    7.178
    """
    return np.asarray(ranks * (1 - (1 - 1 / ranks) ** per_token))


def busiest_over_mean(mean_load: Floats, ranks: Floats) -> Floats:
    """Return the load of the busiest rank over the mean one, of choices at random.

    The largest of ``ranks`` Poisson loads of mean ``mu`` is about ``mu + sqrt(2 mu ln ranks)``.
    """
    return 1 + np.sqrt(2 * np.log(np.maximum(ranks, 1.0)) / np.maximum(mean_load, 1e-9))
