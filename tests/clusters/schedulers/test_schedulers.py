"""Schedulers on claims made by hand: what each gives, and what all have in common."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.clusters.schedulers.scheduler import Claim, best_division
from topoopt.clusters.schedulers.table import SCHEDULERS, finish_time_fairness, pollux, speed_up, themis

EPOCH_S = 600.0


def claim(
    job: str = "a",
    *,
    workers: int = 4,
    least: int = 1,
    most: int = 8,
    held: int = 0,
    arrival_s: float = 0.0,
    left: float = 100.0,
    efficiency: float = 1.0,
) -> Claim:
    """A job that is as many times faster as it has workers: one iteration a second on those that it asks for."""
    rates = tuple(count / workers for count in range(1, most + 1))
    efficiencies = tuple(efficiency if count > workers else 1.0 for count in range(1, most + 1))
    return Claim(job, arrival_s, workers, least, most, held, 100.0, left, rates, efficiencies)


@st.composite
def claims_of_a_cluster(draw: st.DrawFn) -> tuple[list[Claim], int]:
    claims = []
    for number in range(draw(st.integers(0, 7))):
        workers = draw(st.integers(1, 8))
        least = draw(st.integers(1, workers))
        most = draw(st.integers(workers, 12))
        held = draw(st.sampled_from([0, *range(least, most + 1)]))
        left = draw(st.floats(1.0, 100.0))
        claims.append(
            claim(
                str(number),
                workers=workers,
                least=least,
                most=most,
                held=held,
                left=left,
                arrival_s=draw(st.floats(0, 900)),
            )
        )
    return claims, draw(st.integers(0, 24))


@pytest.mark.parametrize("name", [name for name, rules in SCHEDULERS.items() if not rules.dedicated])
@given(case=claims_of_a_cluster())
def test_no_scheduler_gives_what_there_is_not_or_a_job_cannot_use(
    name: str, case: tuple[list[Claim], int]
) -> None:
    claims, free = case
    given_out = SCHEDULERS[name].allocate(claims, free, 1000.0, EPOCH_S)
    assert len(given_out) == len(claims)
    assert sum(given_out) <= free
    for one, more in zip(claims, given_out, strict=True):
        assert more == 0 or more in one.choices(free)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_job_alone_runs_at_once(name: str) -> None:
    (given_out,) = SCHEDULERS[name].allocate([claim()], 24, 0.0, EPOCH_S)
    assert given_out == (8 if SCHEDULERS[name].leases else 4)


def brute_force(values: list[dict[int, float]], workers: int) -> float:
    if not values:
        return 0.0
    first, *rest = values
    return max(
        value + brute_force(rest, workers - count) for count, value in first.items() if count <= workers
    )


@given(
    st.lists(
        st.dictionaries(st.integers(1, 6), st.floats(-10, 10), max_size=4).map(
            lambda values: {0: 0.0, **values}
        ),
        max_size=4,
    ),
    st.integers(0, 8),
)
def test_the_best_division_is_what_trying_all_finds(values: list[dict[int, float]], workers: int) -> None:
    division, total = best_division(values, workers)
    assert total == pytest.approx(brute_force(values, workers))
    assert sum(division) <= workers
    assert sum(worth[count] for worth, count in zip(values, division, strict=True)) == pytest.approx(total)


def test_fairness_is_shared_over_dedicated_completion_time() -> None:
    """100 s alone. After 50 s with half of it left, on four workers it ends at 100 s; on two at 150 s."""
    half = claim(left=50.0)
    assert finish_time_fairness(half, 4, 50.0, EPOCH_S) == pytest.approx(1.0)
    assert finish_time_fairness(half, 2, 50.0, EPOCH_S) == pytest.approx(1.5)
    assert finish_time_fairness(half, 8, 50.0, EPOCH_S) == pytest.approx(0.75)
    assert finish_time_fairness(half, 0, 50.0, EPOCH_S) == pytest.approx((50 + 600 + 50) / 100)


def test_themis_serves_the_job_that_is_treated_worst_first() -> None:
    """Of two jobs that can use all eight workers one bids, the one that came 500 s ago."""
    old, new = claim("old"), claim("new", arrival_s=500.0)
    assert themis([old, new], 8, 500.0, EPOCH_S) == (8, 0)
    assert themis([new, old], 8, 500.0, EPOCH_S) == (0, 8)


def test_themis_gives_what_is_over_to_those_who_wait() -> None:
    """The worst takes its eight; the others have ρ = 7 without workers, so they share the other four."""
    jobs = [claim("worst", arrival_s=-500.0), claim("b"), claim("c")]
    assert themis(jobs, 12, 0.0, EPOCH_S) == (8, 2, 2)


def test_bidders_pay_for_what_the_others_lose() -> None:
    """Six equal jobs, of which two bid for eight workers: each wins four, so ρ = 1, where alone it would have 1/2.

    Each is let keep 1/2 of that, two workers, and what is over goes by one to the jobs that have none.
    """
    jobs = [claim(str(number)) for number in range(6)]
    assert themis(jobs, 8, 0.0, EPOCH_S) == (2, 2, 1, 1, 1, 1)


def test_pollux_gives_equal_jobs_equal_parts() -> None:
    assert pollux([claim("a"), claim("b"), claim("c")], 12, 0.0, EPOCH_S) == (4, 4, 4)


def test_pollux_does_not_give_workers_whose_samples_are_worth_little() -> None:
    """Beyond four workers samples are worth half: five make 5/4 · 1/2 of four, so four are better."""
    assert pollux([claim("a", efficiency=0.5)], 8, 0.0, EPOCH_S) == (4,)


def test_pollux_leaves_nobody_waiting_for_a_small_gain() -> None:
    """With two workers more a job has 6/5 of its speed; one that waits is worth more on them."""
    running = claim("a", held=5, most=7, least=5, workers=5)
    waiting = claim("b", least=2, workers=2, most=2)
    assert pollux([running, waiting], 2, 0.0, EPOCH_S) == (0, 2)


def test_a_speed_up_is_over_the_fair_share() -> None:
    assert speed_up(claim(), 8, 4) == pytest.approx(2.0)
    assert speed_up(claim(most=6), 3, 20) == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["proximity", "random"])
def test_in_order_nobody_goes_past_a_job_that_waits(name: str) -> None:
    jobs = [claim("a", held=8), claim("b", workers=8), claim("c", workers=2)]
    assert SCHEDULERS[name].allocate(jobs, 4, 0.0, EPOCH_S) == (0, 0, 0)
    assert SCHEDULERS[name].allocate(jobs, 10, 0.0, EPOCH_S) == (0, 8, 2)
