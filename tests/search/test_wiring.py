"""Layouts of a transformer: each wired and simulated, the best taken, on every fabric."""

import json

import pytest

from tests.job.training_jobs import small_training_job
from topoopt.job import Job, job_mfu, job_traffic, transformer_of
from topoopt.plan import Plan, plan_to_mapping
from topoopt.search import SearchOptions, caveats, make_plan, simulated, task_graph_of, wiring

OPTIONS = SearchOptions()


@pytest.fixture(scope="module")
def job() -> Job:
    return small_training_job()


@pytest.fixture(scope="module")
def plan(job: Job) -> Plan:
    return make_plan(job, OPTIONS, fabrics=("ideal-switch", "torus", "rail"))


def test_the_layout_that_wires_best_is_taken_and_not_the_first_in_closed_form(plan: Plan) -> None:
    assert plan.strategy.layout == 2
    assert plan.outcome.iteration_time_s <= min(plan.search.seed_times_s)
    assert plan.data_parallel.iteration_time_s == plan.search.seed_times_s[0]
    assert plan.search.stopped_because == "every layout tried"


def test_traffic_and_tasks_are_those_of_the_layout(job: Job) -> None:
    for strategy in job.work.choices(job.cluster.servers):
        step = transformer_of(job).layout(strategy).step
        assert job_traffic(job, strategy) is step.traffic
        assert task_graph_of(job, strategy).devices >= step.stages * step.replicas


def test_every_fabric_has_the_best_layout_for_it(plan: Plan) -> None:
    for row in plan.baselines:
        assert len(row.layout_times_s) == 3
        assert row.outcome.iteration_time_s == min(row.layout_times_s)
        assert row.layout_times_s.index(row.outcome.iteration_time_s) == row.strategy.layout


def test_nothing_is_faster_than_the_bound(plan: Plan) -> None:
    ideal = next(row for row in plan.baselines if row.fabric == "ideal-switch")
    assert plan.bounds.lower_bound_s <= plan.outcome.iteration_time_s
    assert ideal.strategy.layout == plan.strategy.layout
    assert plan.bounds.injection_s <= ideal.outcome.iteration_time_s
    assert plan.bounds.compute_s <= plan.outcome.compute_time_s


def test_flows_agree_with_the_plan(plan: Plan) -> None:
    flows = simulated(plan.job, plan.strategy, plan.fabric, "flow")
    assert flows.iteration_time_s == pytest.approx(plan.outcome.iteration_time_s, rel=0.05)


def test_the_same_plan_is_made_again(job: Job, plan: Plan) -> None:
    again = make_plan(job, OPTIONS, fabrics=("ideal-switch", "torus", "rail"))
    first, second = (
        json.dumps({**plan_to_mapping(one), "search": 0, "proposals_per_s": 0}) for one in (plan, again)
    )
    assert first == second


def test_an_interrupted_search_keeps_the_best_so_far(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    wirings, calls = wiring._wirings, iter(range(10))

    def interrupted(*arguments: object) -> object:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return wirings(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(wiring, "_wirings", interrupted)
    plan = make_plan(job, OPTIONS, fabrics=())
    assert plan.search.stopped_because == "interrupted"
    assert plan.strategy.layout == 1
    assert any("interrupted" in warning for warning in caveats(plan))
    layouts = plan_to_mapping(plan)["training"]["layouts"]
    assert [layout["iteration_time_s"] is None for layout in layouts] == [False, False, True]


def test_rates_follow_from_the_time(plan: Plan) -> None:
    time_s = plan.outcome.iteration_time_s
    document = plan_to_mapping(plan)["training"]
    assert document["tokens_per_s"] == pytest.approx(32 * 1024 / time_s)
    assert (
        document["mfu"] == job_mfu(plan.job, time_s) == pytest.approx(5e15 / (time_s * 64 * 989e12), rel=1e-3)
    )
