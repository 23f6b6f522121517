"""MLTCP's theory of two equal jobs on one link: how their offset grows, and where it settles.

Both jobs have the period T and send at the full rate of the link for A = a T of it. Job one begins Δ before job two, 0
<= Δ <= A, and x = Δ / A. At Δ = A they are interleaved, at Δ = 0 they overlap fully. While both send, their rates are
as F of the bytes that each has sent. So while job one sends the rest 1 - x of its bytes and job two the part y of its
own, the integrals of 1 / F over both are equal; after that job two has 1 - y left, by which job one begins earlier
next time.

References
----------
.. [1] S. Rajasekaran et al., "MLTCP", HotNets 2024, section 4.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave.mltcp.sharing_ways import SharingQuestion
from topoopt.clusters.interleave.profiles.profile import CommunicationProfile
from topoopt.simulation import Aggressiveness

GRID = 4096
"""Steps of the bytes ratio for forms for which the integral of 1 / F has no closed form."""
MOST_ITERATIONS = 100_000


def shift_s(offset_s: float, communication_s: float, aggressiveness: Aggressiveness) -> float:
    """Return the growth of an offset per iteration: Δ' - Δ.

    For a linear form it is ``S Δ (A - Δ) / (A I + S Δ)``.

    Raises
    ------
    InvalidInput
        If the offset is not within the communication.

    Examples
    --------
    >>> round(shift_s(0.02, 0.4, Aggressiveness()), 4)
    0.0985
    """
    _check_offset(offset_s, communication_s)
    x = offset_s / communication_s
    return communication_s * (next_offset(x, aggressiveness) - x)


def next_offset(offset: float, aggressiveness: Aggressiveness) -> float:
    """Return the offset of the next iteration, both as parts of the communication.

    For a linear form ``x' = x (I + S) / (I + S x)``: the odds ``x / (1 - x)`` are multiplied by ``(I + S) / I``.

    Raises
    ------
    InvalidInput
        If the offset is not in 0..1.

    Examples
    --------
    >>> round(next_offset(0.05, Aggressiveness()), 4)
    0.2963
    """
    _check_offset(offset, 1.0)
    slope, intercept = aggressiveness.slope, aggressiveness.intercept
    if aggressiveness.form == "linear":
        return offset * (intercept + slope) / (intercept + slope * offset)
    grid = np.linspace(0.0, 1.0, GRID + 1)
    inverse = 1.0 / aggressiveness(grid)
    served = np.concatenate([[0.0], np.cumsum(0.5 * (inverse[1:] + inverse[:-1]) / GRID)])
    rest = served[-1] - np.interp(offset, grid, served)
    return 1.0 - float(np.interp(rest, served, grid))


def offsets(first: float, iterations: int, aggressiveness: Aggressiveness) -> Floats:
    """Return the offsets of some iterations, as parts of the communication, shape (iterations,); the first is given.

    Examples
    --------
    >>> offsets(0.01, 6, Aggressiveness()).round(4).tolist()
    [0.01, 0.0748, 0.3926, 0.838, 0.9764, 0.997]
    """
    row = [first]
    while len(row) < iterations:
        row.append(next_offset(row[-1], aggressiveness))
    return np.array(row[:iterations])


def iterations_to_converge(
    first: float, aggressiveness: Aggressiveness, *, within: float = 0.01
) -> int | None:
    """Return the iterations until the offset is an interleaving up to a tolerance; None if it never is.

    Parameters
    ----------
    first
        The first offset, as a part of the communication.
    within
        Part of the communication that may still overlap.

    Raises
    ------
    InvalidInput
        If the offset is not in 0..1, or the part not in 0 < part < 1.

    Examples
    --------
    >>> iterations_to_converge(0.05, Aggressiveness())
    4
    """
    _check_offset(first, 1.0)
    if not 0 < within < 1:
        raise InvalidInput(f"within {within:g}: expected a part of the communication, 0 < part < 1")
    if first >= 1.0 - within:
        return 0
    if first == 0 or aggressiveness.gain <= 1.0:
        return None
    if aggressiveness.form == "linear":
        odds, wanted = first / (1.0 - first), (1.0 - within) / within
        return math.ceil(math.log(wanted / odds) / math.log(aggressiveness.gain) - 1e-9)
    count, offset = 0, first
    while offset < 1.0 - within and count < MOST_ITERATIONS:
        offset, count = next_offset(offset, aggressiveness), count + 1
    return count


def loss(offset_s: Floats, communication_s: float, aggressiveness: Aggressiveness) -> Floats:
    """Return the loss landscape that the jobs descend: its slope is minus the shift, and its least is interleaving.

    With k = A I / S it is ``Δ²/2 - (A + k) Δ + k (A + k) ln(1 + Δ/k)``, in s²: of a linear form that changes.

    Raises
    ------
    InvalidInput
        For another form, or one without a slope.

    Examples
    --------
    >>> loss(np.array([0.0, 0.4]), 0.4, Aggressiveness()).round(5).tolist()
    [0.0, -0.04854]
    """
    slope, intercept = aggressiveness.slope, aggressiveness.intercept
    if aggressiveness.form != "linear" or slope == 0:
        raise InvalidInput(
            f"loss: form {aggressiveness.form} with slope {slope:g}: is known for linear forms with a slope"
        )
    k = communication_s * intercept / slope
    log = np.log1p(np.asarray(offset_s) / k)
    return 0.5 * offset_s**2 - (communication_s + k) * offset_s + k * (communication_s + k) * log


def settled_iteration_time_s(period_s: float, communications_s: Floats) -> float:
    """Return the iteration time at which jobs of one period settle that take turns on one link.

    Where all their communications fit into the period it is the period. Where they do not, the link is never idle, and
    all take as long as their communications together: 1.2 periods for two jobs that send for 0.6.

    Examples
    --------
    >>> settled_iteration_time_s(1.0, np.array([0.6, 0.6]))
    1.2
    """
    return max(period_s, float(np.sum(communications_s)))


def overlapped_iteration_time_s(period_s: float, communication_s: float, offset: float) -> float:
    """Return the iteration time of two equal jobs at an offset that stays, as under fair sharing.

    The job whose iteration it is begins ``offset`` of its communication before or after the other one.

    Examples
    --------
    >>> round(overlapped_iteration_time_s(1.0, 0.4, 0.05), 9)
    1.38
    """
    _check_offset(offset, 1.0)
    return period_s + communication_s * (1.0 - offset)


def _check_offset(offset: float, most: float) -> None:
    if not 0 <= offset <= most:
        raise InvalidInput(f"offset {offset:g}: expected 0..{most:g}, within the communication")


ALIKE = 1e-9
WITHIN = 0.01
"""Part of the communication that may overlap when jobs count as converged."""
POINTS = 41
"""Offsets at which the loss landscape is known."""


@dataclass(frozen=True, slots=True, eq=False)
class SharingPrediction:
    """The theory of two equal jobs on one link.

    Attributes
    ----------
    offsets : array, shape (iterations + 1,)
        Offset of each iteration as a part of the communication; empty where the jobs do not fit into their period.
    iteration_times_s : array, shape (iterations,)
        Iteration times of the first job.
    iterations_to_converge : int or None
        Iterations until 99 % of the communication is interleaved; None where it never is.
    fair_iteration_time_s : float
        Iteration time if the first offset stays.
    settled_iteration_time_s : float
        Iteration time where MLTCP settles; for a decreasing form, that is full overlap.
    landscape_offset_s, landscape_loss, landscape_shift_s : array, shape (points,)
        Loss that the jobs descend and their shift per iteration, by offset; the loss is empty for a form that has
        none.
    """

    offsets: Floats
    iteration_times_s: Floats
    iterations_to_converge: int | None
    fair_iteration_time_s: float
    settled_iteration_time_s: float
    landscape_offset_s: Floats
    landscape_loss: Floats
    landscape_shift_s: Floats

    def to_json(self) -> dict[str, Any]:
        """Return all of it, arrays as lists."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in asdict(self).items()
        }


def predict_sharing(asked: SharingQuestion) -> SharingPrediction | None:
    """Return the theory's prediction; None where it does not apply to the jobs."""
    period_s, communication_s = _equal_pair(asked)
    if communication_s == 0.0 or asked.offset > 1.0:
        return None
    form = asked.aggressiveness
    fits = 2.0 * communication_s <= period_s * (1.0 + ALIKE)
    learnt = asked.learning_iterations
    row = _offsets(asked) if fits else np.zeros(0)
    apart = iterations_to_converge(asked.offset, form, within=WITHIN) if fits else None
    delta_s = np.linspace(0.0, communication_s, POINTS)
    known = form.form == "linear" and form.slope != 0
    # where the jobs settle: in turns if F increases, at their offset if it stays, in full overlap if not
    gain = asked.aggressiveness.gain
    if gain > 1.0 and asked.offset > 0:
        settled_s = settled_iteration_time_s(period_s, np.array([communication_s, communication_s]))
    else:
        settled_s = overlapped_iteration_time_s(
            period_s, communication_s, asked.offset if gain == 1.0 else 0.0
        )
    return SharingPrediction(
        row,
        period_s + communication_s * (1.0 - row[1:]),
        None if apart is None else apart + learnt,
        overlapped_iteration_time_s(period_s, communication_s, asked.offset),
        settled_s,
        delta_s,
        loss(delta_s, communication_s, form) if known else np.zeros(0),
        np.array([shift_s(offset_s, communication_s, form) for offset_s in delta_s.tolist()]),
    )


def _offsets(asked: SharingQuestion) -> Floats:
    """Return the offset of every iteration and of the one after; while totals are learned it stays."""
    learnt = min(asked.learning_iterations, asked.iterations)
    stays = np.full(learnt, asked.offset)
    return np.concatenate([stays, offsets(asked.offset, asked.iterations + 1 - learnt, asked.aggressiveness)])


def _equal_pair(asked: SharingQuestion) -> tuple[float, float]:
    """Return the period and the communication of two equal jobs that fill the link; zeros for others."""
    shapes = [_shape(profile, asked.capacity_bps) for profile in asked.profiles]
    if len(shapes) != 2 or not np.allclose(shapes[0], shapes[1], rtol=ALIKE):
        return 0.0, 0.0
    return shapes[0]


def _shape(profile: CommunicationProfile, capacity_bps: float) -> tuple[float, float]:
    sends = [phase for phase in profile.phases if phase.bandwidth_bps > 0]
    if len(sends) != 1 or abs(sends[0].bandwidth_bps / capacity_bps - 1.0) > ALIKE:
        return profile.iteration_time_s, 0.0
    return profile.iteration_time_s, sends[0].duration_s
