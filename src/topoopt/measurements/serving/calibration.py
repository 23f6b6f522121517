"""A calibration of serving: factors on the shipped constants, fitted to a few runs of one's own stack."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.inference import CONSTANTS, constants_of_logs, engine_family, shipped_logs
from topoopt.measurements.fit import FOLDS, CalibrationFit, Constant, fit_constants, held_out, random_parts
from topoopt.measurements.score import errors_by
from topoopt.measurements.serving.observations import Observations, observations
from topoopt.measurements.serving.run import ServedRun, read_runs
from topoopt.schema.files import Strict, read_json, validated, write_atomically
from topoopt.transformers import Bounds

FACTOR = Bounds(1e-6, 1e6, 0.35, "")
"""Factors on the shipped constants; the spread is by how much those of one's own stack are expected to differ."""
FEWEST = 2
"""Measured numbers without which nothing is fitted."""


@dataclass(frozen=True, slots=True)
class ServingCalibration:
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
        stacks = [run.stack for run in runs]
        ours = [
            engine_family(one.engine) in self.engines and one.accelerator.name in self.accelerators
            for one in stacks
        ]
        return logs + np.where(np.array(ours)[:, None], factor_logs(self.factors), 0.0)


def factor_logs(factors: Mapping[str, float]) -> Floats:
    """Return the logarithms of factors, array (constants,)."""
    return np.log([factors.get(name, 1.0) for name in CONSTANTS])


class _File(Strict):
    engines: list[str]
    accelerators: list[str]
    factors: dict[str, float]


def fit_serving(path: str) -> CalibrationFit[ServingCalibration]:
    """Return a calibration fitted to the runs of a table.

    Raises
    ------
    InvalidInput
        If the file is no such table, or has too little to fit to; then with the reason of its first row.
    """
    table = read_runs(path)
    runs = table.runs
    if not runs:
        first = table.not_scored[0]
        raise InvalidInput(f"{path}: no row is modelled; {first.row.name}: {first.reason}")
    logs = shipped_logs([run.stack for run in runs])
    seen = observations(runs, constants_of_logs(logs))
    if len(seen.rows) < FEWEST:
        raise InvalidInput(
            f"{path}: calibrating needs {FEWEST} measured numbers that the law has, got {len(seen.rows)}; "
            "give rows with ttft_ms, tpot_ms, e2e_ms or out_tok_s"
        )
    factors = fit_factors(seen, logs)
    stacks = [f"{run.stack.engine} {run.stack.model.name} {run.stack.accelerator.name}" for run in runs]
    stack = np.unique(stacks, return_inverse=True)[1] % FOLDS
    kinds = {
        "before": seen.percents_off(logs),
        "in_sample": seen.percents_off(logs + factor_logs(factors)),
        "cross_validated": _held_out(seen, logs, random_parts(len(runs), 0)[seen.rows]),
        "leave_one_stack_out": _held_out(seen, logs, stack[seen.rows]),
    }
    engines = tuple(sorted({engine_family(run.stack.engine) for run in runs}))
    parts = tuple(sorted({run.stack.accelerator.name for run in runs}))
    return CalibrationFit(
        path,
        len(runs),
        ServingCalibration(path, factors, engines, parts),
        tuple(Constant(name, FACTOR, 1.0, factor) for name, factor in factors.items()),
        {
            kind: errors_by(zip(seen.quantities.tolist(), off.tolist(), strict=True)) if len(off) else {}
            for kind, off in kinds.items()
        },
        {
            "engines": list(engines),
            "accelerators": list(parts),
            "factors": factors,
        },
        table.not_scored,
    )


def fit_factors(seen: Observations, logs: Floats) -> dict[str, float]:
    """Return the factors on constants, by name, under which the law misses least what was measured.

    Parameters
    ----------
    logs
        Array (n, constants), logarithms of the constants of runs without factors.
    """

    def misses(factors: Mapping[str, float]) -> Floats:
        return np.asarray((seen.predicted_logs(logs + factor_logs(factors)) - seen.logs) / seen.spreads)

    start = dict.fromkeys(CONSTANTS, 1.0)
    return fit_constants([Constant(name, FACTOR, 1.0, 1.0) for name in CONSTANTS], misses, guess=start)


def _held_out(seen: Observations, logs: Floats, parts: Ints) -> Floats:
    """Return by how much each number is missed by a fit to the other parts; nothing where there is too little."""
    if len(parts) - np.bincount(parts).max() < FEWEST:
        return np.zeros(0)
    return held_out(
        parts,
        lambda others: logs + factor_logs(fit_factors(seen.take(others), logs)),
        lambda law, own: seen.take(own).percents_off(law),
    )


def write_serving_calibration(path: str, calibration: ServingCalibration) -> None:
    """Write a calibration of one's own, JSON."""
    document = {
        "engines": list(calibration.engines),
        "accelerators": list(calibration.accelerators),
        "factors": {name: round(value, 5) for name, value in calibration.factors.items()},
    }
    write_atomically(path, json.dumps(document, indent=2) + "\n")


def read_serving_calibration(path: str) -> ServingCalibration:
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
        if not 0 < value < FACTOR.high:
            raise InvalidInput(f"{path}: factors.{name}: expected a positive number, got {value:g}")
    return ServingCalibration(path, found.factors, tuple(found.engines), tuple(found.accelerators))
