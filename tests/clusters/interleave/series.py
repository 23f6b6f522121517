"""Made-up measurements: a profile that repeats, in iterations that differ a little, counted by a port with noise."""

import numpy as np

from topoopt.clusters.interleave import ByteCurve, CommunicationProfile

FINE = 16
"""Moments within a sample at which the rate is looked at."""


def made_up_series(
    profile: CommunicationProfile, iterations: int, samples: int, noise: float, jitter: float, seed: int
) -> ByteCurve:
    """Return what a port counts that is read so many times in an iteration.

    Parameters
    ----------
    noise : float
        Standard deviation of each sample's rate, as part of the highest rate.
    jitter : float
        Standard deviation of each iteration's time, as part of it.
    """
    rng = np.random.default_rng(seed)
    period_s = profile.iteration_time_s
    lasts_s = period_s * (1 + jitter * rng.standard_normal(iterations + 2))
    starts_s = np.concatenate(([0.0], np.cumsum(lasts_s)))
    edges_s = np.linspace(0.0, period_s * iterations, iterations * samples + 1)
    step_s = edges_s[1]
    moments_s = (edges_s[:-1, None] + step_s * (np.arange(FINE) + 0.5) / FINE).ravel()
    into_s = moments_s - starts_s[np.searchsorted(starts_s, moments_s, side="right") - 1]
    rates = profile.demand_bps(np.minimum(into_s, period_s * (1 - 1e-9))).reshape(-1, FINE).mean(axis=1)
    rates = np.maximum(rates + noise * profile.peak_bps * rng.standard_normal(len(rates)), 0.0)
    return ByteCurve(edges_s, np.concatenate(([0.0], np.cumsum(rates * step_s / 8))))
