"""Chains that are well behind go on where the best is; those that are not, and those that have ended, stay."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from topoopt.finder import FinderRules
from topoopt.jobs import Job, operators_of
from topoopt.search import SearchOptions
from topoopt.search.alternating_optimization import Beginning, next_round, run_chains
from topoopt.search.candidates.candidate import fabric_for
from topoopt.search.operator_search import simulated_starts
from topoopt.search.proposals.mcmc import BEHIND, Chain, ChainAnswer, exchanged
from topoopt.workloads.strategy import ParallelStrategy, data_parallel

MakeJob = Callable[..., Job]
GROUPS = FinderRules("by-group")


@pytest.fixture
def chain(small_job: MakeJob) -> Callable[[float, str], Chain]:
    """Return what makes a chain whose only round came to so many seconds."""
    job = small_job(8)
    start = data_parallel(operators_of(job).graph, 8)
    fabric = fabric_for(job, start)

    def make(time_s: float, over: str = "", strategy: ParallelStrategy = start) -> Chain:
        answer = ChainAnswer(strategy, fabric, time_s, 10, "budget", ((0, time_s),), GROUPS)
        return Chain(strategy, 40, np.random.default_rng(0), (), (answer,), idle=2, over=over)

    return make


def test_those_behind_take_strategy_and_wiring_of_the_best(
    chain: Callable[..., Chain], small_job: MakeJob
) -> None:
    found = simulated_starts(small_job(8), SearchOptions())[-1].strategy
    best, near, far, done, ended = exchanged(
        [
            chain(1.0, "", found),
            chain(BEHIND - 1e-6),
            chain(BEHIND),
            chain(2.0, "converged"),
            chain(2.0, "budget"),
        ]
    )
    for row in (far, done):
        assert (row.strategy, row.wirings, row.idle, row.over) == (found, (GROUPS,), 0, "")
        assert row.best.time_s >= BEHIND  # what it has found itself stays its answer until it finds more
    for row in (near, ended):
        assert row.strategy != found
        assert row.wirings == ()
    assert (best.strategy, best.wirings, best.idle) == (found, (), 2)


def test_a_chain_that_began_badly_ends_where_the_other_one_is(small_job: MakeJob) -> None:
    """Two chains without a move of their own: one begins at the fastest start, the other at the slowest."""
    job, options = small_job(12, batch=8), SearchOptions(budget=8, chains=2, rounds=1000)
    rows = sorted(simulated_starts(job, options), key=lambda row: row.time_s)
    begin = [Beginning(row.strategy, (row.rules,)) for row in (rows[0], rows[-1])]
    alone = [run_chains(job, replace(options, chains=1, budget=4), beginnings=[one]).best for one in begin]
    assert alone[1].time_s > BEHIND * alone[0].time_s
    together = run_chains(job, options, beginnings=begin)
    assert together.answers[1].time_s <= BEHIND * together.answers[0].time_s
    assert together.answers[1].rules == begin[0].wirings[0]


def test_rounds_take_the_wirings_by_turns_and_share_the_budget(small_job: MakeJob) -> None:
    job, options = small_job(8, batch=8), SearchOptions(rounds=200)
    wirings = (FinderRules("by-group"), FinderRules("all-to-allreduce"))
    chain = Chain(data_parallel(operators_of(job).graph, 8), 31, np.random.default_rng(0), wirings)
    while not chain.over:
        chain = next_round(job, options, chain)
    assert [row.rules for row in chain.rounds] == [*wirings, *wirings][: len(chain.rounds)]
    assert [row.proposals for row in chain.rounds] == [10, 10, 10, 1][: len(chain.rounds)]
    assert chain.answer.proposals == chain.made <= 31
    assert chain.answer.time_s == min(row.time_s for row in chain.rounds)


def test_a_search_with_a_larger_budget_begins_like_one_with_a_smaller(small_job: MakeJob) -> None:
    job, options = small_job(12, degree=3, batch=8), SearchOptions(rounds=40)
    chains = [
        Chain(data_parallel(operators_of(job).graph, 12), budget, np.random.default_rng(0))
        for budget in (150, 300)
    ]
    for _ in range(3):  # rounds of 50
        chains = [next_round(job, options, chain) for chain in chains]
    few, many = ([(row.strategy, row.convergence) for row in chain.rounds] for chain in chains)
    assert few == many
