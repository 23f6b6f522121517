"""Published ways far down the list: what the fastest does otherwise is said, and it is what makes the difference."""

import math
from dataclasses import replace
from typing import Any

import pytest

import topoopt
from topoopt.transformers import Configuration, ConfigurationSearch, configuration_table, estimate

GPT_3: dict[str, Any] = {"accelerators": 1024, "accelerator": "a100-80gb", "global_batch": 768}


@pytest.fixture(scope="module")
def search() -> ConfigurationSearch:
    return topoopt.llm.search("gpt3-175b", **GPT_3)


def test_the_steps_lead_from_the_published_way_to_about_the_fastest(search: ConfigurationSearch) -> None:
    one = search.published[0]
    assert one.rank > 0.05 * one.compared
    shares = list(one.faster_with.values())
    assert shares == sorted(shares, reverse=True)
    assert one.estimated_s * math.prod(1 - share for share in shares) < 1.02 * one.best_s


def test_the_first_step_saves_what_it_says(search: ConfigurationSearch) -> None:
    one, request = search.published[0], search.request
    words, share = next(iter(one.faster_with.items()))
    assert words == "micro_batch 2"
    usual: dict[str, Any] = {"global_batch": request.global_batch, "sequence": request.sequence}
    before = Configuration(**{**usual, **one.configuration})
    table = configuration_table([before, replace(before, micro_batch=2)])
    seconds = estimate(request.model, table, request.system, search.calibration).iteration_time_s
    assert share == pytest.approx(1 - seconds[1] / seconds[0])


def test_nothing_is_explained_of_one_among_the_first() -> None:
    first = topoopt.llm.search("mixtral-8x7b", accelerators=64, global_batch=256).published[0]
    assert first.faster_with == {}


def test_whoever_searches_sees_it(search: ConfigurationSearch) -> None:
    assert "the fastest does otherwise: micro_batch 2 saves" in str(search)
