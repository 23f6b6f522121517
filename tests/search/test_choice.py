"""What a plan chooses among: starts, chains and the strategies of other fabrics, all simulated."""

import pytest

from topoopt.catalog import ClusterSpec
from topoopt.jobs import Job, JobSettings, make_job
from topoopt.pricing import pricing_of
from topoopt.search import PRESETS, SearchOptions, make_plan
from topoopt.workloads import load_model


def job(
    model: str, servers: int, degree: int = 4, bandwidth_bps: float = 100e9, links: str = "duplex"
) -> Job:
    graph = load_model(model, servers=servers)
    return make_job(graph, ClusterSpec(servers, degree, bandwidth_bps, links=links), JobSettings())


@pytest.mark.long
def test_tensor_parallel_candle_on_128_servers_beats_data_parallelism_by_a_quarter() -> None:
    """Measured: 3.35 s, data parallel 4.50 s (the authors' own is 4.52 s); the kernel alone says 4.81 s."""
    plan = make_plan(job("candle", 128), SearchOptions(budget=8), fabrics=())
    assert plan.outcome.iteration_time_s < 0.8 * plan.data_parallel.iteration_time_s


def test_a_baseline_above_the_price_list_is_left_out_and_said_so() -> None:
    plan = make_plan(
        job("dlrm", 16, bandwidth_bps=400e9),
        SearchOptions(budget=20),
        fabrics=("fat-tree", "torus"),
        prices=pricing_of("2022"),
    )
    assert [row.fabric for row in plan.baselines] == [
        "fat-tree",
        "torus",
    ]  # the published rule needs no price
    ((fabric, reason),) = plan.skipped_fabrics
    assert fabric == "fat-tree (priced)"
    assert "400 Gb/s" in reason


def test_a_baseline_that_cannot_be_wired_is_left_out() -> None:
    plan = make_plan(
        job("dlrm", 4, degree=1, links="directed"), SearchOptions(budget=20), fabrics=("expander",)
    )
    assert plan.baselines == ()
    assert plan.skipped_fabrics[0][0] == "expander"


def test_a_faster_switch_is_never_slower() -> None:
    small = job("candle", 8, degree=2, bandwidth_bps=10e9)
    fabrics = ("ideal-switch", "oversub-fat-tree")
    for seed in range(3):
        ideal, oversubscribed = make_plan(
            small, SearchOptions(budget=200, seed=seed), fabrics=fabrics
        ).baselines
        assert ideal.outcome.iteration_time_s <= oversubscribed.outcome.iteration_time_s


def test_the_published_presets_keep_the_published_routing() -> None:
    assert PRESETS["default"].get("balance", True)
    assert not PRESETS["paper"]["balance"]
    assert not PRESETS["released"]["balance"]
