"""Starts of iterations, shifted as CASSINI wants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clusters.scheduled.hand_made import ring_job
from topoopt.clusters.scheduling.decision import aligned_starts_s
from topoopt.clusters.scheduling.model_workers import ChosenPlacement, PlacedWorkers


def placed(name: str, *links: int, iteration_time_s: float = 0.2) -> PlacedWorkers:
    profile = ring_job(name, 2, iteration_time_s=iteration_time_s).profile
    return PlacedWorkers(name, (0, 1), profile, np.array(links, np.int64), np.ones(len(links)))


def chosen(*shifts_s: float, groups: tuple[tuple[int, ...], ...] | None = None) -> ChosenPlacement:
    count = len(shifts_s)
    together = (tuple(range(count)),) if groups is None else groups
    return ChosenPlacement(0, 1.0, shifts_s, (0.0,) * count, together)


def test_one_of_the_jobs_of_a_group_does_not_wait_nor_does_who_is_in_none() -> None:
    placement = (placed("a", 1), placed("b", 1), placed("c", 2))
    starts_s = aligned_starts_s(placement, chosen(0.0, 0.1, 0.15, groups=((0, 1),)), (5.0, 5.03, 5.01))
    assert starts_s == pytest.approx((5.0, 5.1, 5.01))  # or b at once and a after 130 ms: longer


def test_who_is_aligned_already_does_not_wait() -> None:
    placement = (placed("a", 1), placed("b", 1))
    assert aligned_starts_s(placement, chosen(0.0, 0.1), (5.4, 5.7)) == pytest.approx((5.4, 5.7))


@given(
    st.lists(
        st.tuples(st.floats(0, 0.19), st.floats(10, 20), st.sampled_from([0.2, 0.3, 0.45])),
        min_size=2,
        max_size=5,
    )
)
def test_shifts_hold_and_nobody_waits_a_whole_iteration(jobs: list[tuple[float, float, float]]) -> None:
    placement = tuple(placed(str(n), 1, iteration_time_s=time_s) for n, (_, _, time_s) in enumerate(jobs))
    shifts_s = [shift_s for shift_s, _, _ in jobs]
    ready_s = [time_s for _, time_s, _ in jobs]
    starts_s = aligned_starts_s(placement, chosen(*shifts_s), ready_s)
    waits_s = np.subtract(starts_s, ready_s)
    assert min(waits_s) == 0
    periods_s = [time_s for _, _, time_s in jobs]
    assert all(0 <= wait_s < time_s for wait_s, time_s in zip(waits_s, periods_s, strict=True))

    def off(moment_s: float) -> float:
        """By what part of its iteration the job that is off the most is."""
        offs_s = np.subtract(starts_s, shifts_s) - moment_s
        return float(max(abs(np.remainder(offs_s / periods_s + 0.5, 1.0) - 0.5)))

    # The moment is that of one of those that do not wait.
    assert min(off(starts_s[job] - shifts_s[job]) for job in np.flatnonzero(waits_s == 0)) < 1e-5
