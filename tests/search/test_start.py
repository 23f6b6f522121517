"""Where a search starts, and how memory decides about it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from topoopt.base.errors import Infeasible
from topoopt.catalog import ClusterSpec, find_accelerator
from topoopt.jobs import Job, JobSettings, make_job, operators_of
from topoopt.search import SearchOptions, make_plan
from topoopt.search.candidates.candidate import fabric_for
from topoopt.search.proposals.mcmc import make_problem, search_strategy
from topoopt.search.starting_strategies import fits, fullest_server, starting_strategy, tensor_parallel_starts
from topoopt.workloads import Operator, OperatorGraph, Weight, load_model
from topoopt.workloads.strategy import OperatorSplit, data_parallel

MakeJob = Callable[..., Job]
A100_BYTES = find_accelerator("a100").memory_bytes


def zoo_job(model: str, servers: int, memory_check: str, **overrides: Any) -> Job:
    """The 128-server variants: CANDLE has 94 GB of parameters there, as the authors set it."""
    graph = load_model(model, servers=128, **overrides)
    return make_job(graph, ClusterSpec(servers, 4, 100e9), JobSettings(memory_check=memory_check))


def layer(splits: str, size_bytes: int) -> Job:
    """One layer that is split in the given dims only, on four servers, memory enforced."""
    op = Operator(
        "wide", "dense", (), (Weight("w", size_bytes),), 1000, 1e9, splits=frozenset(splits.split())
    )
    cluster = ClusterSpec(4, 4, 100e9)
    return make_job(OperatorGraph("layer", (op,), 64), cluster, JobSettings(memory_check="enforce"))


@pytest.mark.parametrize("memory_check", ["warn", "off"])
def test_unless_enforced_memory_changes_nothing(memory_check: str) -> None:
    job = zoo_job("candle", 16, memory_check)
    start = starting_strategy(job)
    assert start == data_parallel(operators_of(job).graph, 16)
    assert fits(job, start)
    assert fullest_server(job, start).total_bytes > 4 * A100_BYTES


def test_enforced_memory_starts_from_the_least_split_that_fits() -> None:
    """94 GB of CANDLE and as many of gradients: eight servers have to share each layer."""
    job = zoo_job("candle", 16, "enforce")
    assert operators_of(job).graph.parameter_bytes == pytest.approx(94e9, rel=0.01)
    start = starting_strategy(job)
    assert {split.channel_degree for split in start.splits} == {1, 8}
    assert fullest_server(job, start).total_bytes <= A100_BYTES
    assert not fits(job, data_parallel(operators_of(job).graph, 16))


def test_enforced_memory_holds_for_the_plan_and_everything_beside_it() -> None:
    job = zoo_job("candle", 16, "enforce")
    plan = make_plan(job, SearchOptions(budget=60, baseline_budget=20), fabrics=("ideal-switch",))
    for strategy in (plan.strategy, *(row.strategy for row in plan.baselines)):
        assert fits(job, strategy)


def test_a_hot_chain_never_leaves_what_fits() -> None:
    job = zoo_job("candle", 16, "enforce")
    start = starting_strategy(job)
    problem = make_problem(job, fabric_for(job, start))
    found = search_strategy(problem, start, 500, np.random.default_rng(0), alpha_per_ms=0.0)
    assert fits(job, found.strategy)
    assert found.time_s <= problem.iteration_time_s(start)


def test_too_many_tables_are_split_by_rows() -> None:
    job = zoo_job("dlrm", 8, "enforce", tables=1, rows=100_000_000)  # 51 GB in one table
    start = starting_strategy(job)
    assert start.splits[0] == OperatorSplit(1, 0, 2, "rows")
    assert fits(job, start)


def test_what_fits_nowhere_is_said_in_one_line() -> None:
    job = zoo_job("dlrm", 16, "enforce", tables=2000)
    with pytest.raises(Infeasible) as caught:
        make_plan(job, SearchOptions())
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("memory: even split over 16 servers")
    for part in ("tables", "a100 has 39.4 GiB", "memory_check=warn"):
        assert part in message


@pytest.mark.parametrize("splits", ["out", "batch out"])
def test_a_layer_without_replicas_is_split_all_the_same(splits: str) -> None:
    job = layer(splits, 30_000_000_000)
    assert starting_strategy(job).splits[0].channel_degree == 2
    with pytest.raises(Infeasible, match="even split over 4 servers"):
        starting_strategy(layer(splits, 100_000_000_000))


def test_tensor_parallel_starts_split_what_may_be_split(small_job: MakeJob) -> None:
    starts = tensor_parallel_starts(small_job(8))
    assert len(starts) == 6  # degrees 2, 4 and 8, on input or output channels
    for start in starts:
        assert start.splits[:2] == data_parallel(operators_of(small_job(8)).graph, 8).splits[:2]  # tables
        assert start.splits[3] == OperatorSplit(8)  # nothing to split in a concatenation
        assert len({start.splits[2], *start.splits[4:]}) == 1
    assert {start.splits[2].channel_dim for start in starts} == {"in", "out"}
    assert tensor_parallel_starts(layer("out", 1000))[0].splits == (OperatorSplit(1, 0, 2, "out"),)


def test_models_without_layers_to_split_have_no_such_start() -> None:
    op = Operator("pool", "pool", (), (), 1000, 1e9)
    job = make_job(OperatorGraph("pools", (op,), 64), ClusterSpec(4, 2, 100e9), JobSettings())
    assert tensor_parallel_starts(job) == ()
