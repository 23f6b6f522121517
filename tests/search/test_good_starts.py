"""What a search starts from: many changes at once, on wirings of their own; and what it finds from there."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from topoopt.catalog import ClusterSpec
from topoopt.finder.fabric_request import GROUPS_BY_FAMILY
from topoopt.jobs import AUTO_BUCKET, Job, JobSettings, make_job, operators_of
from topoopt.search import SearchOptions, alternating_optimization, make_plan
from topoopt.search.alternating_optimization import Beginning, run_chains
from topoopt.search.candidates.candidate import simulated
from topoopt.search.operator_search import simulated_starts
from topoopt.search.starting_strategies import (
    fits,
    layers_of,
    parts_of,
    split_layers,
    split_tables,
    tensor_parallel_starts,
)
from topoopt.workloads import load_model
from topoopt.workloads.strategy import OperatorSplit, data_parallel

MakeJob = Callable[..., Job]
STRIDES = SearchOptions(wirings="strides")


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
