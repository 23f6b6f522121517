"""``topoopt.finetune``: ways beside each other, figures of plans, data sets in proportion, and what is refused."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topoopt
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.pages import page_of, page_text

SMALL: dict[str, Any] = {"accelerators": 16, "fabrics": ["rail", "ideal-switch"], "seq": 2048}


def tuned(model: str = "llama3-8b", **words: Any) -> topoopt.FineTuning:
    return topoopt.finetune(model, **{**SMALL, **words})


def test_figures_are_those_of_a_plan_with_the_same_words() -> None:
    answer = tuned(alone=True)
    plan = topoopt.plan(
        "llama3-8b",
        accelerators=16,
        accelerator="h100",
        accelerators_per_server=8,
        degree=4,
        bandwidth="800Gbps",
        global_batch=128,
        seq=2048,
        adapter_rank=16,
        adapters="every-matrix",
        gradients="bf16",
        tokens=100e6,
        fabrics=["rail", "ideal-switch"],
    )
    way = answer.asked
    assert way.step_s == pytest.approx(plan.outcome.iteration_time_s)
    assert way.fabrics[1].outcome.iteration_time_s == pytest.approx(
        plan.baselines[0].outcome.iteration_time_s
    )
    assert [row.fabric for row in way.fabrics] == ["topoopt", "rail", "ideal-switch"]


def test_adapters_send_less_and_wait_less_than_all_weights() -> None:
    ways = {way.kind: way for way in tuned(dp=16, tp=1, pp=1).ways}
    assert list(ways) == ["lora", "qlora", "full"]
    assert ways["lora"].network_bytes < ways["full"].network_bytes / 100
    assert ways["lora"].exposed_s < ways["full"].exposed_s
    assert ways["lora"].network_hardly_matters
    assert ways["qlora"].memory_bytes["parameters"] < ways["lora"].memory_bytes["parameters"] / 2
    assert ways["qlora"].step_s > ways["lora"].step_s  # weights are unpacked for every micro-batch


def test_one_server_needs_no_network() -> None:
    answer = topoopt.finetune("llama3-70b", accelerators=8)
    assert answer.asked.fabrics == ()
    assert answer.ways[2].failure.startswith("llama3-70b does not fit on 8")
    text = page_text(page_of(answer))
    assert "full cannot be done here" in text
    assert "Networks" not in text


@settings(max_examples=5)
@given(st.integers(10**6, 10**12), st.floats(0.5, 10))
def test_hours_and_dollars_are_in_proportion_to_tokens(tokens: int, epochs: float) -> None:
    one, more = (
        topoopt.finetune("llama3-8b", accelerators=8, alone=True, tokens=tokens, epochs=times)
        for times in (epochs, 2 * epochs)
    )
    assert one.asked.hours == pytest.approx(one.steps * one.asked.step_s / 3600)
    assert more.asked.hours == pytest.approx(2 * (one.asked.hours or 0))
    assert more.asked.usd == pytest.approx(2 * (one.asked.usd or 0))


@settings(max_examples=6)
@given(st.integers(1, 512), st.sampled_from(["qkv", "attention", "all-linear", "every-matrix"]))
def test_trained_parameters_are_in_proportion_to_the_rank(rank: int, adapters: str) -> None:
    words: dict[str, Any] = {"accelerators": 8, "alone": True, "adapters": adapters}
    one, many = (topoopt.finetune("llama3-8b", lora_rank=each, **words) for each in (1, rank))
    assert many.asked.trained == rank * one.asked.trained
    assert many.asked.memory_bytes["parameters"] >= one.asked.memory_bytes["parameters"] or rank == 1


def test_a_table_has_a_row_for_every_way_on_every_network() -> None:
    answer = tuned(full=True)
    assert len(answer.to_frame()) == 9
    assert answer.ways[0].kind == "full"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"full": True, "qlora": True}, "qlora: full trains all weights"),
        ({"lora_rank": 0}, "lora_rank: "),
        ({"lora_rank": 5000}, "lora_rank 5000: is above the hidden size"),
        ({"tokens": 1.5}, r"tokens: expected whole tokens, got 1\.5"),
        ({"tokens": -1}, "tokens: expected a number above 0"),
        ({"tokens": 1e30}, r"tokens: expected a number above 0 and up to 1e\+15, got 1e\+30"),
        ({"epochs": 1e7}, r"epochs: expected a number above 0 and up to 1e\+06"),
        ({"epochs": 0}, "epochs: expected a number above 0"),
        ({"accelerators": 12}, "accelerators 12: more than one server takes whole servers of 8"),
        ({"accelerators": 8}, "fabrics: 8 accelerators are in one server"),
        ({"adapters": "all"}, "adapters"),
        ({"fabrics": ["rails"]}, "rails"),
        ({"rank": 3}, "rank"),
    ],
)
def test_mistakes_name_their_word(words: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        tuned(alone=True, **words)


def test_what_does_not_fit_is_said_where_it_is_asked_for() -> None:
    with pytest.raises(Infeasible, match="does not fit on 8"):
        topoopt.finetune("llama3-70b", accelerators=8, full=True, alone=True)
