"""A chain of thousands of proposals leaves the state that its configuration alone would give."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from topoopt.jobs import Job, operators_of
from topoopt.routing import Fabric
from topoopt.search.proposals import mcmc as route_tables
from topoopt.search.proposals import problem_tables as tables
from topoopt.search.proposals.mcmc import SearchProblem, make_problem, search_strategy
from topoopt.search.proposals.mcmc_kernel import run_chain
from topoopt.workloads.strategy import OperatorSplit, ParallelStrategy, data_parallel

MakeJob = Callable[..., Job]
MakeFabric = Callable[[str, int], Fabric]
RandomStrategy = Callable[[SearchProblem, np.random.Generator, float], ParallelStrategy]

COLD, WARM, HOT = 1e6, 3.0, 0.0
"""Acceptance per millisecond: nothing slower, some of it, everything."""


class Chain:
    """A chain that is run a few proposals at a time."""

    def __init__(self, problem: SearchProblem, start: ParallelStrategy) -> None:
        self.problem, self.made = problem, 0
        self.state = problem.state(start)
        self.best, self.times_s = self.state.best_config, self.state.times_s
        self.state.random[:] = 2022

    def run(self, proposals: int, alpha: float, *, own: bool = True, reset_every: int = 10**9) -> None:
        self.made += run_chain(
            self.problem.arrays, self.state, self.made, proposals, alpha, own, reset_every, False
        )

    def check(self) -> None:
        """Assert that caches, current time and best time are those of fresh evaluations, to the last bit."""
        fresh = self.problem.state(self.problem.strategy(self.state.config))
        assert fresh.times_s[0] == self.times_s[0]
        for slots, loads in ((0, "edge_load"), (0, "edge_overhead_s"), (1, "reduce_load")):
            kept, anew = (getattr(state, loads) for state in (self.state, fresh))
            of = np.arange(kept.shape[1])
            now, then = self.state.slot[slots, of], fresh.slot[slots, of]
            assert (kept[now, of] == anew[then, of]).all()
        assert self.problem.iteration_time_s(self.problem.strategy(self.best)) == self.times_s[1]


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    ("name", "servers"), [("circulant", 16), ("circulant", 4), ("expander", 12), ("ideal-switch", 6)]
)
def test_incremental_evaluation_is_evaluation_from_scratch(
    name: str, servers: int, own: bool, small_job: MakeJob, fabric: MakeFabric
) -> None:
    job = small_job(servers)
    chain = Chain(make_problem(job, fabric(name, servers)), data_parallel(operators_of(job).graph, servers))
    for step in range(150):
        chain.run(20, (COLD, WARM, HOT)[step % 3], own=own, reset_every=70)
        chain.check()
    assert chain.made == 3000


def test_rejections_leave_no_trace(small_job: MakeJob, fabric: MakeFabric) -> None:
    job = small_job(8)
    chain = Chain(make_problem(job, fabric("circulant", 8)), data_parallel(operators_of(job).graph, 8))
    chain.run(3000, COLD)
    settled_s = chain.times_s[0]
    for _ in range(100):  # at the end of a cold search almost everything is rejected
        chain.run(5, COLD)
        chain.check()
    assert chain.times_s[0] == settled_s


def test_a_cold_chain_only_descends_and_a_hot_one_takes_everything(
    small_job: MakeJob, fabric: MakeFabric
) -> None:
    job = small_job(6)
    chain = Chain(make_problem(job, fabric("expander", 6)), data_parallel(operators_of(job).graph, 6))
    for _ in range(50):
        before_s = chain.times_s[0]
        chain.run(10, COLD)
        assert chain.times_s[0] <= before_s
        assert chain.times_s[1] == chain.times_s[0]
    chain.run(200, HOT)
    assert chain.times_s[0] > chain.times_s[1]


def test_a_chain_returns_to_the_best_at_every_reset(small_job: MakeJob, fabric: MakeFabric) -> None:
    job = small_job(6)
    chain = Chain(make_problem(job, fabric("expander", 6)), data_parallel(operators_of(job).graph, 6))
    away = 0
    for _ in range(30):
        chain.run(100, HOT, reset_every=100)
        best_s = chain.times_s[1]
        away += chain.times_s[0] > best_s
        chain.run(1, COLD, reset_every=chain.made)  # due now: first back to the best, then one proposal
        assert chain.times_s[0] <= best_s
        chain.check()
        chain.made = 0
    assert away > 20


def test_long_budgets_return_to_the_best_too(
    small_job: MakeJob, fabric: MakeFabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How often a chain returns does not depend on its budget."""
    resets: list[tuple[int, int, int]] = []

    def spy(*arguments: Any) -> int:
        made_before, proposals, reset_every = (int(str(arguments[i])) for i in (2, 3, 6))
        if not proposals:  # a start that is only timed
            return int(run_chain(*arguments))
        resets.append((made_before, proposals, reset_every))
        return proposals

    monkeypatch.setattr("topoopt.search.proposals.mcmc.run_chain", spy)
    job = small_job(4)
    problem = make_problem(job, fabric("circulant", 4))
    search_strategy(problem, data_parallel(operators_of(job).graph, 4), 50_000, np.random.default_rng(0))
    assert {row[2] for row in resets} == {20}
    assert [row[0] for row in resets] == list(range(0, 50_000, 250))


def test_the_budget_is_kept_to_the_proposal(small_job: MakeJob, fabric: MakeFabric) -> None:
    job = small_job(6)
    problem = make_problem(job, fabric("circulant", 6))
    for budget in (0, 1, 249, 250, 251, 777):
        ticks: list[int] = []
        result = search_strategy(
            problem,
            data_parallel(operators_of(job).graph, 6),
            budget,
            np.random.default_rng(0),
            on_progress=ticks.append,
        )
        assert result.proposals == sum(ticks) == budget


def test_interrupting_keeps_the_best(
    small_job: MakeJob, fabric: MakeFabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = small_job(6)
    problem = make_problem(job, fabric("circulant", 6))
    start = data_parallel(operators_of(job).graph, 6)

    def stop(proposals: int) -> None:
        raise KeyboardInterrupt

    found = search_strategy(problem, start, 5000, np.random.default_rng(0), on_progress=stop)
    assert found.stopped_because == "interrupted"
    assert found.time_s <= problem.iteration_time_s(start)
    assert problem.iteration_time_s(found.strategy) == found.time_s


def test_convergence_descends_to_the_answer(small_job: MakeJob, fabric: MakeFabric) -> None:
    job = small_job(8)
    problem = make_problem(job, fabric("expander", 8))
    start = data_parallel(operators_of(job).graph, 8)
    found = search_strategy(problem, start, 2000, np.random.default_rng(1))
    proposals, times_s = zip(*found.convergence, strict=True)
    assert proposals[0] == 0
    assert times_s[0] == problem.iteration_time_s(start)
    assert list(times_s) == sorted(times_s, reverse=True)
    assert times_s[-1] == found.time_s == problem.iteration_time_s(found.strategy)


@pytest.mark.parametrize("servers", [6, 8, 16])
def test_circulants_by_shifts_are_circulants_by_tables(
    servers: int,
    small_job: MakeJob,
    fabric: MakeFabric,
    random_strategy: RandomStrategy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job, on = small_job(servers), fabric("circulant", servers)
    shifted = make_problem(job, on)
    for part in (tables, route_tables):
        monkeypatch.setattr(part, "is_shiftable", lambda fabric: False)
    tabled = make_problem(job, on)
    assert shifted.arrays.link_of.shape != tabled.arrays.link_of.shape
    rng = np.random.default_rng(servers)
    for _ in range(40):
        strategy = random_strategy(shifted, rng, 0.6)
        assert shifted.iteration_time_s(strategy) == pytest.approx(
            tabled.iteration_time_s(strategy), rel=1e-12
        )


@pytest.mark.parametrize("name", ["circulant", "expander", "fat-tree"])
def test_a_table_fans_out_as_its_pairs_do(
    name: str, small_job: MakeJob, fabric: MakeFabric, random_strategy: RandomStrategy
) -> None:
    problem = make_problem(small_job(16), fabric(name, 16))
    assert problem.arrays.fan_out.shape[0] == 16
    slow = SearchProblem(problem.job, problem.fabric, problem.arrays._replace(fan_out=np.zeros((1, 1, 1))))
    rng = np.random.default_rng(0)
    for server in range(16):
        drawn = random_strategy(problem, rng, 0.5).splits
        placed = OperatorSplit(1, server % 8, 2, ("rows", "columns")[server % 2])
        strategy = ParallelStrategy(
            16, (OperatorSplit(1, server), placed, *drawn[2:3], OperatorSplit(16), *drawn[4:])
        )
        assert problem.iteration_time_s(strategy) == pytest.approx(slow.iteration_time_s(strategy), rel=1e-12)
