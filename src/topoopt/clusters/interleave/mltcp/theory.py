"""MLTCP's theory of two equal jobs on one link: how their offset grows, and where it settles.

Both jobs have the period T and send at the full rate of the link for A = a T of it. Job one begins Δ before job two,
0 <= Δ <= A, and x = Δ / A. At Δ = A they are interleaved, at Δ = 0 they overlap fully. While both send, their rates are
as F of what each has sent. So while job one sends the rest 1 - x of its bytes and job two the part y of its own, the
integrals of 1 / F over both are equal; after that job two has 1 - y left, by which job one begins earlier next time.

References
----------
.. [1] S. Rajasekaran et al., "MLTCP", HotNets 2024, section 4.
"""

import math

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.simulation import Aggressiveness

GRID = 4096
"""Steps of the bytes ratio for forms of which the integral of 1 / F is not written down."""

MOST_ITERATIONS = 100_000


def shift_s(offset_s: float, communication_s: float, aggressiveness: Aggressiveness) -> float:
    """Return by how much an offset grows in an iteration: Δ' - Δ.

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
    """Return after how many iterations the offset is interleaving but for a part; None if it never is.

    Parameters
    ----------
    first
        The first offset, as a part of the communication.
    within
        How much of the communication may still overlap.

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
