"""A profile of few phases for jobs whose communication goes on beside computing.

In a simulated iteration gradients leave layer by layer, with short silences in which the next ones are computed. What
computes does not wait for what is sent, so such silences are no computing between two phases: a burst that is late is
followed at once by the next. Read at moments as far apart as a port is read, the bursts are one phase at their mean
rate, and what is sent at the end, when nothing is computed any more, is another.
"""

import numpy as np

from topoopt.clusters.interleave import ByteCurve, CommunicationProfile, Phase, few_phases

READINGS = 40
"""Of an iteration; silences that are much shorter than the time between two are not seen."""
TOLERANCE = 0.1
"""Share of the bytes that may be sent at another moment, for fewer phases."""
QUIET = 0.08
"""Share of the highest rate that counts as silence, if all such bytes are within the tolerance."""


def coarse_profile(profile: CommunicationProfile) -> CommunicationProfile:
    """Return the profile as counters that are read now and then show it, with not a byte more or less.

    Examples
    --------
    >>> bursts = tuple(Phase(0.1 + 0.004 * number, 0.002, 50e9) for number in range(20))
    >>> (phase,) = coarse_profile(CommunicationProfile("a", 0.2, bursts)).phases
    >>> round(phase.start_s, 3), round(phase.duration_s, 2), round(phase.bandwidth_bps / 1e9)
    (0.1, 0.08, 26)
    """
    if len(profile.phases) < 2:
        return profile
    period_s = profile.iteration_time_s
    first, active_s = _active(profile)
    readings = max(round(active_s / period_s * READINGS), 1)
    times_s = np.append(
        np.linspace(0.0, active_s, readings + 1), [period_s] * (active_s < period_s * (1 - 1e-9))
    )
    sent = np.zeros(len(times_s))
    for phase in profile.phases:
        begin_s = (phase.start_s - first.start_s) % period_s
        within_s = np.clip(times_s - begin_s, 0.0, phase.duration_s)
        wrapped_s = np.clip(times_s + period_s - begin_s, 0.0, phase.duration_s)
        sent += (within_s + wrapped_s - wrapped_s[0]) * phase.bandwidth_bps / 8
    phases = few_phases(ByteCurve(times_s, sent), TOLERANCE, QUIET)
    turned = (
        Phase((phase.start_s + first.start_s) % period_s, phase.duration_s, phase.bandwidth_bps)
        for phase in phases
    )
    return CommunicationProfile(profile.job, period_s, tuple(turned))


def _active(profile: CommunicationProfile) -> tuple[Phase, float]:
    """Return the phase after the longest silence, and how long it is from its start to the end of the last phase."""
    phases, period_s = profile.phases, profile.iteration_time_s
    silent_s = [
        (phase.start_s - phases[number - 1].end_s) + (period_s if number == 0 else 0.0)
        for number, phase in enumerate(phases)
    ]
    longest = int(np.argmax(silent_s))
    return phases[longest], period_s - max(silent_s[longest], 0.0)
