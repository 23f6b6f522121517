"""What is not to be believed of a plan is said, and nothing where all is well."""

from dataclasses import replace

import pytest

from tests.search.conftest import small_graph
from topoopt.catalog import ClusterSpec
from topoopt.jobs import Job, JobSettings, make_job
from topoopt.plans import Plan
from topoopt.pricing import OwnershipTerms, Running, ServerPrice
from topoopt.search import SearchOptions, caveats, make_plan, time_sources
from topoopt.workloads import load_model


def planned(job: Job) -> Plan:
    return make_plan(job, SearchOptions(budget=0, baseline_budget=0), fabrics=())


@pytest.fixture(scope="module")
def plan() -> Plan:
    found = planned(make_job(small_graph(), ClusterSpec(4, 2, 100e9), JobSettings()))
    return replace(found, outcome=replace(found.outcome, exposed_communication_s=0.0))


def test_of_a_sound_plan_there_is_nothing_to_say(plan: Plan) -> None:
    assert caveats(plan) == ()


def test_an_interrupted_search_is_said(plan: Plan) -> None:
    (said,) = caveats(replace(plan, search=replace(plan.search, stopped_because="interrupted")))
    assert "interrupted" in said


def test_times_of_another_accelerator_than_the_measured_one_are_of_the_roofline() -> None:
    """VGG on an H100 takes longer, by its fp32 roofline, than on an A100, where it was measured."""
    cluster = ClusterSpec(4, 4, 100e9, accelerator="h100")
    plans = [
        planned(make_job(load_model("vgg16", servers=4), cluster, JobSettings(compute=compute)))
        for compute in ("profile", "roofline")
    ]
    said = [[one for one in caveats(plan) if "fp32 roofline" in one] for plan in plans]
    assert len(said[0]) == 1
    assert said[1] == []


def test_what_does_not_fit_is_said_where_memory_is_looked_at() -> None:
    def plan(memory_check: str) -> Plan:
        graph = load_model("dlrm", servers=4, tables=4, rows=10**8)
        return planned(make_job(graph, ClusterSpec(4, 2, 100e9), JobSettings(memory_check=memory_check)))

    assert any("Does not fit in memory" in said for said in caveats(plan("warn")))
    assert not any("memory" in said for said in caveats(plan("off")))


def test_times_outside_what_was_measured_are_counted() -> None:
    graph = load_model("dlrm", servers=16)
    plan = planned(make_job(graph, ClusterSpec(2, 4, 100e9), JobSettings(memory_check="off")))
    sources = time_sources(plan)
    assert sum(sources.values()) == len(graph.operators)
    beyond = sum(count for source, count in sources.items() if "extrapolated" in source)
    assert beyond > 0
    assert caveats(plan) == (
        f"Times of {beyond} operators lie outside the measured range and are extrapolated.",
    )


def test_a_network_that_is_slow_for_the_job_or_cheap_for_its_servers_is_said(plan: Plan) -> None:
    found = plan.outcome
    slow = replace(plan, outcome=replace(found, exposed_communication_s=1.01 * found.compute_time_s))
    (said,) = caveats(slow)
    assert said.startswith("Communication that nothing hides takes")
    server = ServerPrice("ours", 200e3, 150e3, 300e3, 8e3, "by hand")
    terms = OwnershipTerms(Running(4, 0.10), server)
    cheap = 0.009 * plan.job.cluster.servers * 200e3
    (said,) = caveats(replace(plan, terms=terms, price={"cost_usd": cheap}))
    assert said.startswith("The network costs 0.9% of its servers: check that 2 × ")
    assert caveats(replace(plan, terms=terms, price={"cost_usd": cheap / 0.8})) == ()
