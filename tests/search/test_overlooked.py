"""Small jobs: the best of all configurations that differ in a degree is recommended, each on its own network."""

from typing import Any

import pytest

import topoopt
from topoopt.plan import Plan
from topoopt.search import overlooked

JOBS: dict[str, dict[str, Any]] = {
    "llama3-8b": {"accelerators": 64, "bandwidth": "50Gbps", "global_batch": 64},
    "mixtral-8x7b": {
        "accelerators": 64, "degree": 2, "bandwidth": "200Gbps", "global_batch": 64, "accelerator": "b200"
    },
    "nemotron-h-8b": {"accelerators": 32, "bandwidth": "50Gbps", "global_batch": 64},
}  # fmt: skip
"""The closed form has the best of these behind 15 to 32 others."""


def name_and_time(plan: Plan) -> tuple[str, float]:
    return plan.job.work.strategy_name(plan.strategy), plan.outcome.iteration_time_s


@pytest.mark.parametrize("model", JOBS)
def test_a_small_job_gets_the_best_of_all(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words: dict[str, Any] = {"degree": 4, **JOBS[model], "fabrics": ()}
    found, best = topoopt.plan(model, **words), topoopt.plan(model, candidates=1000, **words)
    assert name_and_time(found) == name_and_time(best)
    assert len(best.search.seed_times_s) > 2 * len(found.search.seed_times_s)
    monkeypatch.setattr(overlooked, "MOST_FLOWS", 0)
    assert topoopt.plan(model, **words).outcome.iteration_time_s > 1.01 * found.outcome.iteration_time_s


def test_who_says_how_many_gets_as_many() -> None:
    words: dict[str, Any] = {"degree": 4, **JOBS["llama3-8b"], "fabrics": ()}
    assert len(topoopt.plan("llama3-8b", candidates=3, **words).search.seed_times_s) <= 6
