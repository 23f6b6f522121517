"""The fit of all factors of serving at once, and predictions of runs that a fit has not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import LinearOperator, cg

from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.inference.step.constants import CONSTANTS, Constants, Factors, level_names, members_of, row_logs
from topoopt.measurements import held_out
from topoopt.measurements.serving.columns import Observations, observations
from topoopt.measurements.serving.run import ServedRun

START = Constants(
    dense_memory=0.8,
    expert_memory=0.7,
    cache_memory=0.6,
    dense_compute=0.55,
    expert_compute=0.35,
    pair_compute=0.4,
    decode_compute=0.8,
    activation_passes=20.0,
    exchange_s=12e-6,
    layer_s=15e-6,
    step_s=5e-4,
    request_s=8e-6,
    prompt_layer_s=2e-4,
    prompt_step_s=8e-3,
    interference=0.8,
    wave=0.1,
    queue=1.0,
    batch_share=0.8,
)
"""Where fits begin: the size that each has by experience, before any run is looked at."""

LEVELS: Mapping[str, float] = {
    "engine": 0.4,
    "accelerator": 0.2,
    "format": 0.2,
    "kind": 0.2,
    "engine+accelerator": 0.2,
    "engine+kind": 0.2,
    "model": 0.2,
    "engine+split": 0.2,
    "release": 0.2,
    "stack": 0.2,
}
"""Levels, and by how much (standard deviation of the logarithm) constants of one name are expected to differ from those
of all. A constant is the product of its value for all and of its factors at all levels."""

BASE_SPREAD = 1.5
"""Of the logarithms of constants for all, which experience knows to a factor of a few."""


STEP = 1e-3
"""By which logarithms are moved to see what follows."""


@dataclass(frozen=True, slots=True)
class Material:
    """Runs made ready for fits: what was measured, and names at all levels.

    Attributes
    ----------
    members : array (n, levels) of int: which names each run has, -1 for one that is not known
    """

    runs: Sequence[ServedRun]
    names: Sequence[tuple[str, str]]
    members: Ints
    seen: Observations

    def take(self, chosen: Flags | Ints) -> "Material":
        """Return the same of some of what was measured."""
        return replace(self, seen=self.seen.take(chosen))


def material(runs: Sequence[ServedRun]) -> Material:
    """Return runs made ready for fits."""
    rows = [level_names(run.stack) for run in runs]
    names = sorted({one for row in rows for one in row.items()})
    return Material(runs, names, members_of(names, rows), observations(runs, START))


def fit_everything(ready: Material, scale: float = 1.0, rounds: int = 14) -> Factors:
    """Return factors that bring the law near to what was measured; ``scale`` times the spreads of levels.

    Gauss-Newton steps, damped, for there are thousands of factors; misses far beyond their spread count as a Cauchy
    distribution has them.
    """
    count = len(CONSTANTS)
    base = np.log([getattr(START, name) for name in CONSTANTS])
    start = Factors(base, ready.names, np.zeros((len(ready.names), count)))
    spreads = np.array([BASE_SPREAD, *(scale * LEVELS[level] for level, _ in ready.names)])[:, None]
    here, damping, best = start, 1.0, _loss(ready, start, start, spreads)
    for _ in range(rounds):
        moved = _step(ready, here, start, spreads, damping)
        loss = _loss(ready, moved, start, spreads)
        if not loss < best:
            damping *= 6
            continue
        done = best - loss < 1e-4 * best
        here, best, damping = moved, loss, damping / 4
        if done:
            break
    return here


def _misses(ready: Material, logs: Floats) -> Floats:
    return np.asarray((ready.seen.predicted_logs(logs) - ready.seen.logs) / ready.seen.spreads)


def _loss(ready: Material, here: Factors, start: Factors, spreads: Floats) -> float:
    misses = _misses(ready, row_logs(here, ready.members))
    away = np.vstack([here.base - start.base, here.logs - start.logs]) / spreads
    return float(np.log1p(misses**2 / 4).sum() * 4 + (away**2).sum())


def _step(ready: Material, here: Factors, start: Factors, spreads: Floats, damping: float) -> Factors:
    logs, rows = row_logs(here, ready.members), ready.seen.rows
    misses = _misses(ready, logs)
    weights = 1 / (1 + misses**2 / 4)
    slopes = _slopes(ready, logs, misses)
    jacobian = _jacobian(slopes, ready.members[rows], len(here.names))
    away = np.vstack([here.base - start.base, here.logs - start.logs])
    prior = np.broadcast_to(1 / spreads**2, away.shape).ravel()
    gradient = jacobian.T @ (weights * misses) + prior * away.ravel()
    change = _solved(jacobian, weights, prior * (1 + damping), -gradient).reshape(away.shape)
    return Factors(here.base + change[0], here.names, here.logs + change[1:])


def _solved(jacobian: csr_matrix, weights: Floats, prior: Floats, right: Floats) -> Floats:
    """Return what the normal equations give, by conjugate gradients: there are thousands of factors."""
    size = len(prior)
    diagonal = prior + jacobian.power(2).T @ weights
    normal = LinearOperator((size, size), lambda x: jacobian.T @ (weights * (jacobian @ x)) + prior * x)
    near = LinearOperator((size, size), lambda x: x / diagonal)
    solution, _ = cg(normal, right, rtol=1e-4, maxiter=400, M=near)
    return np.asarray(solution)


def _slopes(ready: Material, logs: Floats, misses: Floats) -> Floats:
    """Return by how much each miss grows with each constant of its run, array (m, constants)."""
    slopes = np.empty((len(misses), len(CONSTANTS)))
    for place in range(len(CONSTANTS)):
        moved = logs.copy()
        moved[:, place] += STEP
        slopes[:, place] = (_misses(ready, moved) - misses) / STEP
    return slopes


def _jacobian(slopes: Floats, members: Ints, names: int) -> csr_matrix:
    """Return the same of the base and of each name: a miss depends on one name of each level, by the same slope."""
    lines, count = slopes.shape
    own = np.concatenate([np.zeros((lines, 1), np.int64), members + 1], axis=1)
    used = np.concatenate([np.ones((lines, 1), bool), members >= 0], axis=1)
    entries = np.where(used[:, :, None], slopes[:, None, :], 0.0)
    places = own[:, :, None] * count + np.arange(count)
    starts = np.arange(lines + 1) * (own.shape[1] * count)
    return csr_matrix((entries.ravel(), places.ravel(), starts), (lines, (1 + names) * count))


def predicted_logs(ready: Material, factors: Factors) -> Floats:
    """Return logarithms of what is predicted of every observation."""
    return ready.seen.predicted_logs(row_logs(factors, ready.members))


def held_out_logs(ready: Material, parts: Ints, scale: float = 1.0, rounds: int = 14) -> Floats:
    """Return predictions of every observation by a fit without its part, parts (n,) of runs being numbered."""
    return held_out(
        parts[ready.seen.rows],
        lambda others: fit_everything(ready.take(others), scale, rounds),
        lambda factors, own: predicted_logs(ready.take(own), factors),
    )
