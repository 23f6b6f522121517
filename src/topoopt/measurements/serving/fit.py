"""The fit of constants to measured runs: logarithms of factors at all levels, held back to none, by least squares."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import LinearOperator, cg

from topoopt.base.arrays import Floats, Ints
from topoopt.inference import CONSTANTS, Constants, Factors, ServedStack, constants_of_logs, row_logs
from topoopt.measurements.serving.columns import QUANTITIES, RunColumns, expected
from topoopt.measurements.serving.run import ServedRun

STEP = 1e-3
"""By which logarithms are moved to see what follows."""
ROUNDS = 25


@dataclass(frozen=True, slots=True)
class Observations:
    """Measured numbers of runs.

    Attributes
    ----------
    rows : array (m,) of int, the run of each
    quantities : sequence (m,) of str
    logs : array (m,), logarithms of what was measured
    spreads : array (m,), by how much the law is expected to miss them
    """

    rows: Ints
    quantities: Sequence[str]
    logs: Floats
    spreads: Floats


@dataclass(frozen=True, slots=True)
class Problem:
    """What constants are fitted to.

    Attributes
    ----------
    columns : RunColumns
    seen : Observations
    members : array (n, levels) of int: which names each run has, -1 for one that is not known
    offsets : array (n, constants), logarithms that are given beside what is fitted
    """

    columns: RunColumns
    seen: Observations
    members: Ints
    offsets: Floats


def fit_factors(problem: Problem, start: Factors, spreads: Floats, rounds: int = ROUNDS) -> Factors:
    """Return factors that bring the law near to what was measured, and stay near to the start.

    Gauss-Newton steps, damped; misses far beyond their spread count as a Cauchy distribution has them.

    Parameters
    ----------
    spreads
        Array (1 + names, constants): how far the base and the factors of each name may be from the start.
    """
    here, damping = start, 1.0
    best = _loss(problem, here, start, spreads)
    for _ in range(rounds):
        moved = _step(problem, here, start, spreads, damping)
        loss = _loss(problem, moved, start, spreads)
        if not loss < best:
            damping *= 6
            continue
        done = best - loss < 1e-4 * best
        here, best, damping = moved, loss, damping / 4
        if done:
            break
    return here


def _misses(problem: Problem, logs: Floats) -> Floats:
    values, seen = expected(problem.columns, constants_of_logs(problem.offsets + logs)), problem.seen
    table = np.stack([values[name] for name in QUANTITIES])
    places = np.array([QUANTITIES.index(name) for name in seen.quantities])
    return np.asarray((np.log(table[places, seen.rows]) - seen.logs) / seen.spreads)


def _loss(problem: Problem, here: Factors, start: Factors, spreads: Floats) -> float:
    misses = _misses(problem, row_logs(here, problem.members))
    away = np.vstack([here.base - start.base, here.logs - start.logs]) / spreads
    return float(np.log1p(misses**2 / 4).sum() * 4 + (away**2).sum())


def _step(problem: Problem, here: Factors, start: Factors, spreads: Floats, damping: float) -> Factors:
    logs, rows = row_logs(here, problem.members), problem.seen.rows
    misses = _misses(problem, logs)
    weights = 1 / (1 + misses**2 / 4)
    slopes = _slopes(problem, logs, misses)
    jacobian = _jacobian(slopes, problem.members[rows], len(here.names))
    away = np.vstack([here.base - start.base, here.logs - start.logs])
    prior = (1 / spreads**2).ravel()
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


def _slopes(problem: Problem, logs: Floats, misses: Floats) -> Floats:
    """Return by how much each miss grows with each constant of its run, array (m, constants)."""
    slopes = np.empty((len(misses), len(CONSTANTS)))
    for place in range(len(CONSTANTS)):
        moved = logs.copy()
        moved[:, place] += STEP
        slopes[:, place] = (_misses(problem, moved) - misses) / STEP
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


SPREADS = {"tpot": 0.08, "ttft": 0.35, "prefill": 0.15, "e2e": 0.08, "throughput": 0.2, "prompt_rate": 0.2}
"""By how much, in logarithms, each quantity is expected to be missed: its weight in a fit."""
LONG_WAIT = 0.3
"""A first token that takes longer than this share of the answer hides a limit of admission."""
EARLY = 0.8
"""A whole run shorter than this share of its own tokens' time was stopped before its last token."""


def stack_of(run: ServedRun) -> ServedStack:
    """Return what of a run its constants depend on."""
    return ServedStack(
        run.model, run.accelerator, run.settings, run.engine, run.version, run.drafted, run.decode
    )


def why_not_scored(run: ServedRun, quantity: str) -> str:
    """Return why a measured number says nothing of the law; nothing where it does."""
    seen = run.measured
    if run.mode in ("agg", "disagg") and quantity in ("tpot", "ttft", "throughput"):
        if run.queue_limited:
            return "requests waited for admission, as the table says"
        decoding = seen.get("tpot", np.inf) * max(run.answer - 1, 1)
        if seen.get("ttft", 0.0) > LONG_WAIT * decoding:
            return f"ttft above {LONG_WAIT:g} of the time of the answer hides a limit of admission"
    if quantity == "e2e" and seen["e2e"] < EARLY * (run.answer - 1) * seen.get("tpot", 0.0):
        return "stopped before its last token, by its own time per token"
    return ""


def observations(runs: Sequence[ServedRun], columns: RunColumns, law: Constants) -> Observations:
    """Return what was measured of runs and is scored, of quantities that the law has."""
    values = expected(columns, law)
    found = [
        (row, name, np.log(run.measured[name]), SPREADS[name])
        for row, run in enumerate(runs)
        for name in QUANTITIES
        if run.measured.get(name, 0.0) > 0
        and not why_not_scored(run, name)
        and np.isfinite(values[name][row])
    ]
    rows, names, logs, spreads = zip(*found, strict=True) if found else ((), (), (), ())
    return Observations(np.array(rows, np.int64), names, np.array(logs, float), np.array(spreads, float))
