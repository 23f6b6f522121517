"""Expert loads that change from one iteration to the next, and grow more uniform as training goes on."""

import math
from collections.abc import Iterator
from itertools import islice

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.transformers.experts.loads import ExpertLoads

SPREAD_AT_LAST = 0.1
"""Standard deviation of the logarithms of shares towards which :func:`loads_over_iterations` goes."""
SETTLING_ITERATIONS = 1000.0
"""Iterations in which the distance to that shrinks by a factor e."""
MEMORY_ITERATIONS = 50.0
"""Iterations in which the correlation of an expert's load with its own past shrinks by a factor e."""


LATEST = 100_000
"""The latest iteration that :func:`loads_at` goes to, step by step."""


def loads_over_iterations(
    first: ExpertLoads,
    seed: int = 0,
) -> Iterator[ExpertLoads]:
    """Yield loads of iteration 0, 1, 2 … without end; they wander, and grow more uniform.

    In each layer the logarithms of the shares are ``spread(i)·z(i)``. ``z`` is an autoregressive walk of unit
    variance, ``z(i+1) = r·z(i) + sqrt(1-r²)·noise`` with ``r = exp(-1/MEMORY_ITERATIONS)``. The spread goes from
    that of ``first`` to ``SPREAD_AT_LAST`` as ``exp(-i/SETTLING_ITERATIONS)``, and is never made wider: uniform loads
    stay uniform. The process is ours. It has the two published properties (loads change from one iteration to the
    next, and grow more uniform as training goes on; the MixNet paper), and whoever measures sets its constants.

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
