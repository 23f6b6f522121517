"""From measured counters of links to a profile: which period they have, and which phases within it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_bandwidth, format_time
from topoopt.clusters.interleave.measured.byte_curve import ByteCurve
from topoopt.clusters.interleave.measured.clean_phases import cleaned_phases
from topoopt.clusters.interleave.measured.few_phases import TOLERANCE, few_phases
from topoopt.clusters.interleave.measured.iterations_of_series import MeanIteration, mean_iteration
from topoopt.clusters.interleave.measured.periods import LEAST_CELLS, cells_of, find_period_s
from topoopt.clusters.interleave.profile import CommunicationProfile

MEASURED_QUIET = 0.1
"""Of the highest rate, what counts as silence between phases that were measured: acknowledgments, other traffic."""
DUST = 0.02
"""Of the bytes of an iteration: a phase of less is noise."""
NOISE_MOVES = 0.4
"""Half of the mean absolute value of a normal deviation, 0.798: what noise of a standard error moves by itself."""


@dataclass(frozen=True, slots=True)
class MeasuredProfile:
    """A profile as it was measured.

    Attributes
    ----------
    iterations : int
        Of which it is the mean.
    spread_s : float
        Standard deviation of the times from the begin of an iteration to that of the next; 0 of fewer than three.
    background_bps : float
        Mean rate between phases, which the profile leaves out.
    """

    profile: CommunicationProfile
    iterations: int
    spread_s: float
    background_bps: float

    def to_json(self) -> dict[str, Any]:
        """Return how it was measured."""
        return {
            "iterations": self.iterations,
            "iteration_time_spread_s": self.spread_s,
            "background_bps": self.background_bps,
        }


def measured_profile(
    job: str,
    curve: ByteCurve,
    iteration_time_s: float | None = None,
    tolerance: float = TOLERANCE,
    place: str | None = None,
) -> MeasuredProfile:
    """Return the profile of a link whose bytes were counted over several iterations. Times begin with the series.

    Parameters
    ----------
    job : str
        What it is called.
    iteration_time_s : float, optional
        About how long an iteration takes; looked for where not given.
    tolerance : float
        Share of the bytes that may be sent at another moment, for fewer phases; what noise moves comes on top.
    place : str, optional
        What errors begin with; the job where not given.

    Raises
    ------
    InvalidInput
        If nothing was sent, there is no period, or the series is shorter than an iteration or too coarse for it.
    """
    cells, lasts, here = cells_of(curve), format_time(curve.duration_s), place or f"job {job}"
    if not curve.sent_bytes[-1] > curve.sent_bytes[0]:
        raise InvalidInput(f"{here}: nothing was sent in {lasts}; choose a link that the job uses")
    period_s = find_period_s(curve) if iteration_time_s is None else iteration_time_s
    if period_s is None:
        mean = format_bandwidth(float(cells.rates_bps.mean()))
        raise InvalidInput(
            f"{here}: no period in {lasts} at a mean rate of {mean}; measure at least three iterations, or say "
            "iteration_time"
        )
    if period_s > curve.duration_s * (1 + 1e-6):
        raise InvalidInput(
            f"{here}: iteration_time: {format_time(period_s)} is longer than the series of {lasts}; measure longer"
        )
    if period_s < LEAST_CELLS * cells.cell_s:
        raise InvalidInput(
            f"{here}: samples {format_time(cells.cell_s)} apart are too coarse for an iteration of "
            f"{format_time(period_s)}; sample at least every {format_time(period_s / LEAST_CELLS)}"
        )
    return _of_mean(job, mean_iteration(curve, cells.cell_s, period_s), tolerance)


def _of_mean(job: str, mean: MeanIteration, tolerance: float) -> MeasuredProfile:
    curve = mean.curve
    sent, seconds = np.diff(curve.sent_bytes), np.diff(curve.times_s)
    error_bps = mean.deviation_bps / np.sqrt(len(mean.starts_s))
    noise = NOISE_MOVES * float((error_bps * seconds).sum()) / 8
    allowed = min(tolerance + noise / float(sent.sum()), 0.5)
    rate_bps = sent * 8 / seconds
    quiet_bps = max(MEASURED_QUIET * float(np.quantile(rate_bps, 0.99)), float(np.median(mean.deviation_bps)))
    silent = rate_bps <= quiet_bps
    background_bps = float(rate_bps[silent].mean()) if silent.any() else 0.0
    loud = ByteCurve(curve.times_s, np.concatenate(([0.0], np.cumsum(np.where(silent, 0.0, sent)))))
    phases = cleaned_phases(few_phases(loud, allowed), mean.period_s, quiet_bps, DUST)
    profile = CommunicationProfile(job, mean.period_s, phases)
    between_s = np.diff(mean.starts_s)
    spread_s = float(between_s.std(ddof=1)) if len(between_s) > 1 else 0.0
    return MeasuredProfile(profile, len(mean.starts_s), spread_s, background_bps)
