"""What a search starts from: many changes at once, on wirings of their own; and what it finds from there."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.search.conftest import small_graph
from topoopt.catalog import ClusterSpec
from topoopt.finder.fabric_request import GROUPS_BY_FAMILY
from topoopt.jobs import AUTO_BUCKET, Job, JobSettings, make_job, operators_of
from topoopt.plans import Plan
from topoopt.search import SearchOptions, alternating_optimization, make_plan
from topoopt.search.alternating_optimization import Beginning, run_chains
from topoopt.search.candidates.candidate import simulated
from topoopt.search.operator_search import simulated_starts
from topoopt.search.starting_strategies import (
    fits,
    layers_of,
    parts_of,
    plain_shape,
    split_layers,
    split_tables,
    tensor_parallel_starts,
)
from topoopt.search.strategy_pool import MOST, strategy_pool
from topoopt.workloads import load_model
from topoopt.workloads.strategy import OperatorSplit, data_parallel

MakeJob = Callable[..., Job]
STRIDES = SearchOptions(wirings="strides")
NOT_SLOWER = 1.03
"""Factor by which more of something was slower at most: 2.4% in iterations of 0.15 ms, in which latency counts."""


def zoo_job(model: str, servers: int, **settings: Any) -> Job:
    graph = load_model(model, servers=128)
    return make_job(graph, ClusterSpec(servers, 4, 100e9), JobSettings(**settings))


def test_shapes_split_what_may_be_split(small_job: MakeJob) -> None:
    job = small_job(8)
    start = data_parallel(operators_of(job).graph, 8)
    tables = split_tables(job, start, 4)
    assert tables.splits[:2] == (OperatorSplit(1, 0, 4, "columns"), OperatorSplit(1, 1, 4, "columns"))
    assert tables.splits[2:] == start.splits[2:]
    assert layers_of(job) == (2, 4, 5)
    both = split_layers(job, tables, 2, "in", (2, 3, 5))  # 3 is a concatenation
    assert both.splits[2] == both.splits[5] == OperatorSplit(4, 0, 2, "in")
    assert both.splits[3:5] == (OperatorSplit(8), OperatorSplit(8))
    assert split_tables(job, start, 1) == start


@pytest.mark.parametrize("count", range(1, 9))
def test_parts_are_some_layers_and_never_all(count: int) -> None:
    layers = tuple(range(count))
    for part in parts_of(layers):
        assert 0 < len(part) < count
        assert list(part) == sorted(set(part) & set(layers))


def test_data_parallelism_comes_first_and_all_are_simulated(small_job: MakeJob) -> None:
    job = small_job(12, batch=8)
    rows = simulated_starts(job, STRIDES)
    assert rows[0].strategy == data_parallel(operators_of(job).graph, 12)
    assert len({row.strategy for row in rows}) > 3
    assert len({row.rules.degree_split for row in rows}) > 1
    for row in rows:
        assert simulated(job, row.strategy, row.fabric).iteration_time_s == row.time_s


def test_strides_are_those_of_groups_too(small_job: MakeJob) -> None:
    """Lifted rings of groups are no strides: they are there only where any wiring may be."""
    job = small_job(12, batch=64)
    for options, lifted in ((STRIDES, False), (SearchOptions(), True)):
        rows = [row for row in simulated_starts(job, options) if row.rules.degree_split in GROUPS_BY_FAMILY]
        assert rows
        assert {row.rules.lifts_groups for row in rows} == {lifted}


def test_few_starts_where_few_are_wanted(small_job: MakeJob) -> None:
    """The authors' mode and a search without budget begin at data parallelism, the paper's preset at what it had."""
    job = small_job(8)
    for options in (SearchOptions(mode="released"), SearchOptions(budget=0)):
        assert len(simulated_starts(job, options)) == 1
    uniform = simulated_starts(job, SearchOptions(starts="uniform"))
    assert tuple(row.strategy for row in uniform[1:]) == tensor_parallel_starts(job)
    assert {row.rules for row in uniform} == {SearchOptions().rules}


def test_nothing_starts_that_does_not_fit() -> None:
    job = zoo_job("candle", 16, memory_check="enforce")
    rows = simulated_starts(job, STRIDES)
    assert len(rows) > 1
    assert all(fits(job, row.strategy) for row in rows)


def test_chains_begin_where_they_are_told_one_by_one_or_side_by_side(
    small_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alternating_optimization, "_pool", ThreadPoolExecutor)  # test_planner has processes
    job = small_job(8, batch=8)
    starts = simulated_starts(job, STRIDES)
    begin = [Beginning(row.strategy, (row.rules,)) for row in starts[:3]]
    ticks: list[int] = []
    one = run_chains(job, SearchOptions(budget=61, chains=3), beginnings=begin)
    two = run_chains(job, SearchOptions(budget=61, chains=3, processes=2), ticks.append, begin)
    assert sum(ticks) == two.proposals == one.proposals
    told = {where.wirings[0] for where in begin}
    for row, other in zip(one.answers, two.answers, strict=True):
        assert (row.strategy, row.time_s, row.rules) == (other.strategy, other.time_s, other.rules)
        assert (row.convergence, row.stopped_because) == (other.convergence, other.stopped_because)
        assert row.rules in told  # its own, or that of the chain which it has gone on from
    free = run_chains(job, SearchOptions(budget=0, chains=3), beginnings=begin)
    assert [row.strategy for row in free.answers] == [where.strategy for where in begin]


def test_an_equal_seed_gives_equal_plans(small_job: MakeJob) -> None:
    job, options = small_job(12, degree=4, batch=8), SearchOptions(budget=200, seed=3)
    one, two = (make_plan(job, options, fabrics=()) for _ in range(2))
    assert one.strategy == two.strategy
    assert one.rules == two.rules
    assert one.outcome == two.outcome


ANY = SearchOptions()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "model", "bucket_bytes", "limit_ms"),
    [
        (STRIDES, "dlrm", 0, 65.92),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                *[(ANY, "candle", 0, 2984.4), (ANY, "dlrm", 0, 62.1)],
                *[(ANY, "dlrm", AUTO_BUCKET, 60.7), (ANY, "ncf", 0, 35.6)],
                *[
                    (STRIDES, "candle", 0, 2946.0),
                    (STRIDES, "dlrm", AUTO_BUCKET, 62.1),
                    (STRIDES, "ncf", 0, 36.51),
                ],
            )
        ),
    ],
)
def test_what_was_found_by_hand_is_found(
    options: SearchOptions, model: str, bucket_bytes: int, limit_ms: float
) -> None:
    """By hand, groups by interfaces of their own: layers in fours, or in pairs beside tables in columns.

    By hand DLRM came to 60.7 ms without buckets. The search finds 61.7 ms, and with buckets less than that by hand.
    Where everything has to be along strides CANDLE is as fast; DLRM takes 65.9 ms and NCF 36.5 ms [measured].
    Round-robin puts the 64 tables of DLRM on servers 0 to 63, which takes 71.4 ms.
    """
    job = zoo_job(model, 128, bucket_bytes=bucket_bytes)
    plan = make_plan(job, options, fabrics=(), weigh_routes=False)
    assert plan.outcome.iteration_time_s * 1e3 <= limit_ms
    assert model != "dlrm" or plan.outcome.iteration_time_s < 0.97 * plan.data_parallel.iteration_time_s
    assert plan.wiring is not None
    assert plan.wiring.over_strides is not None
    assert plan.wiring.over_strides >= 0
    if options is STRIDES:
        assert (plan.wiring.family, plan.wiring.over_strides) == ("strides", 0)


def test_the_pool_depends_on_no_network_and_not_on_the_seed(small_job: MakeJob) -> None:
    """The same strategies for all ports, bandwidths, seeds and buckets; more budget searches longer for it."""
    job, options = small_job(8, degree=2), SearchOptions(budget=100)
    pool = strategy_pool(job, options)
    faster = replace(job.cluster, degree=4, link_bandwidth_bps=25e9)
    other = make_job(operators_of(job).graph, faster, replace(job.settings, bucket_bytes=0))
    assert 3 < len(pool) == len(set(pool)) <= MOST
    assert strategy_pool(other, replace(options, seed=1)) == pool
    assert strategy_pool(job, replace(options, starts="uniform")) == ()
    assert {split.parts for row in pool for split in row.splits[2:]} > {8}  # layers on fewer servers, too


def test_shapes_move_layers_to_fewer_servers_and_branches_apart(small_job: MakeJob) -> None:
    job = small_job(8)
    shape = replace(plain_shape(job), batch=2, channel=2, dims=("in", "out"), columns=2, places=4)
    assert shape.of(job).splits == (
        OperatorSplit(1, 0, 2, "columns"),
        OperatorSplit(1, 2, 2, "columns"),
        OperatorSplit(2, 0, 2, "in"),  # the branch below
        OperatorSplit(8),  # a concatenation
        OperatorSplit(2, 1, 2, "in"),
        OperatorSplit(2, 1, 2, "out"),
    )
    assert plain_shape(job).of(job) == data_parallel(operators_of(job).graph, 8)


@settings(max_examples=1)
@given(
    st.sampled_from([6, 8, 9, 12]), st.integers(2, 3), st.sampled_from([25e9, 50e9]), st.sampled_from([8, 64])
)
def test_more_of_anything_makes_no_plan_slower(servers: int, degree: int, bps: float, batch: int) -> None:
    """More bandwidth, ports, budget or baselines; the seed decides little, and the bound over strategies holds."""
    cluster, options = ClusterSpec(servers, degree, bps), SearchOptions(budget=400, baseline_budget=100)

    def plan_of(options: SearchOptions, fabrics: tuple[str, ...] = (), **changes: Any) -> Plan:
        job = make_job(small_graph(batch), replace(cluster, **changes), JobSettings(memory_check="off"))
        return make_plan(job, options, fabrics=fabrics, weigh_routes=False)

    first = plan_of(options)
    least_s = first.bounds.any_strategy_s
    beside = plan_of(options, ("ideal-switch",))
    assert beside.outcome.iteration_time_s == first.outcome.iteration_time_s
    others = [
        plan_of(options, link_bandwidth_bps=1.25 * bps),
        plan_of(options, degree=degree + 1),
        plan_of(replace(options, budget=800)),
        plan_of(replace(options, seed=1)),
    ]
    times_s = [row.outcome.iteration_time_s for row in others]
    assert max(times_s) <= NOT_SLOWER * first.outcome.iteration_time_s
    switch_s = beside.baselines[0].outcome.iteration_time_s
    assert switch_s <= NOT_SLOWER * first.outcome.iteration_time_s
    assert 0 < least_s <= min(first.outcome.iteration_time_s, switch_s, *times_s[2:])
