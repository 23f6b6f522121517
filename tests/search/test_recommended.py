"""A plan leaves memory free where that costs next to nothing, and says where it does not."""

from dataclasses import replace
from typing import Any

import pytest

from tests.jobs.training_jobs import small_training_job
from topoopt.jobs import Job, TransformerWork
from topoopt.pages.report import plan_page
from topoopt.plans import Plan
from topoopt.search import SearchOptions, caveats, make_plan
from topoopt.search.planner import recommended


class Timed:
    """What is known of a candidate here."""

    def __init__(self, job: Job, layout: int, time_s: float) -> None:
        self.strategy, self.time_s = job.work.choices(job.cluster.servers)[layout], time_s


def job_with_memory(*needed: float) -> Job:
    job = small_training_job()
    assert isinstance(job.work, TransformerWork)
    layouts = tuple(
        replace(layout, memory_bytes={"activations": 0.75 * size, "parameters": 0.25 * size})
        for layout, size in zip(job.work.layouts, needed, strict=True)
    )
    return replace(job, work=replace(job.work, layouts=layouts, capacity_bytes=100e9))


@pytest.mark.parametrize(("times_s", "best"), [((1.0, 1.009), 1), ((1.0, 1.02), 0), ((1.0, 0.9), 1)])
def test_headroom_is_worth_a_percent(times_s: tuple[float, float], best: int) -> None:
    job = job_with_memory(99e9, 80e9, 80e9)
    rows: list[Any] = [Timed(job, layout, time_s) for layout, time_s in enumerate(times_s)]
    assert recommended(job, rows).strategy.layout == best


def tight_plan() -> Plan:
    return make_plan(job_with_memory(99.2e9, 99.3e9, 99.4e9), SearchOptions(), fabrics=())


def test_a_plan_that_is_tight_says_so() -> None:
    plan = tight_plan()
    assert [sentence for sentence in caveats(plan) if "less than 5% of the memory free" in sentence]
    assert plan.to_json()["memory"]["tight"]
    assert any("less than 5%" in warning for warning in plan_page(plan).warnings)
