"""Fitting a calibration to measured step times.

Robust least squares on the logarithms of predicted over measured times, with every parameter held back to where it
starts: a handful of runs moves only what they have a say in. The prior's strength is chosen by cross-validation.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.measurements.training.timed_runs import TimedRuns
from topoopt.transformers import PARAMETERS, Calibration

NOISE = 0.06
"""Spread of measured around predicted times, in natural logarithms, against which the priors weigh."""

STRENGTHS = (1.0, 3.0)
"""How strongly a parameter is held back to its start, to be tried; 1 is its ``spread``."""

ROBUST_FROM = 1.5
"""Errors beyond so many times :data:`NOISE` count linearly: published tables have misprints and odd days."""

NOTHING = 1e-9
"""Smaller values are none: where a share ends at its lower bound, the search stops just above."""

BEGINNINGS = 4
"""Points around the start at which a fit begins, too."""

FEWEST_RUNS = 2


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each data set counts, however many runs it has.

    Attributes
    ----------
    of : mapping from a data set to a factor
        1 for those not named.
    """

    of: Mapping[str, float]

    def rows(self, datasets: Iterable[str]) -> Floats:
        """Return the weight of each run's squared error; they sum to the number of runs."""
        names = list(datasets)
        counts = Counter(names)
        share = {name: self.of.get(name, 1.0) / count for name, count in counts.items()}
        weights = np.array([share[name] for name in names], np.float64)
        scale = len(weights) / float(weights.sum())
        return weights * scale


def fit(
    runs: TimedRuns, start: Calibration, weights: Weights, strength: float, guess: Calibration | None = None
) -> Calibration:
    """Return the calibration that explains the runs best, near ``start``.

    The search begins at ``start``, and at :data:`BEGINNINGS` points around it that are the same every time, for there
    are several places where no small step is better; at ``guess`` alone, if there is one, which is over sooner.
    Parameters in which the runs have no say stay as they are in ``start``.

    Raises
    ------
    InvalidInput
        If there are too few runs.
    """
    if len(runs) < FEWEST_RUNS:
        raise InvalidInput(f"calibrate: needs {FEWEST_RUNS} runs with a time, got {len(runs)}")
    origin = _to_vector(start.parameters())
    low = _to_vector({name: bounds.low for name, bounds in PARAMETERS.items()})
    high = _to_vector({name: bounds.high for name, bounds in PARAMETERS.items()})
    spread = np.array([bounds.spread for bounds in PARAMETERS.values()])
    scale = np.sqrt(weights.rows(runs.datasets)) / NOISE
    logs = np.log(runs.measured_s)

    def residuals(vector: Floats) -> Floats:
        times = runs.times(_from_vector(vector, start)).iteration_time_s
        return np.concatenate([scale * (np.log(times) - logs), strength * (vector - origin) / spread])

    from scipy.optimize import least_squares  # noqa: PLC0415 - takes half a second to import

    solutions = [
        least_squares(
            residuals,
            np.clip(begin, low + 1e-6 * spread, high - 1e-6 * spread),
            bounds=(low, high),
            loss="soft_l1",
            f_scale=ROBUST_FROM,
            x_scale=spread,
            max_nfev=100,
        )
        for begin in _beginnings(origin, spread, guess)
    ]
    best = min(solutions, key=lambda one: float(one.cost))
    has_say = np.any(np.abs(np.asarray(best.jac)[: len(runs)]) > NOTHING, axis=0)
    return _from_vector(np.where(has_say, best.x, origin), start)


def _beginnings(origin: Floats, spread: Floats, guess: Calibration | None) -> list[Floats]:
    if guess is not None:
        return [_to_vector(guess.parameters())]
    around = np.random.default_rng(0).normal(size=(BEGINNINGS, len(origin)))
    return [origin, *(origin + around * spread)]


def _to_vector(parameters: Mapping[str, float]) -> Floats:
    """Return the parameters on the scales on which they are looked for: logarithms, shares as they are."""
    return np.array(
        [
            parameters[name] if bounds.is_share else np.log(parameters[name])
            for name, bounds in PARAMETERS.items()
        ]
    )


def _from_vector(vector: Floats, start: Calibration) -> Calibration:
    values = {}
    for (name, bounds), value in zip(PARAMETERS.items(), vector, strict=True):
        natural = value if bounds.is_share else np.exp(value)
        values[name] = float(np.clip(natural, bounds.low, bounds.high)) if natural > NOTHING else bounds.low
    return start.with_parameters(values)
