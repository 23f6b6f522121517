"""Published ways that a search does not look at: every cause is named, and what is to be given mends it."""

from functools import cache
from typing import Any

import pytest

import topoopt
from topoopt.transformers import ConfigurationSearch, NotSearched

DEEPSEEK = {"accelerators": 2048, "accelerator": "h800"}
MIXTRAL = {"accelerators": 64, "global_batch": 256}


@cache
def search(model: str, **words: Any) -> ConfigurationSearch:
    return topoopt.llm.search(model, top=1, **words)


def only(found: ConfigurationSearch, name: str) -> NotSearched:
    return next(one for one in found.not_searched if one.name.startswith(name))


def test_too_small_a_batch_is_why_deepseeks_own_layout_is_not_there() -> None:
    """16 micro-batches of 128 replicas, and DualPipe needs 32 for 16 stages: 4,096 sequences."""
    found = search("deepseek-v3", **DEEPSEEK)
    assert found.published == ()
    own = only(found, "tp1 pp16 dp128 ep64")
    assert own.because["batch"].startswith(
        "schedule dualpipe: needs an even number of micro-batches, at least 32"
    )
    assert own.give["global_batch"] == 4096
    assert own.give["schedule"] == "dualpipe"
    assert set(own.because) == {"batch", "recompute", "schedule", "words", "memory"}
    assert "needs an even number of micro-batches" in " ".join(str(found).split())
    document = found.to_json()["published_not_searched"][0]
    assert document["because"] == dict(own.because)
    assert document["source"].startswith("DeepSeek-V3 report")


def test_with_what_is_to_be_given_it_is_searched_and_fits() -> None:
    own = only(search("deepseek-v3", **DEEPSEEK), "tp1 pp16 dp128 ep64")
    again = search("deepseek-v3", **{**DEEPSEEK, **own.give})
    assert not any(one.name == own.name for one in again.not_searched)
    degrees = {"tp": 1, "pp": 16, "dp": 128, "ep": 64, "zero": 1}
    rows = again.to_frame().query(" and ".join(f"{name} == {value}" for name, value in degrees.items()))
    assert len(rows) >= 1


def test_what_was_searched_is_not_named() -> None:
    assert search("mixtral-8x7b", **MIXTRAL).not_searched == ()


def test_a_limit_below_it_is_named() -> None:
    own = only(search("mixtral-8x7b", **MIXTRAL, max_vpp=4), "tp1 pp4 dp16 ep8")
    assert own.because == {"limits": "vpp 8 is above what is tried, 4"}
    assert own.give == {"max_vpp": 8}


def test_a_word_that_was_fixed_to_another_value_is_named() -> None:
    own = only(search("mixtral-8x7b", **MIXTRAL, tp=2), "tp1 pp4 dp16 ep8")
    assert own.because == {"fixed": "tp is 1 there, and 2 was given"}
    assert own.give == {"tp": 1}


def test_accelerators_that_its_degrees_do_not_divide_are_named() -> None:
    """tp 8 x pp 16 of Meta's on 1,000: the next multiple is 1,024."""
    found = search("llama3-405b", accelerators=1000, global_batch=1000)
    own = only(found, "tp8 pp16")
    assert "does not multiply to it" in own.because["accelerators"]
    assert own.give["accelerators"] == 1024


def test_far_more_accelerators_than_published_are_named() -> None:
    found = search("llama3-8b", accelerators=16384, global_batch=16384)
    own = next(one for one in found.not_searched if one.accelerators == 8)
    assert own.because["accelerators"] == "published for 8, more than 64 times as few"
    assert own.give["accelerators"] == 8


def test_another_length_of_sequence_is_named() -> None:
    """Meta's way for 8,192 tokens, where 131,072 are asked for."""
    found = search("llama3-405b", accelerators=16384, global_batch=128, seq=131072)
    own = only(found, "tp8 pp16 dp128")
    assert own.because["sequence"] == "published for 8,192 tokens a sequence, not within a factor of 2"
    assert own.give["seq"] == 8192


def test_gradients_shared_out_in_pipelines_are_named() -> None:
    own = only(search("llama3-405b", accelerators=16384, global_batch=2048), "tp8 pp16")
    assert own.because == {"zero": "zero 2 is not tried in pipelines"}
    assert own.give == {"zero": 2, "pp": 16}


def test_too_little_memory_is_named_with_what_has_enough() -> None:
    own = only(search("llama3-70b", accelerators=64, global_batch=128), "tp4 pp8")
    assert own.because["memory"].endswith("of 79.1 GiB an accelerator")
    assert own.give == {"precision": "fp8"}


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("deepseek-v3", {**DEEPSEEK, "global_batch": 15360}),
        ("llama3-70b", {"accelerators": 24, "global_batch": 24}),
        ("mixtral-8x22b", {"accelerators": 32, "global_batch": 32}),
        ("gpt3-175b", {"accelerators": 384, "global_batch": 100, "accelerator": "a100-80gb"}),
    ],
)
def test_every_remedy_mends_its_cause(model: str, words: dict[str, Any]) -> None:
    for one in search(model, **words).not_searched:
        if one.give and set(one.give) != {"accelerator"}:
            names = {left.name: left.because for left in search(model, **{**words, **one.give}).not_searched}
            assert one.name not in names or set(names[one.name]) < set(one.because)


@pytest.mark.parametrize(
    ("model", "words", "faster"),
    [("gpt-oss-120b", {}, True), ("gpt-oss-120b", {"any_schedule": True}, False), ("llama3-8b", {}, False)],
)
def test_a_faster_schedule_that_is_not_searched_is_named(
    model: str, words: dict[str, Any], faster: bool
) -> None:
    found = topoopt.llm.search(model, accelerators=64, accelerator="h100", top=1, **words)
    assert bool(found.untried) is faster
    if faster:
        also = topoopt.llm.search(model, accelerators=64, accelerator="h100", top=1, any_schedule=True)
        assert found.untried_time_s == float(also.times.iteration_time_s.min())
        assert found.untried_time_s < 0.97 * float(found.times.iteration_time_s.min())
        assert "experts overlapped" in found.untried
