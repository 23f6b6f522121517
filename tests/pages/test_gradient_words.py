"""What a plan says of its buckets and algorithms."""

from dataclasses import replace

import pytest

from topoopt.catalog import ClusterSpec
from topoopt.collectives import QUICKEST
from topoopt.jobs import DDP_BUCKET_BYTES, JobSettings, make_job
from topoopt.pages.operators_page import gradient_facts
from topoopt.plans import GradientChoice, Plan
from topoopt.search import SearchOptions, make_plan
from topoopt.workloads import load_model

LARGEST = 100 * 1024 * 1024


@pytest.fixture(scope="module")
def plan() -> Plan:
    settings = JobSettings(memory_check="off", bucket_bytes=DDP_BUCKET_BYTES)
    job = make_job(load_model("vgg16", servers=4), ClusterSpec(4, 2, 100e9), settings)
    return make_plan(job, SearchOptions(budget=0), fabrics=())


def test_times_of_all_sizes_that_were_tried_are_named(plan: Plan) -> None:
    """On large clusters only two are, and neither is none."""
    tried = ((0, 3e-3), (DDP_BUCKET_BYTES, 1e-3), (LARGEST, 2e-3))
    chosen = replace(plan, gradients=GradientChoice(tried))
    assert (
        gradient_facts(chosen)["buckets"] == "25 MiB, the fastest of 3 sizes: 1 ms; one for each tensor 3 ms"
    )
    few = replace(plan, gradients=GradientChoice(tried[1:]))
    assert gradient_facts(few)["buckets"] == "25 MiB, the fastest of 2 sizes: 1 ms"
    assert gradient_facts(plan)["buckets"] == "25 MiB"


def test_algorithms_are_beside_what_rings_take(plan: Plan) -> None:
    slower = replace(plan, gradients=GradientChoice((), 1e-3, 2e-3))
    assert (
        gradient_facts(slower)["collectives"] == "rings; an algorithm for each message is not faster (2 ms)"
    )
    hardly = replace(plan, gradients=GradientChoice((), 2e-3, 1.99e-3))
    assert (
        gradient_facts(hardly)["collectives"]
        == "rings; an algorithm for each message saves less than 1% (1.99 ms)"
    )
    settings = replace(plan.job.settings, collective=QUICKEST)
    by_message = replace(
        slower,
        job=replace(plan.job, settings=settings),
        outcome=replace(plan.outcome, algorithms={"bfb": 3, "ring": 1}),
    )
    assert gradient_facts(by_message)["collectives"] == "3 by bfb, 1 by ring; rings alone take 1 ms"
    assert "collectives" not in gradient_facts(plan)
