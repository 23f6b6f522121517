"""Short jobs may be run as longer ones that send as much more: the law, its limits, and what it changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clusters.shared_jobs import MEGABYTE, dumbbell, reducer, sender
from topoopt.clusters import PlacedJob, SharingOptions, shared_pace, shared_run
from topoopt.clusters.shared_run import NEAREST, REPEATS, time_scales

TIMES = st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=12)


@given(TIMES)
def test_scaled_jobs_still_repeat_within_longer_ones(times_s: list[float]) -> None:
    times, scales = np.array(times_s), time_scales(times_s)
    assert (scales >= 1).all()
    assert (scales == np.floor(scales)).all()
    scaled = times * scales * (1 - 1e-9)
    assert (scaled[scales > 1] * REPEATS <= times.max()).all()
    for longer in range(len(times)):
        assert (scaled[scales > scales[longer]] * NEAREST <= (times * scales)[longer]).all()


@given(TIMES)
def test_no_step_between_two_lengths_is_left_that_could_be_half_as_large(times_s: list[float]) -> None:
    scaled = np.sort(np.array(times_s) * time_scales(times_s))[::-1]
    room = np.minimum(scaled[0] / REPEATS, scaled[:-1] / NEAREST) / scaled[1:]
    assert (room < 2 * (1 + 1e-9)).all()


@given(st.lists(st.floats(1.0, float(2 * NEAREST - 1)), min_size=1, max_size=8))
def test_jobs_of_like_lengths_stay_as_they_are(times_s: list[float]) -> None:
    assert (time_scales(times_s) == 1).all()


@pytest.mark.parametrize("short_s", [2e-3, 5e-3])
def test_what_is_scaled_takes_what_it_takes_as_it_is(short_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long job that sends for a part of its time, and two short ones, on one link."""
    running = [
        PlacedJob("long", sender(2000 * MEGABYTE, compute_s=0.6), (0, 3)),
        PlacedJob("short", sender(5 * MEGABYTE, compute_s=short_s), (1, 4)),
        PlacedJob("other", sender(3 * MEGABYTE, compute_s=short_s), (2, 5)),
    ]
    fabric = dumbbell(3, 100e9, 100e9)
    scaled = shared_pace(fabric, SharingOptions(iterations=4))(running)
    monkeypatch.setattr(shared_run, "time_scales", lambda times_s: np.ones(len(times_s)))
    exact = shared_pace(fabric, SharingOptions(iterations=4))(running)
    assert len(exact[1].samples_s) > 2 * len(scaled[1].samples_s), "the short ones were scaled"
    for ours, theirs in zip(scaled, exact, strict=True):
        assert ours.mean_s == pytest.approx(theirs.mean_s, rel=0.02)
    alone = shared_pace(fabric)([running[0]])[0]
    assert exact[0].mean_s > 1.02 * alone.mean_s, "they do meet"


def test_a_job_of_microseconds_beside_one_of_an_hour_is_an_answer() -> None:
    running = [
        PlacedJob("short", reducer(2, 1000), (0, 2)),
        PlacedJob("long", sender(MEGABYTE, compute_s=3600.0), (1, 3)),
    ]
    fabric = dumbbell(2, 100e9, 100e9)
    short, long = shared_pace(fabric)(running)
    assert short.mean_s == pytest.approx(shared_pace(fabric)([running[0]])[0].mean_s, rel=1e-6)
    assert long.mean_s == pytest.approx(3600.0, rel=1e-6)
