"""What an iteration takes at least is below what every plan takes, on every fabric."""

import pytest

from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobRequest, JobSettings, make_job
from topoopt.search import SearchOptions, closed_form_s, job_of, make_plan
from topoopt.search.bounds.strategy_bound import strategy_bound_s
from topoopt.workloads import load_model

OPTIONS = SearchOptions(budget=60, chains=1, rounds=1, baseline_budget=30)
FABRICS = ("ideal-switch", "torus")


@pytest.mark.parametrize("model", ["dlrm", "vgg16", "resnet50", "bert", "candle", "ncf"])
def test_no_plan_of_operators_takes_less_than_they_compute(model: str) -> None:
    job = make_job(load_model(model, servers=8), ClusterSpec(8, 2, 100e9), JobSettings())
    plan = make_plan(job, OPTIONS, fabrics=FABRICS, weigh_routes=False)
    times_s = [plan.outcome.iteration_time_s, *(row.outcome.iteration_time_s for row in plan.baselines)]
    assert 0 < plan.bounds.any_strategy_s == strategy_bound_s(job) <= min(times_s)


def test_the_bound_is_what_a_network_without_limits_leaves_of_layers_that_split_evenly() -> None:
    """All of VGG16 is split over the batch: on free links an iteration is its computing, and little else."""
    job = make_job(load_model("vgg16", servers=4), ClusterSpec(4, 2, 1e17, link_latency_s=0.0), JobSettings())
    plan = make_plan(job, OPTIONS, fabrics=(), weigh_routes=False)
    assert plan.outcome.iteration_time_s == pytest.approx(strategy_bound_s(job), rel=0.05)


def test_a_transformer_is_estimated_on_one_switch() -> None:
    cluster = {"servers": 4, "degree": 4, "link_bandwidth_bps": 100e9, "accelerator": "h100"}
    request = JobRequest(model="llama3-8b", cluster=cluster)
    job = job_of(request)
    plan = make_plan(job, OPTIONS, fabrics=("ideal-switch",), weigh_routes=False)
    assert closed_form_s(request) == min(layout.estimated_s for layout in job.work.layouts)  # type: ignore[attr-defined]
    fastest_s = min(plan.outcome.iteration_time_s, plan.baselines[0].outcome.iteration_time_s)
    assert 0.9 * fastest_s < closed_form_s(request) < 1.02 * fastest_s
