"""Layouts of a transformer: each wired and simulated, the best taken, on every fabric."""

import json

import pytest

from tests.jobs.training_jobs import small_training_job
from topoopt.jobs import Job, job_mfu, job_traffic, transformer_of
from topoopt.plans import Plan, plan_from_mapping, plan_to_mapping
from topoopt.search import SearchOptions, caveats, make_plan, planner, simulated, task_graph_of
from topoopt.search import baselines as worth_simulating
from topoopt.simulation import free_time_s

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
    raced, calls = planner._raced, iter(range(10))

    def interrupted(*arguments: object) -> object:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return raced(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(planner, "_raced", interrupted)
    plan = make_plan(job, OPTIONS, fabrics=())
    assert plan.search.stopped_because == "interrupted"
    assert plan.strategy.layout == 1
    assert any("interrupted" in warning for warning in caveats(plan))
    layouts = plan_to_mapping(plan)["training"]["layouts"]
    assert [layout["iteration_time_s"] is None for layout in layouts] == [False, False, True]


@pytest.mark.parametrize("step", ["best_candidate", "best_of_pool", "compare_job", "rivals"])
def test_an_interrupt_after_the_search_keeps_its_plan(
    job: Job, plan: Plan, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def interrupted(*_: object, **words: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(planner, step, interrupted)
    kept = make_plan(job, OPTIONS, fabrics=("ideal-switch", "torus"))
    assert kept.search.stopped_because == "interrupted"
    assert kept.iteration_time_s == pytest.approx(plan.iteration_time_s, rel=0.05)
    assert [name for name, _ in kept.skipped_fabrics] == (
        [] if step == "rivals" else ["ideal-switch", "torus"]
    )
    assert plan_from_mapping(plan_to_mapping(kept)).iteration_time_s == kept.iteration_time_s


def test_of_a_large_job_what_cannot_win_is_left_out_and_the_rest_is_the_same(
    job: Job, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The layouts take 1 : 0.97 : 0.94 as long; with as many micro-batches as here only free communication tells."""
    monkeypatch.setattr(worth_simulating, "LARGE", 1)
    monkeypatch.setattr(worth_simulating, "NEAR", 0.2)
    fewer = make_plan(job, OPTIONS, fabrics=("ideal-switch", "torus", "rail"))
    assert fewer.strategy.layout == 0
    assert fewer.search.left_out == (1, 2)
    assert [row.left_out for row in fewer.baselines] == [(1, 2)] * 3
    layouts = transformer_of(job).layouts
    for times_s in (fewer.search.seed_times_s, *(row.layout_times_s for row in fewer.baselines)):
        assert times_s[1:] == tuple(free_time_s(layout.step) for layout in layouts[1:])
    assert plan_from_mapping(plan_to_mapping(fewer)).search.left_out == (1, 2)
    assert plan.search.left_out == ()
    monkeypatch.setattr(worth_simulating, "NEAR", 1.02)
    all_near = make_plan(job, OPTIONS, fabrics=("ideal-switch", "torus", "rail"))
    assert all_near.strategy == plan.strategy
    assert all_near.outcome == plan.outcome
    assert [row.outcome for row in all_near.baselines] == [row.outcome for row in plan.baselines]


def test_rates_follow_from_the_time(plan: Plan) -> None:
    time_s = plan.outcome.iteration_time_s
    document = plan_to_mapping(plan)["training"]
    assert document["tokens_per_s"] == pytest.approx(32 * 1024 / time_s)
    assert (
        document["mfu"] == job_mfu(plan.job, time_s) == pytest.approx(5e15 / (time_s * 64 * 989e12), rel=1e-3)
    )
