"""Chains: an answer that the seed decides, and a budget that is shared out to the proposal."""

from collections.abc import Callable

import pytest

from topoopt.jobs import Job, operators_of
from topoopt.search import SearchOptions, make_plan
from topoopt.search.alternating_optimization import ChainsResult, run_chains
from topoopt.workloads.strategy import data_parallel

MakeJob = Callable[..., Job]


def answer(result: ChainsResult) -> tuple[object, ...]:
    """Return all but the measurements of time."""
    best = result.best
    links = best.fabric.topology
    return (
        best.strategy,
        best.time_s,
        best.convergence,
        best.stopped_because,
        times_s(result),
        result.proposals,
        links.src.tolist(),
        links.dst.tolist(),
    )


def times_s(result: ChainsResult) -> list[float]:
    return [row.time_s for row in result.answers]


def test_the_seed_decides(small_job: MakeJob) -> None:
    job = small_job(12, degree=3, batch=8)
    answers = [answer(run_chains(job, SearchOptions(budget=120, seed=seed))) for seed in (0, 0, 1, 2)]
    assert answers[0] == answers[1]
    assert len({row[0] for row in answers}) > 1


def test_chains_differ_from_each_other(small_job: MakeJob) -> None:
    """Too few proposals to reach the best, so each chain ends its round where its own chance led it."""
    result = run_chains(small_job(12, degree=3, batch=8), SearchOptions(budget=160, chains=4, rounds=1))
    assert len(set(times_s(result))) > 1
    assert result.best.time_s == min(times_s(result))


@pytest.mark.parametrize("mode", ["alternating", "released"])
@pytest.mark.parametrize(("budget", "chains"), [(0, 2), (1, 2), (7, 3), (100, 1), (203, 4)])
def test_no_more_proposals_than_the_budget(mode: str, budget: int, chains: int, small_job: MakeJob) -> None:
    ticks: list[int] = []
    result = run_chains(small_job(6), SearchOptions(mode=mode, budget=budget, chains=chains), ticks.append)
    assert result.proposals == sum(ticks) <= budget
    if mode == "released":  # which never converges
        assert result.proposals == budget
    assert len(times_s(result)) == chains


@pytest.mark.parametrize("mode", ["alternating", "released"])
def test_without_a_budget_it_is_data_parallelism(mode: str, small_job: MakeJob) -> None:
    job = small_job(8)
    plan = make_plan(job, SearchOptions(mode=mode, budget=0), fabrics=())
    assert plan.strategy == data_parallel(operators_of(job).graph, 8)
    assert plan.search.proposals == 0
    # the same topology, but for transfers that are shifted to less busy paths
    assert plan.outcome.compute_time_s == plan.data_parallel.compute_time_s
    assert plan.outcome.iteration_time_s <= plan.data_parallel.iteration_time_s


def test_alternation_stops_when_two_rounds_gain_nothing(small_job: MakeJob) -> None:
    result = run_chains(small_job(4, batch=4096), SearchOptions(budget=4000, rounds=20, chains=1))
    assert result.best.stopped_because == "converged"
    assert result.proposals < 4000


def test_convergence_falls_from_round_to_round(small_job: MakeJob) -> None:
    best = run_chains(small_job(12, batch=8), SearchOptions(budget=2000, chains=1)).best
    proposals, best_s = zip(*best.convergence, strict=True)
    assert list(proposals) == sorted(proposals)
    assert list(best_s) == sorted(best_s, reverse=True)
    assert best_s[-1] == best.time_s


def test_interrupting_keeps_the_best_so_far(small_job: MakeJob) -> None:
    made: list[int] = []

    def stop(proposals: int) -> None:
        made.append(proposals)
        if len(made) == 3:
            raise KeyboardInterrupt

    result = run_chains(small_job(8), SearchOptions(budget=8000, chains=2), stop)
    assert {row.stopped_because for row in result.answers} == {"interrupted"}
    assert len(times_s(result)) == 2  # the first chain had done its round of 500, the second half of it
    assert result.proposals < 1000
