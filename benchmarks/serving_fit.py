"""The fit of all factors of serving at once, and predictions of runs that a fit has not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.inference.step.constants import (
    CONSTANTS,
    Constants,
    Factors,
    constants_of_logs,
    level_names,
    members_of,
    row_logs,
)
from topoopt.measurements.serving.columns import RunColumns, expected, run_columns
from topoopt.measurements.serving.fit import Observations, Problem, fit_factors, observations, stack_of
from topoopt.measurements.serving.run import ServedRun

START = Constants(
    dense_memory=0.8,
    expert_memory=0.7,
    cache_memory=0.6,
    dense_compute=0.55,
    expert_compute=0.35,
    pair_compute=0.4,
    decode_compute=0.8,
    link=0.5,
    network=0.5,
    reduce_s=6e-6,
    reduce_double_s=1.5e-6,
    network_reduce_s=15e-6,
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
