"""Measured numbers of served runs that are scored: what the law says of them, and why others have no score."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.inference import Constants, constants_of_logs
from topoopt.measurements.serving.columns import QUANTITIES, ServedColumns, expected, served_columns
from topoopt.measurements.serving.run import ServedRun

SPREADS = {"tpot": 0.08, "ttft": 0.35, "prefill": 0.15, "e2e": 0.08, "throughput": 0.2, "prompt_rate": 0.2}
"""By how much, in logarithms, each quantity is expected to be missed: its weight in a fit."""
LONG_WAIT = 0.3
"""A first token that takes longer than this share of the answer hides a limit of admission."""
EARLY = 0.8
"""A whole run shorter than this share of its own tokens' time was stopped before its last token."""


@dataclass(frozen=True, slots=True)
class Observations:
    """Measured numbers of runs.

    Attributes
    ----------
    columns : ServedColumns, of all runs
    rows : array (m,) of int, the run of each number
    quantities : array (m,) of text
    logs : array (m,), logarithms of what was measured
    spreads : array (m,), by how much the law is expected to miss them
    """

    columns: ServedColumns
    rows: Ints
    quantities: NDArray[np.str_]
    logs: Floats
    spreads: Floats

    def take(self, chosen: Flags | Ints) -> "Observations":
        """Return some of the numbers."""
        rows, quantities = self.rows[chosen], self.quantities[chosen]
        return Observations(self.columns, rows, quantities, self.logs[chosen], self.spreads[chosen])

    def predicted_logs(self, logs: Floats) -> Floats:
        """Return logarithms of what the law says, array (m,), by logarithms of constants, array (n, constants)."""
        values = expected(self.columns, constants_of_logs(logs))
        places = np.array([QUANTITIES.index(name) for name in self.quantities], np.int64)
        return np.asarray(np.log(np.stack([values[name] for name in QUANTITIES])[places, self.rows]))

    def percents_off(self, logs: Floats) -> Floats:
        """Return by how much the law misses each number, array (m,), in percent of it."""
        return np.asarray(100 * np.expm1(self.predicted_logs(logs) - self.logs))


def observations(runs: Sequence[ServedRun], law: Constants) -> Observations:
    """Return what was measured of runs and is scored, of quantities that the law has."""
    columns = served_columns(runs)
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
    return Observations(
        columns,
        np.array(rows, np.int64),
        np.array(names, np.str_),
        np.array(logs, np.float64),
        np.array(spreads, np.float64),
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
