"""What the theory says of a question, where it is one of its kind: two equal jobs that send once, at the full rate."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.clusters.interleave.mltcp.question import SharingQuestion
from topoopt.clusters.interleave.mltcp.theory import (
    iterations_to_converge,
    loss,
    offsets,
    overlapped_iteration_time_s,
    settled_iteration_time_s,
    shift_s,
)
from topoopt.clusters.interleave.profile import CommunicationProfile

ALIKE = 1e-9
WITHIN = 0.01
"""How much of the communication may overlap where jobs are said to have converged."""
POINTS = 41
"""Offsets at which the loss landscape is known."""


@dataclass(frozen=True, slots=True, eq=False)
class SharingPrediction:
    """The theory of two equal jobs on one link.

    Attributes
    ----------
    offsets : array, shape (iterations + 1,)
        Of each iteration as a part of the communication; empty where the jobs do not fit into their period.
    iteration_times_s : array, shape (iterations,)
        Of the first job.
    iterations_to_converge : int or None
        Until all but a hundredth of the communication is interleaved; None where it never is.
    fair_iteration_time_s : float
        At the first offset, for ever.
    settled_iteration_time_s : float
        Where MLTCP settles, which is full overlap for a form that decreases.
    landscape_offset_s, landscape_loss, landscape_shift_s : array, shape (points,)
        What the jobs descend, and by how much in an iteration; the loss is empty for a form that has none.
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
    """Return what the theory says, None where the jobs are not of its kind."""
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
    return SharingPrediction(
        row,
        period_s + communication_s * (1.0 - row[1:]),
        None if apart is None else apart + learnt,
        overlapped_iteration_time_s(period_s, communication_s, asked.offset),
        _settled_s(asked, period_s, communication_s),
        delta_s,
        loss(delta_s, communication_s, form) if known else np.zeros(0),
        np.array([shift_s(offset_s, communication_s, form) for offset_s in delta_s.tolist()]),
    )


def _offsets(asked: SharingQuestion) -> Floats:
    """Return the offset of every iteration and of the one after; while totals are learned it stays."""
    learnt = min(asked.learning_iterations, asked.iterations)
    stays = np.full(learnt, asked.offset)
    return np.concatenate([stays, offsets(asked.offset, asked.iterations + 1 - learnt, asked.aggressiveness)])


def _settled_s(asked: SharingQuestion, period_s: float, communication_s: float) -> float:
    """Return where the jobs settle: in turns if F increases, at their offset if it stays, in full overlap if not."""
    gain = asked.aggressiveness.gain
    if gain > 1.0 and asked.offset > 0:
        return settled_iteration_time_s(period_s, np.array([communication_s, communication_s]))
    return overlapped_iteration_time_s(period_s, communication_s, asked.offset if gain == 1.0 else 0.0)


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
