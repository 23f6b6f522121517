"""Prediction errors of measured runs of training, serving and RL."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Error:
    """Errors of some runs in percent of what was measured.

    Attributes
    ----------
    mape_percent, median_percent : float
        Mean and median of absolute errors.
    bias_percent : float
        Mean error.
    """

    runs: int
    mape_percent: float
    median_percent: float
    bias_percent: float

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys that all answers have."""
        return {
            "runs": self.runs,
            "mape": self.mape_percent,
            "median": self.median_percent,
            "bias": self.bias_percent,
        }


Errors = Mapping[str, Error]
"""By group: a data set, an engine, a quantity."""
EVERYTHING = "all"
"""The group of all runs."""


def percent_off(predicted: float, measured: float) -> float:
    """Return by how much a prediction is off, in percent of what was measured."""
    return 100 * (predicted / measured - 1)


def errors_by(errors: Iterable[tuple[str, float]], *, total: bool = False) -> dict[str, Error]:
    """Return the errors of each group, sorted by name, from pairs of a group and an error in percent.

    Parameters
    ----------
    total
        Whether the errors of all runs follow as :data:`EVERYTHING`.
    """
    pairs = list(errors)
    groups: dict[str, list[float]] = {}
    for group, error in pairs:
        groups.setdefault(group, []).append(error)
    found = dict(sorted(groups.items()))
    if total and pairs:
        found[EVERYTHING] = [error for _, error in pairs]
    return {
        name: Error(
            len(part), float(np.mean(np.abs(part))), float(np.median(np.abs(part))), float(np.mean(part))
        )
        for name, part in found.items()
    }


def errors_json(errors: Errors) -> dict[str, Any]:
    """Return errors by group as plain values."""
    return {name: error.to_json() for name, error in errors.items()}
