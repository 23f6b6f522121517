"""The fit of all factors at once: what makes the constants that are shipped, and their errors on runs left out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.arrays import Flags, Floats, Ints
from topoopt.serving.calibration.fit import (
    CONSTANTS,
    Factors,
    Observations,
    Problem,
    constants_of_logs,
    fit_factors,
    members_of,
    row_logs,
)
from topoopt.serving.calibration.levels import LEVELS, level_names
from topoopt.serving.calibration.start import START
from topoopt.serving.runs.columns import RunColumns, run_columns
from topoopt.serving.runs.law import expected
from topoopt.serving.runs.observed import observations, stack_of
from topoopt.serving.runs.run import ServedRun

BASE_SPREAD = 1.5
"""Of the logarithms of constants for all, which experience knows to a factor of a few."""


@dataclass(frozen=True, slots=True)
class Material:
    """Runs made ready for fits: columns, names at all levels, what was measured."""

    runs: Sequence[ServedRun]
    columns: RunColumns
    names: Sequence[tuple[str, str]]
    members: Ints
    seen: Observations


def material(runs: Sequence[ServedRun]) -> Material:
    """Return runs made ready for fits."""
    columns = run_columns(runs)
    rows = [level_names(stack_of(run)) for run in runs]
    names = sorted({one for row in rows for one in row.items()})
    seen = observations(runs, columns, START)
    return Material(runs, columns, names, members_of(names, rows), seen)


def fit_everything(ready: Material, chosen: Flags, scale: float = 1.0, rounds: int = 14) -> Factors:
    """Return factors fitted to the chosen runs, array (n,); ``scale`` times the spreads of levels."""
    seen = ready.seen
    taken = chosen[seen.rows]
    part = Observations(
        seen.rows[taken],
        [name for name, one in zip(seen.quantities, taken, strict=True) if one],
        seen.logs[taken],
        seen.spreads[taken],
    )
    count = len(CONSTANTS)
    base = np.log([getattr(START, name) for name in CONSTANTS])
    start = Factors(base, ready.names, np.zeros((len(ready.names), count)))
    spreads = np.array([BASE_SPREAD, *(scale * LEVELS[level] for level, _ in ready.names)])
    problem = Problem(ready.columns, part, ready.members, np.zeros((len(ready.runs), count)))
    return fit_factors(problem, start, np.tile(spreads[:, None], (1, count)), rounds)


def predicted_logs(ready: Material, factors: Factors) -> Floats:
    """Return logarithms of what is predicted of every observation."""
    values = expected(ready.columns, constants_of_logs(row_logs(factors, ready.members)))
    pairs = zip(ready.seen.quantities, ready.seen.rows, strict=True)
    return np.log([values[name][row] for name, row in pairs])


def held_out_logs(ready: Material, parts: Ints, scale: float = 1.0, rounds: int = 14) -> Floats:
    """Return predictions of every observation by a fit without its part, parts (n,) of runs being numbered."""
    logs = np.full(len(ready.seen.rows), np.nan)
    for part in np.unique(parts):
        fitted = fit_everything(ready, parts != part, scale, rounds)
        own = parts[ready.seen.rows] == part
        logs[own] = predicted_logs(ready, fitted)[own]
    return logs
