"""One's own calibration: factors on the shipped constants, fitted to a few runs of one's own stack."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from topoopt.base.answers import shows_itself
from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.inference import CONSTANTS, Factors, constants_of_logs, engine_family, shipped_logs
from topoopt.measurements.serving.columns import expected, run_columns
from topoopt.measurements.serving.fit import Observations, Problem, fit_factors, observations, stack_of
from topoopt.measurements.serving.run import ServedRun, read_run_table, read_runs
from topoopt.schema.files import Strict, read_json, validated, write_atomically

OWN_SPREAD = 0.35
"""By how much constants of one's own stack are expected to differ from the shipped ones, in logarithms."""

FEWEST = 2
"""Measured numbers without which nothing is fitted."""


@dataclass(frozen=True, slots=True)
class OwnCalibration:
    """Factors on the shipped constants.

    Attributes
    ----------
    name : str
    factors : mapping
        By constant.
    engines, accelerators : tuple of str
        Of the runs it was fitted to; for others shipped constants stay as they are.
    """

    name: str
    factors: Mapping[str, float] = field(hash=False)
    engines: tuple[str, ...]
    accelerators: tuple[str, ...]

    def corrected(self, runs: Sequence[ServedRun], logs: Floats) -> Floats:
        """Return logarithms of constants of runs with the factors of those that are of its stack."""
        ours = np.array(
            [
                engine_family(run.engine) in self.engines and run.accelerator.name in self.accelerators
                for run in runs
            ]
        )
        factors = np.log([self.factors.get(name, 1.0) for name in CONSTANTS])
        return logs + np.where(ours[:, None], factors, 0.0)


@shows_itself
@dataclass(frozen=True)
class OwnFit:
    """A calibration of one's own, and errors before and after, in percent of what was measured.

    Attributes
    ----------
    calibration : OwnCalibration
    runs_file : str
    runs : int
    before, after : mapping
        Mean absolute error by quantity: of shipped constants, and of the fitted ones on the same runs.
    left_out : mapping
        The same of each run by a fit to all others; empty where the others are too few.
    """

    calibration: OwnCalibration
    runs_file: str
    runs: int
    before: Mapping[str, float]
    after: Mapping[str, float]
    left_out: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the factors and the errors."""
        return {
            "runs_file": self.runs_file,
            "runs": self.runs,
            "engines": list(self.calibration.engines),
            "accelerators": list(self.calibration.accelerators),
            "factors": dict(self.calibration.factors),
            "mape": {
                "before": dict(self.before),
                "after": dict(self.after),
                "left_out": dict(self.left_out),
            },
        }


class _File(Strict):
    engines: list[str]
    accelerators: list[str]
    factors: dict[str, float]


def fit_own_file(path: str) -> OwnFit:
    """Return a calibration fitted to the runs of a table.

    Raises
    ------
    InvalidInput
        If the file is no such table, or has too little to fit to; then with the reason of its first row.
    """
    runs, others = read_runs(read_run_table(path))
    if not runs:
        raise InvalidInput(f"{path}: no row is modelled; {others[0].name}: {others[0].why}")
    return fit_own(runs, path)


def fit_own(runs: Sequence[ServedRun], runs_file: str) -> OwnFit:
    """Return a calibration fitted to runs of one's own stack.

    Raises
    ------
    InvalidInput
        If there is too little to fit to.
    """
    logs = shipped_logs([stack_of(run) for run in runs])
    problem = own_problem(runs, logs)
    count = len(problem.seen.rows)
    if count < FEWEST:
        raise InvalidInput(
            f"{runs_file}: calibrating needs {FEWEST} measured numbers that the law has, got {count}; "
            "give rows with ttft_ms, tpot_ms, e2e_ms or out_tok_s"
        )
    moved = own_logs(problem)
    engines = tuple(sorted({engine_family(run.engine) for run in runs}))
    parts = tuple(sorted({run.accelerator.name for run in runs}))
    factors = dict(zip(CONSTANTS, np.exp(moved).tolist(), strict=True))
    return OwnFit(
        OwnCalibration(runs_file, factors, engines, parts),
        runs_file,
        len(runs),
        _errors(problem, np.zeros(len(CONSTANTS))),
        _errors(problem, moved),
        _left_out(problem),
    )


def own_problem(runs: Sequence[ServedRun], logs: Floats) -> Problem:
    """Return the fit of one factor for each constant, on logarithms of constants of each run."""
    columns = run_columns(runs)
    seen = observations(runs, columns, constants_of_logs(logs))
    return Problem(columns, seen, np.zeros((len(runs), 0), np.int64), logs)


def own_logs(problem: Problem) -> Floats:
    """Return logarithms of factors, array (constants,)."""
    count = len(CONSTANTS)
    start = Factors(np.zeros(count), (), np.zeros((0, count)))
    return fit_factors(problem, start, np.full((1, count), OWN_SPREAD)).base


def part_of(problem: Problem, chosen: Ints) -> Problem:
    """Return the fit to the observations of some runs only."""
    taken = np.isin(problem.seen.rows, chosen)
    seen = problem.seen
    names = [name for name, one in zip(seen.quantities, taken, strict=True) if one]
    part = Observations(seen.rows[taken], names, seen.logs[taken], seen.spreads[taken])
    return Problem(problem.columns, part, problem.members, problem.offsets)


def own_misses(problem: Problem, moved: Floats) -> Floats:
    """Return by what share each observation is missed with such factors, array (m,)."""
    values = expected(problem.columns, constants_of_logs(problem.offsets + moved))
    pairs = zip(problem.seen.quantities, problem.seen.rows, strict=True)
    return np.array([values[name][row] for name, row in pairs]) / np.exp(problem.seen.logs) - 1


def _errors(problem: Problem, moved: Floats) -> dict[str, float]:
    return _by_quantity(problem.seen.quantities, own_misses(problem, moved))


def _by_quantity(names: Sequence[str], misses: Floats) -> dict[str, float]:
    chosen = np.asarray(names)
    return {str(name): float(100 * np.abs(misses[chosen == name]).mean()) for name in np.unique(chosen)}


def _left_out(problem: Problem) -> dict[str, float]:
    rows = np.unique(problem.seen.rows)
    if len(rows) <= FEWEST:
        return {}
    misses = np.empty(len(problem.seen.rows))
    for part in np.array_split(rows, min(len(rows), 10)):
        moved = own_logs(part_of(problem, np.setdiff1d(rows, part)))
        own = np.isin(problem.seen.rows, part)
        misses[own] = own_misses(problem, moved)[own]
    return _by_quantity(problem.seen.quantities, misses)


def write_serving_calibration(path: str, calibration: OwnCalibration) -> None:
    """Write a calibration of one's own, JSON."""
    document = {
        "engines": list(calibration.engines),
        "accelerators": list(calibration.accelerators),
        "factors": {name: round(value, 5) for name, value in calibration.factors.items()},
    }
    write_atomically(path, json.dumps(document, indent=2) + "\n")


def read_serving_calibration(path: str) -> OwnCalibration:
    """Return a calibration from its file.

    Raises
    ------
    InvalidInput
        If the file is none: unknown constants, or factors that are not positive.
    """
    found = validated(_File, read_json(path), path)
    for name, value in found.factors.items():
        if name not in CONSTANTS:
            raise InvalidInput(f"{path}: factors.{name}: no such constant; known: {', '.join(CONSTANTS)}")
        if not 0 < value < 1e6:
            raise InvalidInput(f"{path}: factors.{name}: expected a positive number, got {value:g}")
    return OwnCalibration(path, found.factors, tuple(found.engines), tuple(found.accelerators))
