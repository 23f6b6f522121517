"""Small jobs: the best of all configurations that differ in a degree is recommended, each on its own network."""

from typing import Any

import pytest

import topoopt
from tests.jobs.training_jobs import small_training_job
from topoopt.jobs import Job, Layout, transformer_of
from topoopt.plans import Plan
from topoopt.search import training_job as module
from topoopt.search.training_job import overlooked, wired_time_s

JOBS: dict[str, dict[str, Any]] = {
    "llama3-8b": {"accelerators": 64, "bandwidth": "50Gbps", "global_batch": 64},
    "mixtral-8x7b": {
        "accelerators": 64, "degree": 2, "bandwidth": "200Gbps", "global_batch": 64, "accelerator": "b200"
    },
    "nemotron-h-8b": {"accelerators": 32, "bandwidth": "50Gbps", "global_batch": 64},
}  # fmt: skip
"""With calibrations of November 2026 the closed form had the best of these behind 15 to 32 others."""


@pytest.fixture(scope="module")
def job() -> Job:
    """Return a job whose last layout wires best, though the closed form has it last."""
    return small_training_job()


def name_and_time(plan: Plan) -> tuple[str, float]:
    return plan.job.work.strategy_name(plan.strategy), plan.outcome.iteration_time_s


def beyond_the_first(job: Job, closed_form_s: float = 0.1) -> list[Layout]:
    """Return what is found if the first layout is chosen and the two others are not."""
    first, *others = transformer_of(job).layouts
    offered = [(closed_form_s, lambda layout=layout: [layout]) for layout in others]
    return overlooked(job.cluster, [first], offered, lambda layout, seconds: seconds)


@pytest.mark.parametrize(
    "model",
    [
        "nemotron-h-8b",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("llama3-8b", "mixtral-8x7b")),
    ],
)
def test_a_small_job_gets_the_best_of_all(model: str) -> None:
    words: dict[str, Any] = {"degree": 4, **JOBS[model], "fabrics": ()}
    found, best = topoopt.plan(model, **words), topoopt.plan(model, candidates=1000, **words)
    assert name_and_time(found) == name_and_time(best)
    assert len(best.search.seed_times_s) > 2 * len(found.search.seed_times_s)


def test_what_the_closed_form_ranks_too_low_is_found(job: Job) -> None:
    layouts = transformer_of(job).layouts
    assert beyond_the_first(job) == [layouts[2]]
    times_s = [wired_time_s(job.cluster, layout.step) for layout in layouts]
    assert min(times_s) == times_s[2]


def test_what_is_far_too_slow_in_closed_form_is_not_looked_at(job: Job) -> None:
    assert beyond_the_first(job, closed_form_s=1e3) == []


def test_a_large_job_is_left_as_it_is(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FLOWS", 10)
    assert beyond_the_first(job) == []


def test_who_says_how_many_gets_as_many() -> None:
    words: dict[str, Any] = {"degree": 4, **JOBS["llama3-8b"], "fabrics": ()}
    assert len(topoopt.plan("llama3-8b", candidates=3, **words).search.seed_times_s) <= 6
