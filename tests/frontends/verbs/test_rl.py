"""``topoopt.rl``: policies in their order, laws that hold over many cases, networks, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topoopt
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.pages import TimelineChart, page_of, page_text
from topoopt.reinforcement import step_plan
from topoopt.reinforcement.fabrics import fixed_fabric

SMALL: dict[str, Any] = {
    "accelerators": 32,
    "prompts": 32,
    "samples": 8,
    "mean_length": 800,
    "max_length": 2000,
    "updates": 2,
    "fabrics": ("none",),
}


def step_of(**words: Any) -> topoopt.RlStep:
    return topoopt.rl("qwen3-8b", **{**SMALL, **words})


def test_colocated_phases_add_up_to_the_step() -> None:
    step = step_of()
    assert sum(step.phases_s.values()) == pytest.approx(step.step_s)
    spans = step.turns.spans
    assert [span.start_s for span in spans[1:]] == pytest.approx([span.end_s for span in spans[:-1]])
    assert step.turns.staleness_steps == 0


def test_one_step_off_takes_the_longer_pool_and_the_weights() -> None:
    step = step_of(policy="one-step-off", rollout_accelerators=16)
    longer = max(step.rollout.time_s, step.training.time_s)
    assert step.step_s == pytest.approx(longer + step.sync_s + step.overhead_s)
    assert step.rollout_accelerators + step.training_accelerators == 32


def test_more_staleness_never_makes_answers_later() -> None:
    taken = [
        step_of(policy="asynchronous", rollout_accelerators=16, staleness=share).turns.rollout_s
        for share in (0.0, 0.1, 0.5, 2.0)
    ]
    assert taken == sorted(taken, reverse=True)
    assert taken[-1] < step_of(policy="one-step-off", rollout_accelerators=16).turns.rollout_s


def test_the_split_that_is_searched_is_no_worse_than_any() -> None:
    best = step_of(policy="one-step-off")
    for size in (8, 16, 24):
        assert best.step_s <= step_of(policy="one-step-off", rollout_accelerators=size).step_s + 1e-9


def test_ppo_reads_more_often_and_trains_a_critic_too() -> None:
    ppo, grpo = step_of(algorithm="ppo", samples=8), step_of()
    assert set(ppo.training.forward_s) == {"old log-probs", "reference", "reward", "critic"}
    assert set(grpo.training.forward_s) == {"old log-probs", "reference"}
    assert ppo.training.training_s == pytest.approx(2 * grpo.training.training_s)
    assert ppo.weight_bytes == grpo.weight_bytes  # a critic stays where it is trained


@settings(max_examples=8)
@given(st.integers(200, 1500), st.integers(1, 4))
def test_longer_answers_and_more_epochs_take_longer(mean: int, epochs: int) -> None:
    one, longer = step_of(mean_length=mean), step_of(mean_length=mean + 200)
    assert longer.rollout.time_s >= one.rollout.time_s * 0.99
    more = step_of(mean_length=mean, epochs=epochs + 1)
    assert more.training.training_s == pytest.approx((epochs + 1) * one.training.training_s)
    assert more.training.forward_s == pytest.approx(one.training.forward_s)


def test_eight_bits_halve_the_weights_that_are_sent() -> None:
    words: dict[str, Any] = {"policy": "one-step-off", "rollout_accelerators": 16, "gen_tensor": 1}
    assert 2 * step_of(**words, gen_precision="fp8").weight_bytes == step_of(**words).weight_bytes


def test_networks_are_never_quicker_than_the_ideal_switch() -> None:
    names = ("topoopt", "topoopt-ocs", "rail", "full-mesh", "ideal-switch")
    step = step_of(policy="one-step-off", rollout_accelerators=16, fabrics=names)
    rows = {row.fabric: row for row in step.fabrics}
    assert rows["ideal-switch"].step_s == pytest.approx(step.step_s)
    for row in step.fabrics:
        assert row.step_s >= step.step_s - 1e-9
        assert row.usd_per_step is None or row.usd_per_step > 0
    assert rows["topoopt-ocs"].step_s <= rows["topoopt"].step_s + 1e-9
    assert step.rewiring is not None
    assert step.rewiring.gain_s >= 0
    said = page_text(page_of(step))
    assert "full-mesh" in said
    assert "patch-panel" in said or "never pays" in said


def test_the_page_draws_phases_and_the_frame_has_a_row_for_each() -> None:
    step = step_of(policy="one-step-off", rollout_accelerators=16)
    charts = {chart.name: chart for chart in page_of(step).charts}
    timeline = charts["rl_phases"]
    assert isinstance(timeline, TimelineChart)
    assert timeline.lanes == ("rollout", "training")
    assert len(timeline.bars) == len(step.to_frame())
    assert step.to_json()["step_s"] == step.step_s


def test_lengths_of_a_file_are_those_of_the_answers(tmp_path: Path) -> None:
    path = tmp_path / "lengths.txt"
    path.write_text("\n".join(["500", "1500"] * 4))
    step = step_of_file(path)
    assert step.job.lengths.longest == 1500
    assert step.job.lengths.mean == 1000
    path.write_text("length\n500\n2001\n")
    with pytest.raises(InvalidInput, match="line 3: an answer of 2,001 tokens, and max_length is 2,000; say"):
        step_of_file(path)


def step_of_file(path: Path) -> topoopt.RlStep:
    words = {key: value for key, value in SMALL.items() if key != "mean_length"}
    return topoopt.rl("qwen3-8b", **words, lengths=path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"accelerators": 0}, "accelerators: expected an integer >= 1"),
        ({"policy": "onestep"}, "one-step-off"),
        ({"algorithm": "gpo"}, "grpo"),
        ({"mean_length": 3000}, "from 1 to max_length 2000"),
        ({"gen_tensor": 3}, "share out"),
        ({"train_tensor": 7}, "train_tensor 7: does not divide"),
        ({"rollout_accelerators": 8}, "colocated"),
        ({"policy": "one-step-off", "rollout_accelerators": 32}, "expected 1 to 31"),
        ({"updates": 1000}, "updates: 1000"),
        ({"fabrics": ("token-ring",)}, "fabric"),
        ({"fabrics": ("rail",), "accelerators": 8}, "one server"),
        ({"transport": "pigeon"}, "transport"),
        ({"sync": "rings"}, "ring"),
        ({"staleness": -1.0}, "staleness"),
        ({"samples": 0}, "samples"),
        ({"prompts": 10**7}, "at most 1,048,576"),
    ],
)
def test_what_does_not_go_together_is_one_line(words: dict[str, Any], said: str) -> None:
    with pytest.raises((InvalidInput, Infeasible), match=said) as caught:
        step_of(**words)
    assert "\n" not in str(caught.value)


def test_a_model_that_does_not_fit_says_so() -> None:
    with pytest.raises((InvalidInput, Infeasible), match="GB"):
        topoopt.rl("llama3-405b", accelerators=8)


def test_a_network_that_cannot_be_built_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    build = fixed_fabric

    def fails(name: str, *rest: Any) -> Any:
        if name == "torus":
            raise InvalidInput("torus: 2 servers are no grid")
        return build(name, *rest)

    monkeypatch.setattr(step_plan, "fixed_fabric", fails)
    step = step_of(fabrics=("torus", "rail"))
    assert [row.fabric for row in step.fabrics] == ["rail"]
    assert step.to_json()["skipped_fabrics"] == [["torus", "torus: 2 servers are no grid"]]
    assert "without torus: 2 servers are no grid" in str(step)
    with pytest.raises(Infeasible, match="fabrics: no network is left: torus: "):
        step_of(fabrics=("torus",))
